"""Pages of the studio: what they show, in HTML and in JSON, and that nothing stored ever runs."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from importlib.resources import files
from typing import Any

import anyio
import pytest
from tests.rounds import calls, says
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

from mentis.values.part import TextPart
from mentis.values.turn import Turn

API = f"/mentis/v1/personas/{PERSONA}/sessions"
TALK = f"/studio/talk/{PERSONA}"


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    """A conversation whose every part is a script, and one that was answered anew."""
    tab = studio.owner(writing=True)
    studio.provider.play(
        calls(("c1", "temperature", {"city": SCRIPT})),
        says(f"Mild. {SCRIPT}"),
        says("Milder."),
    )
    named = {"name": f"{SCRIPT}.txt", "data": "aGVsbG8="}
    tab.post(f"{API}/one/turns", json={"text": f"How warm? {SCRIPT}", "attachments": [named]})
    tab.post(f"{API}/one/regenerate", json={})
    tag = tab.get(f"{API}/one").headers["etag"]
    given = {"origin": tab.url, "if-match": tag}
    made = tab.send("PUT", f"{API}/one/title", given, json={"title": SCRIPT})
    assert made.status_code == 200
    return tab


def entry_of(tab: BrowserTab) -> int:
    found: dict[str, Any] = tab.get(f"{TALK}/one.json").json()
    return found["exchanges"][0]["entry"]


def test_stored_script_is_shown_and_never_runs(tab: BrowserTab) -> None:
    pages = ["/studio/talk", f"{TALK}/one", "/studio/blame", f"/studio/blame/{PERSONA}"]
    pages += [f"/studio/blame/{PERSONA}/{entry_of(tab)}", "/studio/recorded/codex/0"]
    pages += [f"/studio/talk/{PERSONA}/%3Cscript%3Ealert(1)", "/studio/blame/%3Cscript%3E"]
    for page in pages:
        found = tab.get(page)
        assert "<script>" not in found.text, page
        assert "alert(" not in found.text or "&lt;script&gt;alert" in found.text, page
        policy = found.headers["content-security-policy"]
        assert "script-src 'self';" in policy, page
        assert "unsafe" not in policy, page
        assert " style=" not in found.text, page
    assert "&lt;script&gt;alert" in tab.get(f"{TALK}/one").text
    assert "&lt;script&gt;alert" in tab.get(pages[4]).text
    assert "&lt;script&gt;alert" in tab.get("/studio/recorded/codex/0").text


def test_every_page_has_a_twin_in_json(tab: BrowserTab) -> None:
    paths = ["/studio/talk", TALK, f"{TALK}/one", "/studio/blame", f"/studio/blame/{PERSONA}"]
    paths += [f"/studio/blame/{PERSONA}/{entry_of(tab)}", "/studio/recorded/codex/0"]
    for path in paths:
        twin = tab.get(f"{path}.json")
        assert twin.status_code == 200, path
        asked = tab.get(path, accept="application/json")
        assert asked.headers["content-type"] == "application/json"
        assert set(asked.json()) == set(twin.json()), path
        assert tab.get(path).headers["content-type"].startswith("text/html")
    missing = tab.get(f"/studio/blame/{PERSONA}/999.json")
    assert missing.headers["content-type"] == "application/problem+json"
    nowhere = tab.get("/studio/nowhere/at/all")
    assert (nowhere.status_code, "no such page" in nowhere.text) == (404, True)


def test_a_talk_shows_each_version_of_an_answer_and_what_was_done(tab: BrowserTab) -> None:
    (shown,) = tab.get(f"{TALK}/one.json").json()["exchanges"]
    assert (shown["version"], shown["steps"][0]["text"]) == (2, "Milder.")
    first = [(step["kind"], step["text"]) for step in shown["versions"][0]["steps"]]
    assert [kind for kind, _ in first] == ["call", "result", "text"]
    assert first[1][1] == f"17 degrees in {SCRIPT}"
    assert shown["said"]["files"] == [{"name": f"{SCRIPT}.txt", "kind": "document"}]


def test_beside_a_talk_stands_what_its_last_turn_cost_and_was_told(tab: BrowserTab) -> None:
    beside = tab.get(f"{TALK}/one.json").json()["beside"]
    assert (beside["tokens"], beside["cached"], beside["problem"]) == (100, 0, "")
    assert beside["pieces"]
    assert f"/studio/blame/{PERSONA}/{beside['entry']}" in tab.get(f"{TALK}/one").text


def test_a_branch_goes_on_with_the_version_it_began_with(tab: BrowserTab) -> None:
    (shown,) = tab.get(f"{TALK}/one.json").json()["exchanges"]
    made = tab.post(f"{TALK}/one/branch", json={"number": shown["versions"][0]["last"]})
    (branched,) = tab.get(made.json()["path"] + ".json").json()["exchanges"]
    assert branched["steps"] == shown["versions"][0]["steps"]
    assert branched["said"]["trust"] == "owner"
    assert tab.post(f"{TALK}/one/branch", json={"number": 99}).status_code == 422


def test_a_long_talk_and_a_long_request_come_in_pieces(studio: StudioHome, tab: BrowserTab) -> None:
    tab.post(f"{API}/long/turns", json={"text": "word " * 4000})
    said = [Turn("user", (TextPart(f"Message {n}"),)) for n in range(21)]
    agent = studio.served.agent()
    anyio.run(partial(agent.adopt, said, session="many"))
    agent.close()
    found = tab.get(f"{TALK}/many.json").json()
    assert [one["said"]["text"] for one in found["exchanges"]][::19] == ["Message 1", "Message 20"]
    before = tab.get(f"{TALK}/many?before={found['older']}&part=older").text
    assert "Message 0" in before
    assert "<html" not in before
    entry = tab.get(f"{TALK}/long.json").json()["exchanges"][-1]["entry"]
    path = f"/studio/blame/{PERSONA}/{entry}"
    blamed = tab.get(f"{path}.json").json()
    cut = next(one for one in blamed["sections"] if one["left"])
    whole = tab.get(f"{path}.json?section={cut['number']}").json()["sections"][cut["number"]]
    assert whole["left"] == 0
    assert len(tab.get(path).content) < 300_000


def test_blame_says_of_every_run_who_wrote_it_and_why_and_adds_up(tab: BrowserTab) -> None:
    entry = entry_of(tab)
    found = tab.get(f"/studio/blame/{PERSONA}/{entry}.json").json()
    assert found["identical"]
    assert sum(one["tokens"] for one in found["sections"]) == found["call"]["input"]
    block = next(one for one in found["sections"] if one["name"] == "persona_description")
    assert "shipped" in block["writers"]
    assert block["reason"]
    filled = next(run for run in block["runs"] if run["placeholder"])
    assert (filled["source"], filled["trust"]) == ("persona", "owner")
    assert found["omitted"]
    sent = tab.get(f"/studio/blame/{PERSONA}/{entry}/request")
    assert len(sent.content) == found["bytes"]
    texts = json.dumps(sent.json(), ensure_ascii=False)
    assert all(json.dumps(run["text"].strip())[1:-1] in texts for run in block["runs"])


def test_a_recorded_program_is_blamed_by_tool_and_message(tab: BrowserTab) -> None:
    listed = tab.get("/studio/blame.json").json()["agents"]
    assert [(one["name"], one["recorded"]) for one in listed][-1] == ("codex", True)
    found = tab.get("/studio/recorded/codex/0.json").json()
    names = [one["name"] for one in found["sections"]]
    assert names == ["tool `bash`", "system text", "message 0 (user)"]
    assert SCRIPT in found["sections"][0]["runs"][0]["text"]


def test_vendored_files_are_those_of_the_manifest() -> None:
    folder = files("mentis.surfaces.studio") / "static" / "vendor"
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))
    prints = {name: print_ for one in listed for name, print_ in one["sha256"].items()}
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.name != "manifest.json"}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in found.items()} == prints
