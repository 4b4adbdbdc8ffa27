"""Talk: faces, first words, names of conversations, and what happens while somebody looks."""

from __future__ import annotations

import base64
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from tests.rounds import calls, says
from tests.surfaces.api.api_home import Obliging
from tests.surfaces.serve.served import make_home, serving
from tests.surfaces.studio.browser import StudioWindow, needs_browser, profile, window
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

API = f"/mentis/v1/personas/{PERSONA}"
TALK = f"/studio/talk/{PERSONA}"
PICTURE = f"/studio/personas/{PERSONA}/picture"
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# A real drop and paste bring files that no script can take from a disk.
BRING = """([kind, name]) => {
  const data = new DataTransfer();
  data.items.add(new File(["hello"], name, {type: "text/plain"}));
  const target = document.querySelector("#words");
  const options = {bubbles: true, cancelable: true};
  target.dispatchEvent(kind === "paste"
    ? new ClipboardEvent("paste", {...options, clipboardData: data})
    : new DragEvent("drop", {...options, dataTransfer: data}));
}"""

# Somebody turns to another tab of the browser, or comes back.
LOOK = """(away) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => away});
  document.dispatchEvent(new Event("visibilitychange"));
}"""

# A part of a talk is shown anew, as when news of it come.
ANEW = """async ([part, place]) => {
  await htmx.ajax("GET", `${location.pathname}?part=${part}`, {target: place, swap: "innerHTML"});
}"""


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    return studio.owner(writing=True)


@pytest.fixture
def picture(studio: StudioHome) -> Generator[Path]:
    """Where the picture of the persona stands."""
    path = studio.served.home / "personas" / PERSONA / "avatar.png"
    yield path
    path.unlink(missing_ok=True)


