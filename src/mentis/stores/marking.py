"""Marks beside the entries: looked at and written down before anything is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from mentis.errors import BadInput, Defect, StoreConflict
from mentis.values.entry import Draft
from mentis.values.json import JsonObject
from mentis.values.mark import Mark


def write_marks(marks: Sequence[Mark], drafts: Sequence[Draft]) -> tuple[str | None, ...]:
    """The column of each, None for those that go. BadInput if one has no JSON form."""
    if marks and not drafts:
        raise Defect("marks are set together with entries, and there is none", kind=marks[0].kind)
    return tuple(None if mark.value is None else _write(mark, mark.value) for mark in marks)


def check_marks(agent: str, marks: Sequence[Mark], stands: Callable[[str, str], bool]) -> None:
    """StoreConflict unless each finds what it replaces; one sees what those before it do."""
    now: dict[tuple[str, str], bool] = {}
    for mark in marks:
        place = mark.kind, mark.key
        if mark.replaces != "any":
            there = now[place] if place in now else stands(*place)
            if there != (mark.replaces == "something"):
                raise _conflict(agent, mark, there=there)
        now[place] = mark.value is not None


def _write(mark: Mark, value: JsonObject) -> str:
    try:
        text = json.dumps(dict(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(
            f"mark `{mark.kind}` `{mark.key}` has no JSON form: {error}",
            hint="keep to JSON's types",
            kind=mark.kind,
            key=mark.key,
        ) from error
    return text


def _conflict(agent: str, mark: Mark, *, there: bool) -> StoreConflict:
    stands = "stands already" if there else "does not stand any more"
    return StoreConflict(
        f"`{mark.kind}` `{mark.key}` of agent `{agent}` {stands}",
        hint="somebody else was faster; look at what came of it",
        agent=agent,
        kind=mark.kind,
        key=mark.key,
    )
