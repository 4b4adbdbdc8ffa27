"""A conversation read from its end: the same that is told, whatever was said anew in it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from mentis.record.threads import is_message, standing_numbers
from mentis.surfaces.studio.exchanges import last_exchanges
from mentis.values.part import TextPart
from mentis.values.turn import Turn


def conversation(seed: int) -> list[Turn]:
    """Messages, answers, answers anew, edits of what still counts, failures, titles, summaries."""
    chance, turns = Random(seed), list[Turn]()  # noqa: S311  # not a secret

    def say(role: str, **more: object) -> None:
        turns.append(Turn(role, (TextPart(f"{len(turns)}"),), **more))  # pyright: ignore[reportArgumentType]

    if chance.random() < 0.5:
        say("assistant")
    for _ in range(chance.randrange(1, 60)):
        messages = [n for n in standing_numbers(turns) if is_message(turns[n])]
        kind = chance.choice(
            ["message", "message", "anew", "edit", "title", "summary", "thought", "undo"]
        )
        failed = "failed" if chance.random() < 0.1 else "complete"
        if kind == "message":
            say("user", state=failed)
        elif kind in ("anew", "edit") and messages:
            number = messages[-1] if kind == "anew" else chance.choice(messages)
            say("user", replaces=number, state=failed)
        elif kind == "undo" and messages:
            say("user", kind="undo", replaces=messages[-1])
            continue
        elif kind in ("title", "summary", "thought"):
            say("assistant", kind=kind, until=len(turns) if kind == "summary" else None)
            continue
        else:
            continue
        if failed == "complete":
            say("assistant")
    return turns


@pytest.mark.parametrize("seed", range(60))
def test_what_is_shown_is_what_stands_page_by_page(seed: int) -> None:
    turns = conversation(seed)

    def read(count: int, before: int | None) -> Sequence[tuple[int, Turn]]:
        return list(enumerate(turns))[:before][-count:]

    shown: list[int] = []
    before: int | None = None
    while True:
        page, before = last_exchanges(read, 3, before)
        begun = [one.number for one, _ in page if is_message(one.turns[0][1])]
        shown = begun + shown
        for one, versions in page:
            chain = [versions[n].number for n in range(len(versions))]
            assert chain[-1] == one.number
            assert [v.turns[0][1].replaces for v in versions[1:]] == chain[:-1]
        if before is None:
            break
    assert shown == [n for n in standing_numbers(turns) if is_message(turns[n])]