def test_a_persona_has_its_picture_and_only_a_picture_is_sent(
    studio: StudioHome, tab: BrowserTab, picture: Path, tmp_path: Path
) -> None:
    assert tab.get(PICTURE).status_code == 404
    picture.write_bytes(DOT)
    sent = tab.get(PICTURE)
    assert (sent.content, sent.headers["content-type"]) == (DOT, "image/png")
    assert sent.headers["x-content-type-options"] == "nosniff"
    assert sent.headers["content-security-policy"] == "default-src 'none'"
    assert f'<img class="face" src="{PICTURE}?v=' in tab.get("/studio/talk").text
    other = studio.tab()
    assert other.get(PICTURE).status_code == 401
    other.enter(studio.served.new_token("stranger", scope="read", agent="somebody"))
    assert other.get(PICTURE).status_code == 404
    for wrong in (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", b"<html>", b""):
        picture.write_bytes(wrong)
        assert tab.get(PICTURE).status_code == 404
        assert '<img class="face"' not in tab.get("/studio/talk").text
    picture.unlink()
    (tmp_path / "elsewhere.png").write_bytes(DOT)
    picture.symlink_to(tmp_path / "elsewhere.png")
    assert tab.get(PICTURE).status_code >= 400
    assert tab.get("/studio/talk").status_code == 200


def test_a_new_conversation_begins_with_the_first_words_of_the_library(tab: BrowserTab) -> None:
    assert tab.get(f"{TALK}/fresh.json").json()["greeting"] == ""
    block = {
        "id": "my_greeting",
        "name": "My greeting",
        "text": f"Come in. {SCRIPT}",
        "settings": {"target": "message", "position": "first_assistant", "order": 105},
    }
    made = tab.post("/mentis/v1/prompts/blocks", json=block)
    assert made.status_code == 201, made.text
    page = tab.get(f"{TALK}/fresh").text
    assert "Come in. &lt;script&gt;" in page
    assert tab.get(f"{TALK}/fresh.json").json()["greeting"] == f"Come in. {SCRIPT}"
    tag = tab.get("/mentis/v1/prompts/blocks/my_greeting").headers["etag"]
    gone = {"origin": tab.url, "if-match": tag}
    assert tab.send("DELETE", "/mentis/v1/prompts/blocks/my_greeting", gone).status_code < 300


def test_what_it_thought_by_itself_stands_beside_a_talk(
    tab: BrowserTab, studio: StudioHome
) -> None:
    studio.provider.play(says(f"The river is high. {SCRIPT}"))
    made = tab.post(f"{API}/beats", json={})
    assert made.status_code < 300, made.text
    found = tab.get(f"{TALK}/one.json").json()["moments"]
    assert found[0] == f"The river is high. {SCRIPT}"
    assert "<script>alert" not in tab.get(f"{TALK}/one").text


def test_a_talk_is_followed_by_the_name_that_the_record_has_for_it(
    tab: BrowserTab, studio: StudioHome
) -> None:
    other = studio.tab()
    studio.served.tokens.set_person("bob", name="Bob", trust="owner")
    other.enter(studio.served.new_token("bobs", scope="chat", person="bob"))
    other.write()
    studio.provider.play(says("Hello, Bob."))
    made = other.post(f"{API}/sessions/den/turns", json={"text": "Are you there?"}).json()
    found = other.get(f"{TALK}/den.json").json()
    assert (found["session"], found["recorded"]) == ("den", "bob--den")
    assert f'data-recorded="{found["recorded"]}"' in other.get(f"{TALK}/den").text
    entry = tab.get(f"{API}/entries/{made['entry']['index']}").json()
    assert entry["body"]["turn"]["session"] == found["recorded"]


@contextmanager
def talking(
    home: Path, provider: Obliging, browser: Browser, **settings: str
) -> Generator[StudioWindow]:
    """Somebody at a fresh conversation, who may write."""
    more = {"web__requests_per_minute": "100000", "web__burst": "10000", **settings}
    with (
        serving(home, provider, embedder=None, **more) as served,
        window(browser, StudioHome(served, provider)) as visitor,
    ):
        visitor.go(f"{TALK}/door")
        visitor.turn_on_writing()
        yield visitor


def sign_in(visitor: StudioWindow, token: str) -> None:
    visitor.page.get_by_label("Or come with a token").fill(token)
    visitor.key("Enter")
    expect(visitor.page.get_by_role("navigation", name="Screens")).to_be_visible()


def say(visitor: StudioWindow, words: str) -> None:
    visitor.page.get_by_label("Message to").fill(words)
    visitor.key("Enter")


@needs_browser
@pytest.mark.slow
def test_tools_are_seen_at_work_and_approved_in_place(browser: Browser, tmp_path: Path) -> None:
    provider = Obliging(
        calls(("c1", "temperature", {"city": "Porto"})),
        says("I asked."),
        says("Then not."),
        calls(("c2", "temperature", {"city": "Faro"})),
        says("I asked again."),
        says("It is 17 degrees in Faro."),
    )
    asking = {"acts__ask": '["temperature"]'}
    with talking(make_home(tmp_path), provider, browser, **asking) as visitor:
        page = visitor.page
        say(visitor, "How warm is Porto?")
        visitor.see("Waits for your yes")
        visitor.click("No")
        expect(page.get_by_text("Waits for your yes")).to_have_count(0)
        say(visitor, "And Faro?")
        visitor.see("Waits for your yes")
        visitor.click("Yes, do it")
        expect(page.get_by_text("Waits for your yes")).to_have_count(0)
        expect(page.get_by_text("came back from").first).to_be_visible()
        assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_a_conversation_is_named_edited_branched_and_given_files(
    studio: StudioHome, visitor: StudioWindow
) -> None:
    page = visitor.page
    studio.provider.play(says("Roses."), says("Tulips."), says("I read it."))
    visitor.go(f"{TALK}/garden")
    visitor.turn_on_writing()
    page.get_by_label("Message to").fill("not yet")
    visitor.reload()
    expect(page.get_by_label("Message to")).to_have_value("not yet")
    say(visitor, "What grows?")
    visitor.see("Roses.")
    expect(page.get_by_label("Message to")).to_have_value("")
    visitor.click("Rename")
    page.evaluate(ANEW, ["head_line", "#head"])
    page.get_by_label("Name of this conversation").fill(f"Garden {SCRIPT}")
    visitor.key("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Garden {SCRIPT}")
    expect(page.get_by_role("link", name=f"Garden {SCRIPT}")).to_be_visible()
    visitor.click("Edit")
    page.get_by_label("Your message in other words").fill("What blooms?")
    visitor.click("Say this instead")
    visitor.see("Tulips.")
    visitor.see("2 of 2")
    visitor.click("The version before")
    page.evaluate(ANEW, ["room", "#room"])
    visitor.see("1 of 2")
    visitor.click("The next version")
    page.get_by_label("Attach files").set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}
    )
    page.evaluate(BRING, ["drop", "b.txt"])
    page.evaluate(BRING, ["paste", "c.txt"])
    for name in ("a.txt", "b.txt", "c.txt"):
        expect(page.get_by_role("button", name=f"Leave out {name}")).to_be_visible()
    visitor.click("Leave out a.txt")
    say(visitor, "Read these")
    visitor.see("I read it.")
    expect(page.locator("#room .files li")).to_have_count(2)
    visitor.press(page.get_by_role("button", name="Branch").last)
    page.wait_for_url("**/talk-*")
    visitor.see("I read it.")
    assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_what_others_say_and_what_it_thinks_appear_by_themselves(
    studio: StudioHome, tab: BrowserTab, visitor: StudioWindow
) -> None:
    studio.provider.play(says("Hello there."), says("I forgot the salt."), says("Quiet today."))
    studio.provider.play(says("It is late."))
    visitor.go(f"{TALK}/kitchen")
    page = visitor.page
    with page.expect_response(f"**{API}/events"):
        visitor.reload()
    tab.post(f"{API}/sessions/kitchen/turns", json={"text": "Are you there?"})
    visitor.see("Hello there.")
    tab.post(f"{API}/sessions/kitchen/afterthought", json={})
    visitor.see("thought, and did not say")
    tab.post(f"{API}/beats", json={})
    visitor.see("Quiet today.")
    page.evaluate(LOOK, True)
    tab.post(f"{API}/sessions/kitchen/turns", json={"text": "And now?"})
    page.evaluate(LOOK, False)
    visitor.see("It is late.")
    assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_somebody_whom_the_owner_trusts_follows_a_talk_of_their_own(
    studio: StudioHome, browser: Browser
) -> None:
    studio.served.tokens.set_person("cleo", name="Cleo", trust="owner")
    token, elsewhere = studio.served.new_token("cleos", scope="chat", person="cleo"), studio.tab()
    elsewhere.enter(token)
    elsewhere.write()
    studio.provider.play(says("Nobody is here."), says("Hello, Cleo."))
    elsewhere.post(f"{API}/sessions/porch/turns", json={"text": "Who is here?"})
    with profile(browser) as context:
        visitor = StudioWindow(context.new_page(), studio.served.url)
        visitor.go("/studio/talk")
        sign_in(visitor, token)
        with visitor.page.expect_response(f"**{API}/events"):
            visitor.go(f"{TALK}/porch")
        elsewhere.post(f"{API}/sessions/porch/turns", json={"text": "And now?"})
        visitor.see("Hello, Cleo.")


