from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from inline_snapshot import snapshot

import mentis
from mentis import homes, logs, models, recording, testing

ROOT = Path(__file__).resolve().parents[2]
SHOWN = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]
INNER = re.compile(
    r"^\s*(?:from|import) (mentis\.(?!(?:testing|recording|models|homes|logs)\b)\S+)", re.MULTILINE
)


def test_the_public_names_are_these() -> None:
    assert mentis.__all__ == snapshot(
        (
            "ActCall",
            "ActFailed",
            "ActSpec",
            "Action",
            "AgainDelta",
            "Agent",
            "Block",
            "BudgetReached",
            "CallDelta",
            "CallOptions",
            "CallbackChannel",
            "Composition",
            "Delta",
            "EndDelta",
            "Entry",
            "Library",
            "LoopChoice",
            "MediaPart",
            "MemoryDraft",
            "MemoryFilter",
            "MentisError",
            "Outcome",
            "OutputDelta",
            "OutputInvalid",
            "Parts",
            "Persona",
            "Personas",
            "Profile",
            "PromptRequest",
            "Prompts",
            "ReasoningDelta",
            "Rendering",
            "Reply",
            "ReplyTo",
            "ResultDelta",
            "RuntimeContext",
            "Sense",
            "SenseQueue",
            "SessionBusy",
            "Span",
            "StepDelta",
            "Stimulus",
            "TextDelta",
            "TickResult",
            "ToolDeclaration",
            "ToolResultPart",
            "Trace",
            "Trust",
            "Turn",
            "TurnResult",
            "TypedResult",
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
            "open_settings",
            "open_statuses",
            "open_tokens",
            "open_toolbox",
            "serve",
            "tool",
        )
    )
    # Few enough to be read at once; the pieces of a streamed answer are eight of them, because a
    # program tells them apart by their class.
    assert len(mentis.__all__) <= 70


@pytest.mark.parametrize(
    "module", [mentis, testing, recording, models, homes, logs], ids=lambda module: module.__name__
)
def test_a_public_name_can_be_had_from_where_it_is_said_to_be(module: ModuleType) -> None:
    for name in module.__all__:
        found = getattr(module, name)
        assert not isinstance(found, ModuleType), f"a room named {name} hides it"
        assert getattr(module, name) is found
        assert name in dir(module)


def test_every_public_name_stands_in_one_chapter_of_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    page = importlib.import_module("api_page")
    listed = [name for names in page.CHAPTERS.values() for name in names]
    assert sorted(listed) == sorted(mentis.__all__)
    written = page.api_page() + page.values_page()
    assert " object at 0x" not in written
    public = (
        *mentis.__all__,
        *testing.__all__,
        *recording.__all__,
        *models.__all__,
        *homes.__all__,
        *logs.__all__,
    )
    assert all(f"### `{name}`" in written for name in public)


def functions_of(cls: type) -> Iterator[tuple[str, object]]:
    for name, member in vars(cls).items():
        found = member.fget if isinstance(member, property) else member
        found = getattr(found, "__func__", found)
        if inspect.isfunction(found) and not name.startswith("_"):
            yield f"{cls.__name__}.{name}", found


def test_every_public_name_and_method_says_what_it_is_for() -> None:
    public = {name: getattr(mentis, name) for name in mentis.__all__ if name != "Delta"}
    classes = [one for one in public.values() if inspect.isclass(one)]
    named = [*public.items(), *(pair for cls in classes for pair in functions_of(cls))]
    silent = [name for name, one in named if not _words(one, name)]
    assert silent == [
        "BudgetReached",
        "OutputInvalid",
        "SessionBusy",
    ]  # as all errors, it is told in their tree


def _words(value: object, name: str) -> str:
    """Not the signature that a dataclass without words is given."""
    words = getattr(value, "__doc__", None) or ""
    return "" if words.startswith(f"{name}(") else words


def test_every_double_that_the_ports_name_can_be_had_for_tests() -> None:
    page = (ROOT / "docs/reference/ports.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`mentis\.testing\.(\w+)`", page)) == set(testing.__all__)


def test_a_double_at_the_root_is_the_one_for_tests() -> None:
    both = set(mentis.__all__) & set(testing.__all__)
    assert both == set()
    assert all(getattr(mentis, name) is getattr(testing, name) for name in both)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_an_example_imports_only_what_is_public(path: Path) -> None:
    assert INNER.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "module", [mentis, testing, recording, models, homes, logs], ids=lambda module: module.__name__
)
def test_another_name_is_an_ordinary_attribute_error(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute 'nothing'"):
        _ = module.nothing
