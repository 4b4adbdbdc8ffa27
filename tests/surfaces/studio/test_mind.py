"""The screen Mind: files and their review, memories and why they come, goals, people, diary."""

from __future__ import annotations

import pytest
from tests.surfaces.studio.mind_home import (
    API,
    MIND,
    ORDER,
    PAGES,
    changed,
    edit,
    fill_mind,
    read,
)
from tests.surfaces.studio.studio_home import BrowserTab, StudioHome

from mentis.app.agent import Agent
from mentis.stores.sql_memories import SqlMemories
from mentis.values.recalled import RecalledContext, Stimulus


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    return fill_mind(studio)


def test_a_change_of_a_file_waits_for_its_owner_and_goes_with_a_yes_or_an_undo(
    studio: StudioHome, tab: BrowserTab
) -> None:
    changed(studio, "- Likes coffee.")
    assert [one["name"] for one in read(tab, "")["changes"]][-1:] == ["memory"]
    assert "Likes coffee" in tab.get(f"{MIND}/files/memory").text
    edit(tab, "/files/memory/accept", {"reason": "true"}, "/files/memory")
    assert read(tab, "")["changes"] == []
    changed(studio, "- Likes water.")
    edit(tab, "/files/memory/undo", {}, "/files/memory")
    found = read(tab, "/files/memory")
    assert found["file"]["text"] == "- Likes coffee."
    assert found["revisions"][0]["words"].startswith("undo")
    assert tab.get(f"{MIND}/files/nothing").status_code == 404


def test_memories_come_in_pages_can_be_searched_and_tell_their_source_and_trust(
    tab: BrowserTab,
) -> None:
    found = read(tab, "/memories")
    assert (len(found["rows"]), found["next"]) == (30, 30)
    assert read(tab, "/memories", "?from=30")["back"] == 0
    (cello,) = read(tab, "/memories", "?q=CELLO")["rows"]
    assert (cello["source"], cello["vouched"]) == ("talk", "you vouch for it")
    named = [one["text"] for one in read(tab, "/memories", "?state=untrusted")["rows"]]
    assert "Bob sells boats." in named
    assert tab.get(f"{MIND}/memories?state=strange").status_code == 404
    assert tab.get(f"{MIND}/memories/none").status_code == 404
    assert "A quiet day" in read(tab, "/diary")["rows"][0]["text"]
    assert read(tab, "/people", "?q=lena")["rows"][0]["names"] == ["Lena"]


def test_no_list_of_memories_reads_all_of_them(
    tab: BrowserTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("all memories were read")

    monkeypatch.setattr(SqlMemories, "memories", refuse)
    monkeypatch.setattr("mentis.surfaces.studio.mind._SHOWN", 2)
    for page in ("/studio/mind", MIND, f"{MIND}/people", f"{MIND}/diary"):
        assert tab.get(page).status_code == 200, page
    found = read(tab, "/memories", "?from=2")
    assert (len(found["rows"]), found["back"], found["next"]) == (2, 0, 4)
    assert found["count"] > 4
    held = read(tab, "/memories", "?state=quarantine")
    assert (
        held["count"] == held["held"] == len(tab.get(f"{API}/memories/quarantine").json()["held"])
    )
    first = tab.get(f"{API}/memories?limit=2").json()
    second = tab.get(f"{API}/memories?limit=2&cursor={first['next']}").json()
    assert len({one["id"] for one in (*first["items"], *second["items"])}) == 4


def test_a_sentence_shows_what_would_come_to_mind_with_scores_and_reasons(
    tab: BrowserTab,
) -> None:
    found = tab.post(f"{MIND}/recall.json", q="Who plays the cello").json()
    best = found["rows"][0]
    assert (best["text"], best["told"]) == ("Lena plays the cello.", True)
    assert best["score"] > 0
    assert best["reason"]
    assert ORDER not in tab.post(f"{MIND}/recall", q="password").text
    assert "Nothing is said to anybody" in tab.get(f"{MIND}/recall").text


def test_nobody_asks_the_embedder_by_following_a_link(
    tab: BrowserTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    async def recall(_: Agent, task: str) -> RecalledContext:
        asked.append(task)
        return RecalledContext(Stimulus(task))

    monkeypatch.setattr(Agent, "recall", recall)
    found = read(tab, "/recall", "?q=Who+plays+the+cello")
    assert (found["asked"], found["answered"], found["rows"]) == ("Who plays the cello", False, [])
    assert 'value="Who plays the cello"' in tab.get(f"{MIND}/recall?q=Who+plays+the+cello").text
    assert asked == []
    assert "Nothing comes to mind" in tab.post(f"{MIND}/recall", q="cello").text
    assert asked == ["cello"]


def test_goals_and_what_is_held_in_mind_have_revisions(tab: BrowserTab) -> None:
    before = read(tab, "/goals")
    assert "polish" in [one["id"] for one in before["goals"]]
    edit(tab, "/state/remove", {"name": "goal:polish"}, "/state")
    after = read(tab, "/goals")
    assert after["revision"] == before["revision"] + 1
    assert any(line["kind"] == "removed" for line in after["revisions"][0]["lines"])
    edit(tab, "/state/undo", {}, "/state")
    assert "polish" in [one["id"] for one in read(tab, "/goals")["goals"]]


def test_stored_script_stays_text_and_pages_of_mind_have_twins(tab: BrowserTab) -> None:
    for page in ("/studio/mind", *PAGES):
        found = tab.get(page)
        assert found.status_code == 200, page
        assert "<script>" not in found.text, page
        assert " style=" not in found.text, page
        assert len(found.content) < 100_000, page
        assert tab.get(page, accept="application/json").json(), page


def test_who_only_reads_gets_no_forms_and_a_persona_of_others_is_not_there(
    studio: StudioHome, tab: BrowserTab
) -> None:
    assert "data-call" in tab.get(f"{MIND}/memories").text
    viewer = studio.tab()
    viewer.enter(studio.served.new_token("mind-viewer", scope="read"))
    for page in PAGES:
        assert "data-call" not in viewer.get(page).text, page
    refused = viewer.post(f"{API}/memories", json={"text": "no"})
    assert refused.status_code == 403
    other = studio.tab()
    other.enter(studio.served.new_token("mind-other", scope="read", agent="nobody"))
    assert other.get(MIND).status_code == 404
