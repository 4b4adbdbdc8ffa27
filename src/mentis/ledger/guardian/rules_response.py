"""Rules about a whole answer: one window, at its beginning, then the text, then the trigger."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Fault, Rule
from .words import find_promise

_SHOWN = 160  # characters of a promise


def _present(case: Case) -> Iterator[Fault]:
    found = case.response
    if found.undecided:
        yield Fault("", f"windows cannot be counted: {found.undecided}")
    elif found.windows == 0:
        because = f": {found.unreadable}" if found.unreadable else ""
        yield Fault("", f"there is no window that can be read{because}")
    elif found.windows > 1:
        yield Fault("", f"there are {found.windows} windows instead of one")


def _first(case: Case) -> Iterator[Fault]:
    found = case.response
    if found.start >= 0 and found.before.strip():
        yield Fault("", f"{len(found.before)} characters stand before the window")
    if 0 <= found.trigger_start < found.start:
        yield Fault("", "the trigger stands before the window")


def _later(case: Case) -> Iterator[Fault]:
    text = case.response.after if case.response.start >= 0 else case.response.text
    promise = "" if case.state.later else find_promise(text)
    if promise:
        shown = promise if len(promise) <= _SHOWN else f"{promise[:_SHOWN]}…"
        yield Fault("", f"a promise for later that nothing here can keep: {shown!r}")


def _trigger_last(case: Case) -> Iterator[Fault]:
    found = case.response
    if found.start < 0:
        return
    if found.trigger_end >= 0:
        if found.text[found.trigger_end :].strip(" \t\r\n`"):
            yield Fault("", "text follows the trigger")
    elif "mcp_trigger" in case.window and list(case.window)[-1] != "mcp_trigger":
        yield Fault("/mcp_trigger", "it is not the last field of the window")


RULES = (
    Rule(
        "S2-WIN-PRESENT",
        "1",
        "block",
        "response",
        "program",
        "an answer holds exactly one window that can be read",
        "what is not said before the work cannot be held against it",
        "open the answer with one JSON object, complete and closed",
        _present,
    ),
    Rule(
        "S2-WIN-FIRST",
        "2",
        "block",
        "response",
        "program",
        "the window is the first thing in the answer; then the text, then the trigger",
        "a plan told afterwards is a story",
        "move the window to the beginning",
        _first,
    ),
    Rule(
        "S2-W-STYLE",
        "W10",
        "warn",
        "response",
        "model",
        "the answer is candid and says what it builds on",
        "no program can tell candour",
        "say it plainly",
        prompt="status_conduct",
    ),
    Rule(
        "S2-W-LATER",
        "W11",
        "warn",
        "response",
        "heuristic",
        "no promise for later without something that can keep it",
        "an agent that is not called again does nothing later",
        "do it now, or say that it is not done",
        _later,
    ),
    Rule(
        "S2-W-ORDER",
        "W12",
        "warn",
        "response",
        "program",
        "the trigger is printed last",
        "a reader takes what it has when the trigger comes",
        "put `mcp_trigger` at the end",
        _trigger_last,
    ),
)
