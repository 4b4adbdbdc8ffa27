"""The ending of every command that changes prompts: what changed in the prompts in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from mentis.errors import MentisError

from .options import home_path
from .report import Note, Text, TextDiff
from .shown import safe

if TYPE_CHECKING:
    from mentis.library.edit import Edit
    from mentis.turn.replay.fork import PromptCost
    from mentis.turn.replay.prompt_change import PromptInForceChange
    from mentis.values.library import Library

_MOST_PERSONAS = 12  # each is opened for it; the others are left to `prompts preview`


def changes_since(
    before: Library, edits: Sequence[Edit], persona: str | None
) -> tuple[PromptInForceChange, ...]:
    """For this persona or each of them, on every route; one that cannot be opened is left out, as
    the change counts all the same.
    """
    from mentis.app.agent import Agent
    from mentis.stores.files.home import find_home

    chosen = (persona,) if persona else find_home(home_path()).personas()[:_MOST_PERSONAS]
    found: list[PromptInForceChange] = []
    for one in chosen:
        with suppress(MentisError):
            agent = Agent.open(home_path(), persona=one)
            try:
                found += agent.prompt_changes(before, edits)
            finally:
                agent.close()
    return tuple(found)


def changes_lines(changes: Sequence[PromptInForceChange]) -> Iterator[Text]:
    """Those with the same difference together, then why the others stay as they were."""
    together: dict[tuple[object, ...], list[PromptInForceChange]] = {}
    for one in changes:
        if one.changed:
            together.setdefault(one.differences, []).append(one)
    for alike in together.values():
        for one in alike:
            where = f"{one.persona} on {one.route} ({one.model})"
            yield safe(f"{where}: {_tokens(one)}, {_price(one)}")
        for difference in alike[0].differences:
            yield TextDiff(difference.diff)
    told = list[str]()
    for one in changes:
        if not one.changed:
            where = f"{one.persona} on {one.route}"
            yield Note(safe(f"{where}: the prompt stays as it was: {one.reason}"))
            if one.command and one.command not in told:
                told.append(one.command)
                yield Note(safe(f"hint: {one.command}"))


def _tokens(one: PromptInForceChange) -> str:
    was, now = one.was.total, one.now.total
    about = "" if was.exact and now.exact else "~"
    more = now.tokens - was.tokens
    return f"{about}{was.tokens} -> {about}{now.tokens} tokens ({more:+d})"


def _price(one: PromptInForceChange) -> str:
    was, now = _usd(one.was), _usd(one.now)
    if was is None or now is None:
        return "no price is known"
    return "free" if was == now == 0 else f"${was:.6f} -> ${now:.6f} a prompt"


def _usd(cost: PromptCost) -> float | None:
    return cost.cost.usd
