"""Lines of a persona's conversations, to be read and searched: what was said and still stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mentis.home.older_turns import StoredTurns
from mentis.recall.lexical import LexicalIndex
from mentis.values.trust import Trust
from mentis.values.turn import Role, Turn, guest_name
from mentis.values.value import Value

from .threads import standing_numbers, title_of


@dataclass(frozen=True, slots=True)
class SaidLine(Value):
    """One thing that was said. `author` is a guest's name, and empty for owner and agent."""

    session: str
    number: int
    role: Role
    text: str
    trust: Trust
    author: str = ""


@dataclass(frozen=True, slots=True)
class SaidHit(Value):
    """A line that shares words with what was looked for, and how well."""

    line: SaidLine
    score: float


def said_lines(talk: StoredTurns, agent: str) -> tuple[SaidLine, ...]:
    """Every line that stands, by session; no thoughts, no results, nothing that was erased."""
    return tuple(
        SaidLine(
            session,
            number,
            turns[number].role,
            turns[number].text,
            turns[number].lineage,
            guest_name(turns[number].author) if turns[number].author else "",
        )
        for session in talk.sessions(agent)
        for turns in [talk.turns(agent, session)]
        for number in standing_numbers(turns)
        if _is_said(turns[number])
    )


def session_titles(talk: StoredTurns, agent: str) -> dict[str, str]:
    return {name: title_of(talk.turns(agent, name)) for name in talk.sessions(agent)}


def search_lines(lines: Sequence[SaidLine], query: str, count: int) -> tuple[SaidHit, ...]:
    """The lines that share most with the query, by their words alone; the best first."""
    scores = LexicalIndex([line.text for line in lines]).scores(query)
    best = sorted(scores.items(), key=lambda one: (-one[1], -one[0]))[:count]
    return tuple(SaidHit(lines[number], round(score, 4)) for number, score in best)


def _is_said(turn: Turn) -> bool:
    return turn.kind == "said" and turn.state in ("complete", "interrupted") and bool(turn.text)
