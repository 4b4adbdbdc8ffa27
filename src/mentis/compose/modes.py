"""Limits of each mode: which tools stay away, and who has no past to look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Mode
from mentis.values.persona import Persona, Profile
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut
from mentis.values.turn import Role, Turn
from mentis.values.value import Value

from .history import count, history_tokens, tool_text
from .shorten import first_words, last_words

MESSAGE_PREFIX = "message_"
_MESSAGE_NAMES = ("message", "send_message")
# A voice is told the end of the talk so far, since it has no turns before the first spoken one.
SPOKEN_TURNS, SPOKEN_CHARACTERS = 15, 300
SPOKEN_THOUGHTS, SPOKEN_THOUGHT_CHARACTERS = 5, 500


@dataclass(frozen=True, slots=True)
class ModeInputs(Value):
    """What a mode gets of the tools and the history, and what it does not."""

    tools: tuple[ToolDeclaration, ...]
    history: tuple[Turn, ...]
    cuts: tuple[Cut, ...] = ()


def admit(
    mode: Mode, tools: tuple[ToolDeclaration, ...], history: tuple[Turn, ...], counter: TokenCounter
) -> ModeInputs:
    match mode:
        case "chat" | "live":
            return ModeInputs(tools, history)
        case "beat":
            kept = tuple(tool for tool in tools if not writes_to_people(tool.name))
            reasons = ("a beat writes to nobody", "a beat has no history")
        case "delivery":
            kept = tuple(tool for tool in tools if tool.name.startswith(MESSAGE_PREFIX))
            reasons = ("a delivery only sends messages", "a delivery has no history")
        case _:
            assert_never(mode)
    out = [tool for tool in tools if tool not in kept]
    cuts = [*tools_cut(out, reasons[0], counter), *history_cut(history, reasons[1], counter)]
    return ModeInputs(kept, (), tuple(cuts))


def allowed_tools(
    tools: Iterable[ToolDeclaration], allowed: Collection[str] | None, counter: TokenCounter
) -> ModeInputs:
    """Those whose names are allowed; all of them where nothing is said about it."""
    tools = tuple(tools)
    if allowed is None:
        return ModeInputs(tools, ())
    kept = tuple(tool for tool in tools if tool.name in allowed)
    out = [tool for tool in tools if tool.name not in allowed]
    return ModeInputs(kept, (), tuple(tools_cut(out, "not among the allowed actions", counter)))


def writes_to_people(name: str) -> bool:
    return name.startswith(MESSAGE_PREFIX) or name in _MESSAGE_NAMES


def spoken_lines(
    history: Sequence[Turn], persona: Persona, profile: Profile, counter: TokenCounter
) -> tuple[list[str], list[Cut]]:
    """The end of the talk as lines, and what was left of it."""
    names: dict[Role, str] = {"user": profile.name, "assistant": persona.name}
    said = [turn for turn in history if turn.text.strip()]
    silent = [turn for turn in history if not turn.text.strip()]
    early = f"a voice is told the last {SPOKEN_TURNS} turns"
    cuts = history_cut(said[:-SPOKEN_TURNS], early, counter)
    cuts += history_cut(silent, "nothing was said in it", counter)
    lines: list[str] = []
    for turn in said[-SPOKEN_TURNS:]:
        line = first_words(turn.text.strip(), SPOKEN_CHARACTERS)
        name = turn.speaker(names)
        lines.append(f"{name}: {line}" if name else line)
        cuts += shortening_cut(f"turn ({turn.role})", turn.text.strip(), line, counter)
    return lines, cuts


def recent_thoughts(
    thoughts: Sequence[str], counter: TokenCounter
) -> tuple[tuple[str, ...], list[Cut]]:
    """The last few thoughts, and of each its end."""
    cuts: list[Cut] = []
    for thought in thoughts[:-SPOKEN_THOUGHTS]:
        reason = f"a voice is told the last {SPOKEN_THOUGHTS} thoughts"
        cuts.append(Cut("thought", count(thought, counter).tokens, reason))
    kept: list[str] = []
    for thought in thoughts[-SPOKEN_THOUGHTS:]:
        kept.append(last_words(thought, SPOKEN_THOUGHT_CHARACTERS))
        cuts += shortening_cut("thought", thought, kept[-1], counter)
    return tuple(kept), cuts


def shortening_cut(what: str, before: str, after: str, counter: TokenCounter) -> list[Cut]:
    if before == after:
        return []
    lost = count(before, counter).tokens - count(after, counter).tokens
    return [Cut(what, max(lost, 0), "shortened for a voice")]


def tools_cut(tools: Iterable[ToolDeclaration], reason: str, counter: TokenCounter) -> list[Cut]:
    return [Cut(f"tool {t.name}", count(tool_text(t), counter).tokens, reason) for t in tools]


def history_cut(history: Sequence[Turn], reason: str, counter: TokenCounter) -> list[Cut]:
    if not history:
        return []
    return [Cut(f"history ({len(history)} turns)", history_tokens(history, counter), reason)]
