"""Edits over HTTP: whoever knows an older state is refused, and told what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.rounds import says
from tests.surfaces.api.api_home import PERSONA, ApiClient, ApiHome

from mentis.prompts.cognition import open_cognition
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.surfaces.api import endpoint

BLOCK = "/prompts/blocks/style"


def test_the_slower_of_two_writers_is_refused_and_nothing_of_theirs_is_written(
    owner: ApiClient,
) -> None:
    tag = owner.tag(BLOCK)
    first = owner.call("PATCH", BLOCK, {"text": "Be brief."}, tag=tag)
    assert first.status_code == 200, first.text
    second = owner.call("PATCH", BLOCK, {"text": "Be long."}, tag=tag)
    assert second.status_code == 412
    problem = second.json()
    assert (problem["code"], problem["status"]) == ("request-refused", 412)
    assert "GET it again" in problem["hint"]
    now = owner.get(BLOCK)
    assert now.json()["variants"]["default"]["content"] == "Be brief."
    assert now.headers["etag"] == first.headers["etag"] == problem["facts"]["current"]


def _meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Something else is written right after the look at the ETag, as a command would write it."""
    checked, left = endpoint._check_match, [change]  # pyright: ignore[reportPrivateUsage]

    def check(wanted: str, current: str) -> None:
        checked(wanted, current)
        if left:
            left.pop()()

    monkeypatch.setattr(endpoint, "_check_match", check)


def _change_block(home: Path, text: str) -> None:
    with Prompts.open(home) as prompts:
        prompts.editor.save("style", variants={"default": {"content": text}})


def _change_file(home: Path, text: str) -> None:
    with Personas.open(home) as personas:
        personas.memory(PERSONA).write("memory", f"# Memory\n\n{text}\n", force=True)


def _change_state(home: Path, text: str) -> None:
    with open_cognition(home, PERSONA) as cognition:
        cognition.add(text)


MIND, STATE = f"/personas/{PERSONA}/files/memory", f"/personas/{PERSONA}/state"
RACES: list[tuple[str, Callable[[Path, str], None], str, str, dict[str, Any]]] = [
    (BLOCK, _change_block, "PATCH", BLOCK, {"text": "Mine."}),
    (BLOCK, _change_block, "POST", f"{BLOCK}/toggle", {"enabled": False}),
    (BLOCK, _change_block, "POST", f"{BLOCK}/undo", {}),
    (BLOCK, _change_block, "POST", f"{BLOCK}/reset", {}),
    (MIND, _change_file, "PUT", MIND, {"text": "# Memory\n\nMine.\n", "force": True}),
    (MIND, _change_file, "POST", f"{MIND}/undo", {}),
    (MIND, _change_file, "POST", f"{MIND}/reset", {}),
    (MIND, _change_file, "POST", f"{MIND}/accept", {"reason": "I read it"}),
    (STATE, _change_state, "POST", STATE, {"text": "Mine."}),
    (STATE, _change_state, "POST", f"{STATE}/undo", {}),
]


@pytest.mark.parametrize("number", range(len(RACES)))
def test_what_a_command_writes_between_the_look_and_the_change_is_not_lost(
    api: ApiHome, owner: ApiClient, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    look, change, method, path, body = RACES[number]
    tag, text = owner.tag(look), f"Said by command {number}."
    _meanwhile(monkeypatch, lambda: change(api.home, text))
    made = owner.call(method, path, body, tag=tag)
    assert made.status_code == 412, made.text
    assert text in owner.get(look).text
    again = owner.call(method, path, body, tag=owner.tag(look))
    nothing = path.endswith("/accept")  # what an owner wrote needs no accepting
    assert again.status_code == (400 if nothing else 200), again.text


def test_an_edit_that_does_not_say_what_it_knows_is_refused(owner: ApiClient) -> None:
    made = owner.call("PATCH", BLOCK, {"text": "Be brief."})
    assert made.status_code == 428
    assert "If-Match" in made.json()["detail"]


def test_what_has_not_changed_is_not_sent_again(owner: ApiClient) -> None:
    tag = owner.tag(BLOCK)
    assert owner.get(BLOCK, if_none_match=tag).status_code == 304


def test_a_wording_is_taken_away_and_the_shipped_one_counts_again(owner: ApiClient) -> None:
    owner.call("PATCH", BLOCK, {"text": "Be brief."}, tag="*")
    both = owner.call("PATCH", BLOCK, {"text": "Be long.", "remove": True}, tag="*")
    assert both.status_code == 422
    made = owner.call("PATCH", BLOCK, {"remove": True}, tag="*")
    assert made.json()["edits"][0]["changed"] == ["variants.default"]
    assert "## Style" in owner.get(BLOCK).json()["variants"]["default"]["content"]


def test_a_dialogue_is_made_and_its_unknown_placeholders_need_a_yes(owner: ApiClient) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "{{nobody}}"}]
    place = {"target": "message", "position": "consent_dialog", "id": "my_talk", "messages": said}
    assert "{{nobody}}" in owner.call("POST", "/prompts/blocks", place).json()["detail"]
    made = owner.call("POST", "/prompts/blocks", {**place, "unknown_placeholders": True})
    assert made.status_code == 201, made.text
    path = "/prompts/blocks/my_talk"
    assert owner.get(path).json()["type"] == "multi_turn"
    said[0]["content"] = "{{nothing}}"
    refused = owner.call("PATCH", path, {"messages": said}, tag="*")
    assert (refused.status_code, "{{nothing}}" in refused.text) == (400, True)


