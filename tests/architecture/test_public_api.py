from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from inline_snapshot import snapshot

import mentis
from mentis import testing

ROOT = Path(__file__).resolve().parents[2]
SHOWN = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]
INNER = re.compile(r"^\s*(?:from|import) (mentis\.(?!testing\b)\S+)", re.MULTILINE)


def test_the_public_names_are_these() -> None:
    assert mentis.__all__ == snapshot(
        (
            "ActCall",
            "ActFailed",
            "ActSpec",
            "Action",
            "Agent",
            "AssembledPrompt",
            "Block",
            "BudgetReached",
            "CallOptions",
            "CallbackChannel",
            "Composition",
            "CountingIds",
            "Entry",
            "FixedClock",
            "Library",
            "LoopChoice",
            "MediaPart",
            "MemoryDraft",
            "MemoryFilter",
            "MentisError",
            "Outcome",
            "Parts",
            "Persona",
            "Personas",
            "Profile",
            "PromptRequest",
            "Prompts",
            "RecalledContext",
            "Rendering",
            "Reply",
            "ReplyTo",
            "RuntimeContext",
            "ScriptedProvider",
            "Sense",
            "SenseQueue",
            "Span",
            "Stability",
            "Stimulus",
            "TickResult",
            "ToolDeclaration",
            "Trace",
            "Trust",
            "Turn",
            "TurnResult",
            "Uptime",
            "Verdict",
            "WindowDraft",
            "attach",
            "auditor_script",
            "create_home",
            "export_record",
            "load_shipped",
            "open_acts",
            "open_cognition",
            "open_memories",
            "open_record",
            "open_route_keys",
            "open_statuses",
            "open_toolbox",
            "tool",
        )
    )
    assert len(mentis.__all__) <= 60


@pytest.mark.parametrize("module", [mentis, testing], ids=lambda module: module.__name__)
def test_a_public_name_can_be_had_from_where_it_is_said_to_be(module: ModuleType) -> None:
    for name in module.__all__:
        found = getattr(module, name)
        assert not isinstance(found, ModuleType), f"a room named {name} hides it"
        assert getattr(module, name) is found
        assert name in dir(module)


def test_every_double_that_the_ports_name_can_be_had_for_tests() -> None:
    page = (ROOT / "docs/reference/ports.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`mentis\.testing\.(\w+)`", page)) == set(testing.__all__)


def test_a_double_at_the_root_is_the_one_for_tests() -> None:
    both = set(mentis.__all__) & set(testing.__all__)
    assert both == {"CountingIds", "FixedClock", "ScriptedProvider"}
    assert all(getattr(mentis, name) is getattr(testing, name) for name in both)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_an_example_imports_only_what_is_public(path: Path) -> None:
    assert INNER.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", [mentis, testing], ids=lambda module: module.__name__)
def test_another_name_is_an_ordinary_attribute_error(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute 'nothing'"):
        _ = module.nothing