@needs_browser
@pytest.mark.slow
def test_what_is_being_written_stays_when_somebody_else_says_something(
    studio: StudioHome, tab: BrowserTab, visitor: StudioWindow
) -> None:
    page = visitor.page
    studio.provider.play(says("Two eggs."), says("And flour."))
    visitor.go(f"{TALK}/cake")
    visitor.turn_on_writing()
    say(visitor, "What goes in?")
    visitor.see("Two eggs.")
    visitor.click("Edit")
    words = page.get_by_label("Your message in other words")
    words.fill("What else")
    with page.expect_response("**/cake?part=room"):
        tab.post(f"{API}/sessions/cake/turns", json={"text": "More?"})
    expect(words).to_have_value("What else")
    visitor.click("Leave it")
    visitor.see("And flour.")
    assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_is_waited_for_and_what_it_kept_is_shown(
    browser: Browser, tmp_path: Path
) -> None:
    home, begun = make_home(tmp_path), {"choices": [{"delta": {"content": "Long ago "}}]}
    stopping = {"web__drain_seconds": "0"}
    with profile(browser) as context:
        with serving(home, Obliging([begun, "wait"]), embedder=None, **stopping) as served:
            port = urlsplit(served.url).port or 0
            token = served.new_token("desk", scope="chat")
            visitor = StudioWindow(context.new_page(), served.url)
            visitor.go("/studio/talk")
            sign_in(visitor, token)
            visitor.go(f"{TALK}/door")
            visitor.turn_on_writing()
            say(visitor, "Tell me a story")
            visitor.see("Long ago")
        visitor.see("The server stopped while")
        with serving(home, Obliging(), embedder=None, port=str(port)):
            expect(visitor.page.get_by_text("What was said is kept")).to_be_visible()
            visitor.click("Sign in again", role="link")
            sign_in(visitor, token)
            visitor.go(f"{TALK}/door")
            visitor.see("Tell me a story")
            visitor.turn_on_writing()
            visitor.click("Answer again")
            visitor.see("Good morning.")


@needs_browser
@pytest.mark.slow
def test_pages_of_a_talk_fit_are_readable_and_quiet(
    studio: StudioHome, tab: BrowserTab, visitor: StudioWindow, picture: Path
) -> None:
    picture.write_bytes(DOT)
    tab.post(f"{API}/sessions/shown/turns", json={"text": "word " * 200})
    visitor.turn_on_writing()
    for path in ("/studio/talk", f"{TALK}/shown", f"{TALK}/never"):
        visitor.check_page(path)
