"""A card becomes a persona of a home, as one change, and nothing of it is trusted unread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from tests.card_files import CARD, card_png, charx, png

from mentis import Agent, Personas, Prompts, create_home
from mentis.codec.forms import to_object
from mentis.errors import BadInput, PersonaError, UsageError
from mentis.homes import import_file, plan_file_import, undo_import
from mentis.values.json import JsonObject
from mentis.values.part import TextPart
from mentis.values.span import join_spans
from mentis.values.trust import Trust


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    (path / "profile.toml").write_text('name = "Lena"\n', encoding="utf-8")
    return path


def _file(tmp_path: Path, name: str, data: bytes) -> Path:
    file = tmp_path / name
    file.write_bytes(data)
    return file


def _card(tmp_path: Path, **fields: object) -> Path:
    data = cast("JsonObject", CARD["data"])
    card: JsonObject = {**CARD, "data": {**data, **fields}}
    return _file(tmp_path, "card.json", json.dumps(card).encode())


def _tree(home: Path) -> dict[str, bytes]:
    files = (path for path in home.rglob("*") if path.is_file() and "mentis.db" not in path.name)
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("card.json", json.dumps(CARD).encode()),
        ("card.png", card_png()),
        ("card.charx", charx(CARD, {"assets/icon/images/main.png": png()})),
    ],
)
def test_a_card_of_every_kind_becomes_the_same_persona(
    home: Path, tmp_path: Path, name: str, data: bytes
) -> None:
    made = import_file(home, _file(tmp_path, name, data))
    with Personas.open(home) as personas:
        persona = personas.read("seraphina")
        picture = personas.picture("seraphina")
    assert persona.background == "Seraphina guards the glade and calls Lena traveller."
    assert persona.scenarios[0].description == "Lena wakes in her glade."
    assert persona.greeting == "*She smiles at Lena.*"
    assert (picture is not None) == (name != "card.json")
    if picture is not None:
        assert b"chara" not in picture[0]
    (original,) = (home / "imports" / "0001").glob("original.*")
    assert original.read_bytes() == data
    assert made.state == "done"
    assert made.blocks == ("seraphina-instructions", "seraphina-closing")


async def test_no_macro_reaches_the_wire_and_nothing_is_trusted_before_it_is_promoted(
    home: Path, tmp_path: Path
) -> None:
    import_file(home, _card(tmp_path))
    async with Agent.open(home, persona="seraphina") as agent:
        request = agent.compose("Hello.").request
    wire = json.dumps({**to_object(request), "words": {}})
    assert "{{" not in wire
    assert "<USER>" not in wire
    assert "Write as Seraphina." in join_spans(request.system_instruction)
    assert "a remark" not in wire
    told = (*request.system_instruction, *request.runtime_ctx.spans)
    of_card = [
        one
        for one in told
        if one.source != "clock" and ("seraphina" in one.block or "kind, " in one.text)
    ]
    assert {one.trust for one in of_card} == {Trust.REFERENCE}
    greeting = request.conversation_history[-1]
    assert greeting.parts == (TextPart("*She smiles at Lena.*"),)
    assert greeting.lineage is Trust.REFERENCE

    with Personas.open(home) as personas:
        promoted = personas.promote("seraphina", reason="I read it")
        assert personas.read("seraphina").trust is Trust.OWNER
        with pytest.raises(PersonaError):
            personas.promote("seraphina", reason="again")
    assert set(promoted.blocks) == {"seraphina-closing", "seraphina-instructions"}
    with Prompts.open(home) as prompts:
        assert prompts.block("seraphina-closing").trust is Trust.OWNER


def test_blocks_of_a_card_are_told_to_its_persona_alone(home: Path, tmp_path: Path) -> None:
    import_file(home, _card(tmp_path))
    with Prompts.open(home) as prompts:
        (fate,) = (
            one
            for one in prompts.preview(persona="ada").trace.blocks
            if one.block == "seraphina-instructions"
        )
    assert fate.reason == "only for persona seraphina, this is ada"


def test_the_plan_names_every_loss_and_writes_nothing(home: Path, tmp_path: Path) -> None:
    before = _tree(home)
    plan = plan_file_import(home, _card(tmp_path))
    assert _tree(home) == before
    assert [one.part for one in plan.losses] == [
        "{{random}}",
        "{{whatever}} in system_prompt",
        "system_prompt",
        "regex script 'Bold'",
    ]
    assert plan.shown == ("Bold: /x/g -> **x**", "creator_notes: Made for a test.")
    assert {one.trust for one in plan.parts} == {"reference"}


def test_an_import_is_one_change_that_can_be_taken_back(home: Path, tmp_path: Path) -> None:
    before = _tree(home)
    import_file(home, _card(tmp_path))
    undone = undo_import(home)
    assert undone.state == "undone"
    with Personas.open(home) as personas, Prompts.open(home) as prompts:
        assert personas.ids() == ("ada",)
        assert not [one for one in prompts.loaded_library.library.blocks if one.personas]
    after = _tree(home)
    assert {name for name in after if not name.startswith(("imports/", "prompts/"))} == {
        name for name in before if not name.startswith("prompts/")
    }
    assert "imports/0001/personas/seraphina/persona.toml" in after
    with pytest.raises(UsageError):
        undo_import(home)
    assert import_file(home, _card(tmp_path)).number == 2


def test_an_import_that_fails_leaves_no_half(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UsageError("no")

    monkeypatch.setattr("mentis.library.edit.Editor.write", fail)
    with pytest.raises(UsageError, match="no"):
        import_file(home, _card(tmp_path))
    with Personas.open(home) as personas:
        assert personas.ids() == ("ada",)


def test_an_id_that_is_taken_is_refused_and_another_can_be_chosen(
    home: Path, tmp_path: Path
) -> None:
    card = _card(tmp_path, name="Ada")
    with pytest.raises(PersonaError, match="already there"):
        import_file(home, card)
    assert import_file(home, card, persona="ada-two").plan.persona == "ada-two"
    assert import_file(home, _card(tmp_path, name="狐")).plan.persona == "imported"


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b"PK\x05\x06" + b"\x00" * 18, b"not json", png(), b'{"a": 1}']
)
def test_what_is_not_recognised_says_so(home: Path, tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadInput):
        import_file(home, _file(tmp_path, "x.bin", data))
    assert not (home / "imports" / "0001").exists()


@pytest.mark.parametrize("name", ["../evil.png", "/etc/evil.png", "C:\\evil.png"])
def test_a_charx_that_leads_out_of_its_folder_is_refused(
    home: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(BadInput):
        import_file(home, _file(tmp_path, "x.charx", charx(CARD, {name: png()})))


def test_a_charx_that_grows_too_much_is_refused(home: Path, tmp_path: Path) -> None:
    bomb: JsonObject = {**CARD, "noise": "x" * 25_000_000}
    with pytest.raises(BadInput, match="too large"):
        import_file(home, _file(tmp_path, "x.charx", charx(bomb)))


BOOK: JsonObject = {
    "entries": {
        "0": {"key": ["glade"], "content": "{{char}} likes {{user}}.", "comment": "Glade"},
        "1": {"key": ["glade"], "content": "A second.", "comment": "Glade"},
        "2": {"key": [], "constant": True, "content": "The world is old.", "comment": "World"},
        "3": {"key": ["/x+/"], "content": "Never.", "comment": "Pattern"},
    }
}


async def test_the_lorebook_of_a_card_is_told_where_it_is_brought_up(
    home: Path, tmp_path: Path
) -> None:
    entries = list(cast("JsonObject", BOOK["entries"]).values())
    rows = [{**cast("JsonObject", one), "keys": cast("JsonObject", one)["key"]} for one in entries]
    made = import_file(home, _card(tmp_path, character_book={"entries": rows}))
    assert "seraphina-lore-glade-2" in made.blocks
    async with Agent.open(home, persona="seraphina") as agent:
        made = agent.compose("What of the glade?")
    last = made.request.conversation_history[-1]
    assert "Seraphina likes Lena.\n\nA second." in last.text
    assert last.lineage is Trust.REFERENCE
    assert "The world is old." in join_spans(made.request.system_instruction)
    with Prompts.open(home) as prompts:
        assert prompts.try_lore("The glade", persona="ada")[0].reason.endswith("this is ada")
    with Personas.open(home) as personas:
        assert len(personas.promote("seraphina", reason="I read it").blocks) == 6
    undo_import(home)
    with Prompts.open(home) as prompts:
        assert not [one for one in prompts.loaded_library.library.blocks if one.keywords]


def test_a_lorebook_alone_is_for_every_persona_or_for_one(home: Path, tmp_path: Path) -> None:
    file = _file(tmp_path, "world.json", json.dumps(BOOK).encode())
    plan = plan_file_import(home, file)
    assert (plan.format, plan.version, plan.name) == ("lorebook", "SillyTavern", "world")
    assert [one.part for one in plan.losses] == ["entry 'Pattern'"]
    import_file(home, file)
    with pytest.raises(BadInput, match="there is a block"):
        import_file(home, file)
    with Prompts.open(home) as prompts:
        found = prompts.try_lore("And now?", before=["In the glade", "Yes."])
        assert [(one.block, one.told, one.place) for one in found] == [
            ("world-glade", True, "turn 1"),
            ("world-glade-2", True, "turn 1"),
        ]
        assert not prompts.block("world-pattern").enabled
    undo_import(home)
    with pytest.raises(PersonaError):
        import_file(home, file, persona="nobody")
    import_file(home, file, persona="ada")
    with Prompts.open(home) as prompts:
        assert prompts.block("world-glade").personas == ("ada",)


def test_a_greeting_can_be_chosen(home: Path, tmp_path: Path) -> None:
    import_file(home, _card(tmp_path))
    with Personas.open(home) as personas:
        rows = personas.choose_greeting("seraphina", 1)
        assert [one.text for one in rows] == ["Rain falls on Lena.", "*She smiles at Lena.*"]
        with pytest.raises(UsageError):
            personas.choose_greeting("seraphina", 2)
    assert "{{user}}" in (home / "personas/seraphina/persona.toml").read_text(encoding="utf-8")
