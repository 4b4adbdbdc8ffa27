from __future__ import annotations

from types import ModuleType

import pytest
from inline_snapshot import snapshot

import mentis


def test_the_public_names_are_these() -> None:
    assert mentis.__all__ == snapshot(
        (
            "ActCall",
            "ActFailed",
            "Action",
            "Agent",
            "Assembled",
            "Block",
            "Composed",
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
            "Persona",
            "Personas",
            "Profile",
            "PromptRequest",
            "Prompts",
            "Recalled",
            "Rendering",
            "Reply",
            "ReplyTo",
            "RuntimeContext",
            "ScriptedProvider",
            "Sense",
            "SenseQueue",
            "Span",
            "Stability",
            "StampedWindow",
            "Stimulus",
            "Ticked",
            "ToolDeclaration",
            "Trace",
            "Trust",
            "Turn",
            "TurnResult",
            "Verdict",
            "WindowDraft",
            "attach",
            "create_home",
            "load_shipped",
            "open_acts",
            "open_memories",
            "open_route_keys",
            "open_statuses",
            "open_toolbox",
            "tool",
        )
    )
    assert len(mentis.__all__) < 60


@pytest.mark.parametrize("name", mentis.__all__)
def test_a_public_name_can_be_had_from_the_root(name: str) -> None:
    found = getattr(mentis, name)
    assert not isinstance(found, ModuleType), "a room of the same name hides it"
    assert getattr(mentis, name) is found
    assert name in dir(mentis)


def test_another_name_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'mentis' has no attribute 'nothing'"):
        _ = mentis.nothing  # pyright: ignore[reportAttributeAccessIssue]  # that is the point
