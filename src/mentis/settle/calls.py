"""A call as it came becomes an action and the part that replays it, or a typed error.

A call of several tools at once, which models make up, is taken apart when every tool in it was
offered; so is a call through the doorway, by itself or among several. Nothing else is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from mentis.values.action import Action, ActionOrigin
from mentis.values.json import JsonObject
from mentis.values.part import Part, ProviderState, ToolCallPart
from mentis.values.reply import ReplyProblem

from .arguments import BadArguments, check_arguments, check_name, read_arguments, said_again
from .doorway import Behind, behind
from .expected import Expectation
from .integers import with_integers
from .lenient import object_in, objects_in, printable, text_in
from .optionals import without_nulls

_PLACE = "interface_path"
_WRAPPERS = ("parallel", "multi_tool_use.parallel", "multi_tool_use_parallel")


class SettledCalls:
    """Actions, the parts that replay them, and what went wrong on the way."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.parts: list[Part] = []
        self.problems: list[ReplyProblem] = []
        self.notes: list[ReplyProblem] = []

    def problem(self, code: str, message: str, raw: str = "", *, call_id: str = "") -> None:
        self.problems.append(ReplyProblem(code, printable(message), printable(raw), call_id))

    def note(self, code: str, message: str, raw: str = "", *, call_id: str = "") -> None:
        self.notes.append(ReplyProblem(code, printable(message), printable(raw), call_id))


def settle_call(
    into: SettledCalls,
    expected: Expectation,
    *,
    call_id: str,
    name: str,
    payload: object,
    state: ProviderState | None = None,
    origin: ActionOrigin = "native",
    unfinished: bool = False,
) -> None:
    """`payload` is the text of the arguments, or the object where a format has one."""
    raw = payload if isinstance(payload, str) else said_again(payload)
    meant = expected.resolve_name(name)
    if meant != name:
        into.note("renamed-action", f"{name!r} is {meant!r} here", call_id=call_id)
        name, origin = meant, "recovered"
    try:
        check_name(name)
        arguments = read_arguments(raw) if isinstance(payload, str) else check_arguments(payload)
        if unfinished:
            message = f"the answer ended before the call of {name!r} was said to be complete"
            into.problems.append(
                ReplyProblem("unfinished-call", message, printable(raw), call_id, name)
            )
            return
        inner = _inner_calls(name, arguments, expected)
        uses = [
            _Use(own, given, behind(own, given, expected))
            for own, given in inner or [(name, arguments)]
        ]
    except BadArguments as error:
        message = f"arguments of {name!r}: {error}"
        into.problems.append(
            ReplyProblem("bad-arguments", printable(message), printable(raw), call_id, name)
        )
        if name and raw and not unfinished:
            into.parts.append(ToolCallPart(call_id, name, {}, state, raw=printable(raw)))
        return
    if not inner:
        _add(into, uses[0], expected, call_id=call_id, state=state, origin=origin)
        return
    into.note("parallel-call", f"{name!r} was taken apart into {len(inner)}", call_id=call_id)
    for number, use in enumerate(uses):
        one = f"{call_id}_{number}"
        _add(into, use, expected, call_id=one, state=state, origin="recovered")
        state = None  # it belongs to the step, and the step has one


@dataclass(frozen=True, slots=True)
class _Use:
    """A tool that is called as `name`, and the one `behind` it where that is the doorway."""

    name: str
    arguments: JsonObject
    behind: Behind | None


def _add(
    into: SettledCalls,
    use: _Use,
    expected: Expectation,
    *,
    call_id: str,
    state: ProviderState | None,
    origin: ActionOrigin,
) -> None:
    meant = use.behind or Behind(use.name, use.arguments)
    if meant.mended:
        into.note("doorway-arguments", meant.mended, call_id=call_id)
    fitted = _placed(
        into, meant.name, _typed(into, meant.name, meant.arguments, expected), expected
    )
    into.actions.append(Action(meant.name, fitted, origin, call_id))
    # What is replayed is what was said: the doorway was declared, what is behind it may not be.
    said = use.arguments if use.behind else fitted
    into.parts.append(ToolCallPart(call_id, use.name, said, state))


def _typed(
    into: SettledCalls, name: str, arguments: JsonObject, expected: Expectation
) -> JsonObject:
    """Whole numbers where the tool's schema wants them: some formats send 3 as 3.0."""
    tool = expected.tool(name)
    if tool is None:
        return arguments
    typed = cast("JsonObject", with_integers(arguments, tool.parameters))
    if typed is not arguments:
        into.note("number-form", f"a number of {name!r} was written as the whole number it is")
    told = cast("JsonObject", without_nulls(typed, tool.parameters, tool.parameters))
    if told is not typed:
        into.note("null-optional", f"a null for an optional field of {name!r} was left out")
    return told


def _placed(
    into: SettledCalls, name: str, arguments: JsonObject, expected: Expectation
) -> JsonObject:
    """A message without an address goes to the place it answers."""
    tool = expected.tool(name)
    if tool is None or not expected.place or arguments.get(_PLACE):
        return arguments
    if not name.startswith("message_") or _PLACE not in object_in(
        tool.parameters.get("properties")
    ):
        return arguments
    into.note("placed-action", f"{name!r} had no {_PLACE}; it goes to {expected.place!r}")
    return {**arguments, _PLACE: expected.place}


def _inner_calls(
    name: str, arguments: JsonObject, expected: Expectation
) -> list[tuple[str, JsonObject]]:
    if name not in _WRAPPERS or expected.offers(name):
        return []
    uses = objects_in(arguments.get("tool_uses"))
    inner = [_inner(use, expected) for use in uses]
    return [use for use in inner if use] if all(inner) else []


def _inner(use: Mapping[str, object], expected: Expectation) -> tuple[str, JsonObject] | None:
    name = expected.resolve_name(text_in(use.get("recipient_name")).removeprefix("functions."))
    given = use.get("parameters")
    if not expected.offers(name) or not isinstance(given, dict):
        return None
    return name, cast("JsonObject", given)
