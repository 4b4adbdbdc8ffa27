"""Blame: who wrote each part of a request, since when, in which format, and where words stand."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.recorder.foreign import anthropic_call, user
from tests.rounds import says
from tests.surfaces.studio.browser import StudioWindow, needs_browser
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

from mentis.call.curl import curl_command
from mentis.costs.blame_data import blame_data
from mentis.recorder.recording import open_recording
from mentis.surfaces.studio import blame
from mentis.values.route import Route

API = f"/mentis/v1/personas/{PERSONA}/sessions"
BLOCK = "/mentis/v1/prompts/blocks/persona_description"
NEW_TEXT = "## About you\n\n{{char_description}}\n\nBe kind."


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    """A turn, and a block that was changed after it."""
    tab = studio.owner(writing=True)
    studio.provider.play(says("Fine."), says("Still fine."))
    tab.post(f"{API}/one/turns", json={"text": f"The heron {SCRIPT} flies"})
    tag = tab.get(BLOCK).headers["etag"]
    given = {"origin": tab.url, "if-match": tag}
    told = {"text": NEW_TEXT, "words": f"kinder {SCRIPT}"}
    assert tab.send("PATCH", BLOCK, given, json=told).status_code == 200
    tab.post(f"{API}/one/turns", json={"text": "And now?"})
    return tab


@pytest.fixture(scope="module")
def turn(tab: BrowserTab) -> str:
    """The path of the first turn."""
    found = tab.get(f"/studio/talk/{PERSONA}/one.json").json()
    return f"/studio/blame/{PERSONA}/{found['exchanges'][0]['entry']}"


def block_of(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in data["sections"] if one["name"] == name)


def test_the_gutter_says_since_when_a_block_is_as_it_is(tab: BrowserTab, turn: str) -> None:
    found = tab.get(f"{turn}.json").json()
    changed = block_of(found, "persona_description")["changed"]
    assert (changed["number"], "kinder" in changed["words"]) == (1, True)
    assert block_of(found, "expression")["changed"] is None
    page = tab.get(turn).text
    assert "as shipped" in page
    assert "changed 20" in page


def test_a_turn_leads_to_its_talk_by_the_name_that_people_know(
    studio: StudioHome, tab: BrowserTab, turn: str
) -> None:
    begins = f'<a href="/studio/talk/{PERSONA}/one">The heron &lt;script&gt;'
    bill = turn.replace("/blame/", "/bill/")
    for page in (turn, bill):
        assert begins in tab.get(page).text, page
    headers = {"origin": tab.url, "if-match": tab.get(f"{API}/one").headers["etag"]}
    named = tab.send("PUT", f"{API}/one/title", headers, json={"title": "Birds"})
    assert named.status_code == 200, named.text
    for page in (turn, bill):
        assert f'<a href="/studio/talk/{PERSONA}/one">Birds</a>' in tab.get(page).text, page
    studio.served.tokens.set_person("bob", name="Bob", trust="owner")
    other = studio.tab()
    other.enter(studio.served.new_token("bobs-blame", scope="read", person="bob"))
    assert other.get(f"{turn}.json").json()["talk"] == {"label": "Birds", "path": ""}


def test_whoever_sees_one_persona_alone_sees_its_request_and_not_the_library(
    studio: StudioHome, turn: str
) -> None:
    one = studio.tab()
    one.enter(studio.served.new_token("blame-one", scope="read", agent=PERSONA))
    assert block_of(one.get(f"{turn}.json").json(), "persona_description")["block"] is False
    assert one.get(f"{turn}/block/persona_description?variant=default").status_code == 403


def test_a_request_is_taken_apart_beside_the_loop(
    tab: BrowserTab, turn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken_apart(*given: object, **options: object) -> object:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return blame_data(*given, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]  # as given

    monkeypatch.setattr(blame, "blame_data", taken_apart)
    assert tab.get(turn).status_code == 200


def test_a_block_has_its_history_and_what_it_says_now(tab: BrowserTab, turn: str) -> None:
    path = f"{turn}/block/persona_description?variant=default"
    found = tab.get(path, accept="application/json").json()
    assert not found["same"]
    assert {"kind": "added", "mark": "+", "text": "Be kind."} in found["diff"]
    assert [one["number"] for one in found["revisions"]] == [1]
    part = tab.get(f"{path}&part=history").text
    assert "<html" not in part
    assert "&lt;script&gt;" in part
    assert "/studio/prompts/persona_description" in part
    assert "/studio/what-if?block=persona_description" in part
    same = tab.get(f"{turn}/block/expression?variant=default", accept="application/json").json()
    assert (same["same"], same["revisions"]) == (True, [])
    assert tab.get(f"{turn}/block/nobody").status_code == 404


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic", "gemini", "text"])
def test_the_same_request_is_shown_in_every_format(tab: BrowserTab, turn: str, wire: str) -> None:
    found = tab.get(f"{turn}.json?wire={wire}").json()
    assert (found["wire"], found["sent"], found["identical"]) == (wire, False, False)
    marked = [one["wire"] for one in found["wires"] if one["sent"]]
    assert marked == ["openai-chat"]
    assert "heron" in "".join(run["text"] for one in found["sections"] for run in one["runs"])
    sent = tab.get(f"{turn}/request?wire={wire}")
    assert len(sent.content) == found["bytes"]
    assert "It was not sent so" in tab.get(f"{turn}?wire={wire}").text
    assert tab.get(f"{turn}?wire=morse").status_code == 404


def test_a_command_sends_the_bytes_and_holds_no_key(
    tab: BrowserTab, turn: str, tmp_path: Path
) -> None:
    command = tab.get(f"{turn}/curl").text
    assert '-H "authorization: Bearer $' in command
    stand_in = tmp_path / "curl"
    stand_in.write_text("#!/bin/sh\ncat\n")
    stand_in.chmod(0o755)
    ran = subprocess.run(  # noqa: S602  # that a shell reads it as meant is what is tested
        command,
        shell=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.rstrip(b"\n") == tab.get(f"{turn}/request").content
    assert tab.get(f"{turn}/curl?wire=text").status_code == 404
    assert tab.get("/studio/recorded/codex/0/curl").text.startswith("curl -sSN ")


def test_an_address_is_quoted_and_its_password_left_out() -> None:
    route = Route(
        "r", "openai", "m", url="https://me:secret@host.test/v1/$(touch x)", key_env="A B"
    )
    command = curl_command(route, "openai-chat", b"{}")
    assert command.startswith("curl -sSN 'https://host.test/v1/$(touch x)/chat/completions' \\\n")
    assert "secret" not in command
    assert "Bearer $OPENAI_API_KEY" in command


def test_a_page_is_kept_as_one_file_that_needs_nothing_else(tab: BrowserTab, turn: str) -> None:
    for path in (turn, "/studio/recorded/codex/0"):
        kept = tab.get(f"{path}/page")
        assert kept.headers["content-disposition"].startswith("attachment; filename=")
        text = kept.text
        assert "<script" not in text
        assert "src=" not in text
        assert "&lt;script&gt;" in text
    assert "heron" in tab.get(f"{turn}/page").text


def test_words_are_found_in_the_requests_of_all_and_lead_to_their_place(
    tab: BrowserTab,
) -> None:
    tab.post(f"{API}/birds/turns", json={"text": f"The bittern {SCRIPT} booms"})
    birds = tab.get(f"/studio/talk/{PERSONA}/birds.json").json()
    turn = f"/studio/blame/{PERSONA}/{birds['exchanges'][0]['entry']}"
    found = tab.get("/studio/search.json?q=BITTERN").json()["agents"]
    ada, codex = found
    assert (ada["name"], codex["name"], codex["hits"]) == (PERSONA, "codex", [])
    first = ada["hits"][-1]
    assert f"/studio/blame/{PERSONA}/{first['entry']}" == turn
    place = first["places"][0]
    sections = tab.get(f"{turn}.json").json()["sections"]
    assert "bittern" in "".join(run["text"] for run in sections[place["section"]]["runs"])
    page = tab.get("/studio/search?q=bittern").text
    assert f"{turn}#s{place['section']}" in page
    assert "<script>alert" not in page
    (only,) = tab.get("/studio/search.json?q=search&in=recorded/codex").json()["agents"]
    assert only["hits"][0]["places"][0]["name"] == "system text"
    assert tab.get("/studio/search?q=a&in=recorded/nobody").status_code == 404
    assert tab.get("/studio/search.json").json()["agents"] == []


def test_a_search_looks_at_so_many_requests_and_goes_on_from_there(
    studio: StudioHome, tab: BrowserTab
) -> None:
    for number in range(9):
        tab.post(f"{API}/many/turns", json={"text": f"Number {number}"})
    agents = tab.get("/studio/search.json?q=heron").json()["agents"]
    assert [one["searched"] for one in agents] == [4, 1], "eight of all together, codex has one"
    only = f"q=heron&in=blame/{PERSONA}"
    (ada,) = tab.get(f"/studio/search.json?{only}").json()["agents"]
    assert (ada["searched"], ada["hits"]) == (8, [])
    page = tab.get(f"/studio/search?{only}").text
    assert "Nothing in the 8 requests that were looked at; there are older ones." in page
    hits, before = 0, ada["next"]
    while before is not None:
        further = f"/studio/search.json?{only}&before={before}"
        (rest,) = tab.get(further).json()["agents"]
        hits, before = hits + len(rest["hits"]), rest["next"]
    assert hits == 2
    other = studio.tab()
    other.enter(studio.served.new_token("alone", scope="read", agent=PERSONA))
    names = [one["name"] for one in other.get("/studio/search.json?q=heron").json()["agents"]]
    assert names == [PERSONA]


@needs_browser
@pytest.mark.slow
def test_a_request_is_read_and_its_parts_have_their_history(
    tab: BrowserTab, turn: str, visitor: StudioWindow
) -> None:
    page = visitor.page
    visitor.go(turn)
    visitor.press(page.get_by_role("link", name="persona_description").last)
    visitor.see("Since this turn")
    visitor.see("Be kind.")
    expect(page.get_by_role("link", name="Edit in Prompts")).to_be_visible()
    visitor.click("Close")
    expect(page.get_by_text("Since this turn")).to_have_count(0)
    page.locator(".section").first.focus()
    visitor.key("j")
    visitor.key("Enter")
    expect(page.locator("[data-why] dl")).to_be_visible()
    visitor.key("Escape")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.click("Copy as curl", role="link")
    visitor.see("The key is a variable in it")
    assert page.evaluate("navigator.clipboard.readText()").startswith("curl -sSN ")
    visitor.click("Anthropic", role="link")
    visitor.see("It was not sent so")
    visitor.click("Blame", role="link")
    page.get_by_label("Words in what models were told").fill("heron")
    visitor.click("Search")
    visitor.press(page.get_by_role("link", name="heron").first)
    page.wait_for_url("**#s*")
    assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_calls_of_a_program_appear_while_it_runs(studio: StudioHome, visitor: StudioWindow) -> None:
    visitor.go("/studio/recorded/codex")
    with visitor.page.expect_response("**/mentis/v1/events"):
        visitor.reload()  # what is recorded before somebody listens is no news
    expect(visitor.page.get_by_role("row")).to_have_count(2)
    with open_recording(studio.served.home, "codex", tell=lambda _line: None) as recording:
        recording.offer(anthropic_call({"system": "You search.", "messages": [user("more")]}))
    expect(visitor.page.get_by_role("row")).to_have_count(3)
    assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_pages_of_blame_fit_are_readable_and_quiet(
    tab: BrowserTab, turn: str, visitor: StudioWindow
) -> None:
    for path in (turn, f"{turn}?wire=gemini", "/studio/search?q=heron"):
        visitor.check_page(path)
    visitor.check_page(f"{turn}/block/persona_description?variant=default")


def test_a_turn_leads_to_the_memories_that_its_message_calls_to_mind(
    tab: BrowserTab, turn: str
) -> None:
    page = tab.get(f"{turn}.json").json()
    assert page["recall"].startswith(f"/studio/mind/{PERSONA}/recall?q=")
    assert tab.get(page["recall"]).status_code == 200
    assert tab.get("/studio/recorded/codex/0.json").json()["recall"] == ""


def test_a_turn_names_the_memories_that_just_missed_and_leads_to_them(tab: BrowserTab) -> None:
    memories = API.replace("/sessions", "/memories")
    for pond in range(5):
        told = {"text": f"The crane of pond {pond} dances at dawn.", "kind": "fact"}
        made = tab.post(memories, json=told)
        assert made.status_code in (200, 201), made.text
    said = tab.post(f"{API}/cranes/turns", json={"text": "Which crane dances at dawn?"}).json()
    path = f"/studio/blame/{PERSONA}/{said['entry']['index']}"
    missed = [one for one in tab.get(f"{path}.json").json()["near"] if one["kind"] == "memory"]
    assert len(missed) == 2
    assert all("there is no more room" in one["reason"] for one in missed)
    page = tab.get(path).text
    for one in missed:
        assert f'<a href="{one["path"]}">{one["name"]}</a>' in page
        assert "dances at dawn" in tab.get(one["path"]).text
