"""The screen Prompts: its pages, who may see and change them, and that they stay small."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from bench.studio_home import write_blocks
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

from mentis.library import shelf

API = "/mentis/v1/prompts/blocks"
BLOCK = "/studio/prompts/style"
TOOLS = ("new", "preview", "kinds", "placeholders", "check", "conflicts", "files", "memory")


def change(tab: BrowserTab, path: str, body: object, method: str = "PATCH") -> Any:  # noqa: ANN401
    given = {"origin": tab.url, "if-match": "*"}
    made = tab.send(method, path, given, json=body)
    assert made.status_code < 300, made.text
    return made.json()


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    """The owner, of whose blocks one holds a script wherever it can."""
    tab = studio.owner(writing=True)
    block = {"id": "odd", "name": SCRIPT, "text": f"Be kind. {SCRIPT}", "words": SCRIPT}
    change(tab, API, {**block, "settings": {"description": SCRIPT, "odd_field": SCRIPT}}, "POST")
    change(tab, f"{API}/style", {"text": "Be brief, {{char_name}}.", "words": "too long"})
    return tab


@pytest.fixture
def many(studio: StudioHome) -> Generator[None]:
    """Five thousand blocks of one category."""
    folder = studio.served.home / "prompts"
    manifest = folder / "_meta" / "user_manifest.json"
    before = manifest.read_text("utf-8")
    write_blocks(studio.served.home, 5000)
    yield
    manifest.write_text(before, "utf-8")
    (folder / "many.json").unlink()


def test_blocks_are_listed_by_category_in_their_order_with_whose_they_are(tab: BrowserTab) -> None:
    listed = tab.get("/studio/prompts.json").json()
    system = next(one for one in listed["categories"] if one["name"] == "system")
    orders = [row["order"] for row in system["rows"]]
    assert orders == sorted(orders)
    rows = {row["id"]: row for one in listed["categories"] for row in one["rows"]}
    assert (rows["odd"]["own"], rows["style"]["own"]) == (True, False)
    assert (rows["style"]["changed"] > 0, rows["format"]["changed"]) == (True, 0)


def test_a_search_says_where_each_block_was_found(tab: BrowserTab) -> None:
    found = tab.get("/studio/prompts.json?q=honest").json()["found"]
    places = {one["id"]: one["where"] for one in found}
    assert places["constitution"] == "description"
    assert "content" in places.values()
    page = tab.get("/studio/prompts?q=honest").text
    assert "in its text" in page
    assert "in its description" in page


def test_a_block_has_every_field_its_wordings_and_who_is_told_which(tab: BrowserTab) -> None:
    found = tab.get(f"{BLOCK}.json").json()
    assert found["wording"]["content"] == "Be brief, {{char_name}}."
    assert found["variant"] == "default"
    assert {one["name"] for one in found["variants"]} >= {"default", "compact", "experimental"}
    assert [one["variant"] for one in found["told"]] == ["default"]
    assert "variants.default" in found["changed"]
    page = tab.get(BLOCK).text
    for name in found["block"]:
        if name not in ("id", "type", "variants", "modes", "origin", "owned", "file"):
            assert f'id="f-{name}"' in page or name in ("extra", "overridden"), name
    assert "odd_field" in tab.get("/studio/prompts/odd").text
    etag = tab.get(f"{API}/style").headers["etag"]
    assert found["etag"] == etag


def test_a_wording_that_another_one_goes_before_is_told_so(tab: BrowserTab) -> None:
    german = tab.get(f"{BLOCK}.json?variant=compact").json()
    assert german["overruled"] == []
    over = tab.get("/studio/prompts/format.json?variant=default").json()["overruled"]
    told = tab.get("/studio/prompts/format.json").json()["told"][0]["variant"]
    assert [one["variant"] for one in over] == ([] if told == "default" else [told])


def test_stored_script_is_shown_and_never_runs(tab: BrowserTab) -> None:
    pages = ["/studio/prompts", "/studio/prompts?q=kind", "/studio/prompts/odd"]
    pages += ["/studio/prompts/odd/history", *(f"/studio/prompts/-/{name}" for name in TOOLS)]
    pages += [
        f"/studio/prompts?q={SCRIPT}",
        f"/studio/prompts/{SCRIPT}",
        f"{BLOCK}?variant={SCRIPT}",
    ]
    for page in pages:
        found = tab.get(page)
        assert "<script>" not in found.text, page
        assert " style=" not in found.text, page
        assert "script-src 'self';" in found.headers["content-security-policy"], page
    assert "&lt;script&gt;alert" in tab.get("/studio/prompts/odd").text


def test_every_page_has_a_twin_in_json(tab: BrowserTab) -> None:
    paths = ["/studio/prompts", BLOCK, f"{BLOCK}/history"]
    for path in [*paths, *(f"/studio/prompts/-/{name}" for name in TOOLS)]:
        assert tab.get(f"{path}.json").status_code == 200, path
        assert tab.get(path).status_code == 200, path
    for path in ("nothing", "nothing/history", "-/preview?view=odd", "-/memory?file=odd"):
        assert tab.get(f"/studio/prompts/{path}").status_code == 404, path


def test_a_preview_shows_what_a_turn_is_told_and_what_stays_out(tab: BrowserTab) -> None:
    whole = tab.get(f"/studio/prompts/-/preview.json?persona={PERSONA}").json()
    texts = {one["block"]: one["text"] for one in whole["sections"]}
    assert texts["style"] == "Be brief, Ada."
    assert whole["tokens"] > 0
    assert all(one["reason"] for one in whole["skipped"])
    assert [part["name"] for part in whole["parts"]] == ["append", "first", "dialog", "prefill"]
    chat = tab.get("/studio/prompts/-/preview.json?view=chat").json()
    assert [one["id"] for one in chat["parts"][0]["steps"]] == ["history"]
    persona = tab.get("/studio/prompts/-/preview.json?view=category&category=persona").json()
    assert "persona_description" in {one["block"] for one in persona["sections"]}


def test_every_kind_of_request_stands_beside_the_others(tab: BrowserTab) -> None:
    groups = tab.get("/studio/prompts/-/kinds.json").json()["groups"]
    kinds = {one["label"]: [kind["name"] for kind in one["kinds"]] for one in groups}
    assert {"Chat", "Persona memory", "Afterthought", "Summary", "Autofill"} <= kinds.keys()
    assert kinds["Chat"][0] == "chat"
    assert (kinds["Summary"], kinds["Persona memory"]) == (["summary"], ["update", "update_task"])
    assert {"title", "opening", "correction"} <= set(kinds["Utility"])
    assert "autofill_core_trait" in kinds["Autofill"]


def test_problems_lead_to_the_field_where_they_are_mended(tab: BrowserTab) -> None:
    change(tab, f"{API}/odd", {"text": "{{nobody}}", "unknown_placeholders": True})
    change(tab, f"{API}/odd", {"settings": {"keep_with": "nowhere"}})
    rows = tab.get("/studio/prompts/-/check.json").json()["rows"]
    jumps = {one["code"]: one["jump"] for one in rows}
    assert jumps["prompt-unknown-placeholder"] == "/studio/prompts/odd?variant=default#wording"
    assert jumps["prompt-keep-with"] == "/studio/prompts/odd#f-keep_with"
    listed = tab.get("/studio/prompts/-/placeholders.json?which=unknown").json()["rows"]
    assert [(one["key"], one["used_by"]) for one in listed] == [("nobody", ["odd"])]


def test_prompts_are_changed_only_by_who_may_edit(studio: StudioHome, tab: BrowserTab) -> None:
    reader = studio.owner()
    assert "Turn on writing to change prompts" in reader.get(BLOCK).text
    assert 'data-act="save"' not in reader.get(BLOCK).text
    assert 'data-act="save"' in tab.get(BLOCK).text
    talker = studio.tab()
    talker.enter(studio.served.new_token("talker", scope="chat"))
    talker.write()
    assert "This token may talk, and not edit" in talker.get(BLOCK).text
    assert 'data-act="save"' not in talker.get(BLOCK).text
    one = studio.tab()
    one.enter(studio.served.new_token("one", scope="edit", agent=PERSONA))
    assert one.get("/studio/prompts").status_code == 403
    given = {"origin": reader.url, "if-match": "*"}
    assert reader.send("PATCH", f"{API}/style", given, json={"text": "No."}).status_code == 403


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_pages_of_a_home_with_five_thousand_blocks_stay_small(tab: BrowserTab) -> None:
    listed = tab.get("/studio/prompts.json").json()
    own = next(one for one in listed["categories"] if one["name"] == "custom")
    assert (own["count"] > 5000, len(own["rows"]), own["next"]) == (True, 25, 25)
    more = tab.get(f"/studio/prompts?category=custom&from={own['next']}&part=rows").text
    assert "<html" not in more
    assert more.count('class="entry') == 200
    for page in ("", "?q=rule", "/rule_2500", "/-/placeholders", "/-/check", "/-/preview"):
        found = tab.get(f"/studio/prompts{page}")
        assert found.status_code == 200, page
        assert len(found.content) < 300_000, page
    assert 'data-id="rule_2500"' in tab.get("/studio/prompts/rule_2500").text


def test_the_history_of_a_block_shows_each_change(tab: BrowserTab) -> None:
    found = tab.get(f"{BLOCK}/history.json").json()
    first = found["revisions"][-1]
    assert (first["words"], first["author"]) == ("save: too long", "studio")
    assert "studio</span></a>" in tab.get(f"{BLOCK}/history").text
    added = [one["text"] for one in found["diff"] if one["kind"] == "added"]
    assert "Be brief, {{char_name}}." in added
    assert (found["undo"], found["redo"]) == (True, False)


def test_what_was_read_is_read_again_only_when_it_changed(
    tab: BrowserTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab.get("/studio/prompts")

    def load(*_: object) -> None:
        raise AssertionError("nothing changed")

    monkeypatch.setattr(shelf, "load_layers", load)
    assert tab.get("/studio/prompts").status_code == 200