def test_a_wording_is_shown_with_its_values_before_it_is_saved(owner: ApiClient) -> None:
    before = owner.tag(BLOCK)
    draft = {"text": "I am {{char_name}}.", "persona": PERSONA}
    made = owner.call("POST", f"{BLOCK}/resolved", draft).json()
    assert made["built"]["text"] == "I am Ada."
    assert made["tokens"]["tokens"] > 0
    assert owner.tag(BLOCK) == before
    assert owner.call("POST", f"{BLOCK}/resolved", {"persona": PERSONA}).status_code == 422


def test_an_editor_says_whether_and_how_often_memory_files_are_kept(owner: ApiClient) -> None:
    path = "/memory-updates"
    assert owner.get(path).json() == {"enabled": True, "frequency": "medium"}
    made = owner.call("PUT", path, {"enabled": False, "frequency": "rare"}, tag=owner.tag(path))
    assert made.json() == owner.get(path).json() == {"enabled": False, "frequency": "rare"}
    assert owner.call("PUT", path, {"frequency": "hourly"}, tag="*").status_code == 422
    owner.call("PUT", path, {"enabled": True}, tag="*")


def test_an_editor_chooses_the_persona_that_is_taken_where_none_is_named(owner: ApiClient) -> None:
    path = "/default-persona"
    made = owner.call("PUT", path, {"id": PERSONA}, tag=owner.tag(path))
    assert made.json() == owner.get(path).json() == {"id": PERSONA}
    rows = owner.get("/personas").json()["items"]
    assert [row["id"] for row in rows if row["default"]] == [PERSONA]
    assert owner.call("PUT", path, {"id": "nobody"}, tag="*").status_code == 400


def test_what_an_edit_changed_in_the_prompt_in_force_is_told_for_each_route(
    api: ApiHome, owner: ApiClient
) -> None:
    path = f"/personas/{PERSONA}/prompt-changes"
    owner.call("POST", f"{BLOCK}/toggle", {"enabled": True}, tag="*")  # others turn it off
    api.provider.play(says("Hello."))
    said = owner.call("POST", f"/personas/{PERSONA}/sessions/main/turns", {"text": "Hello?"})
    turn = said.json()["entry"]["index"]
    owner.call("PATCH", BLOCK, {"text": "Be brief, and then stop."}, tag="*")
    changes = owner.call("POST", path, {"entry": turn}).json()
    assert changes[0]["changed"]
    assert "+Be brief, and then stop." in changes[0]["differences"][0]["diff"]
    assert changes[0]["now"]["tokens"]["total"]["tokens"] > 0
    owner.call("PATCH", BLOCK, {"remove": True}, tag="*")
    refused = owner.call("POST", path, {"entry": 9999})
    assert refused.status_code == 400


def test_a_persona_is_made_with_its_fields(owner: ApiClient) -> None:
    traits = [{"name": "Dry", "description": "You use few words."}]
    fields = {"greeting": "Ahoy.", "traits": traits, "dialogue": [{"user": "Hi", "reply": "Aye."}]}
    made = owner.post("/personas", {"id": "eve", "source": "", "fields": fields})
    assert made.status_code == 201, made.text
    found = owner.get("/personas/eve").json()
    assert (found["greeting"], found["background"]) == ("Ahoy.", "")
    assert [one["name"] for one in found["traits"]] == ["Dry"]
    wrong = owner.post("/personas", {"id": "eva", "fields": {"mood": "merry"}})
    assert wrong.status_code == 422
