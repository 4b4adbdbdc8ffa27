"""The part of a conversation that no memory update has read yet, as quoted lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mentis.ask.models import Models
from mentis.ports.token_counter import TokenCounter
from mentis.record.agent_record import AgentRecord
from mentis.record.recent_thread import read_turns
from mentis.record.threads import standing_in
from mentis.settings.settings import Settings
from mentis.values.mark import Mark
from mentis.values.persona_update import Progress
from mentis.values.request import quote_lines
from mentis.values.trust import Trust, least_trusted
from mentis.values.turn import Role, Turn, said_line
from mentis.values.value import Value

MARK = "persona_update"
LEAST = 4  # messages that are worth an update
_UNSAID = ("pending", "failed")


@dataclass(frozen=True, slots=True)
class Reading(Value):
    """`text` is for the prompt. Every line of it is marked, so that none can pass for its end."""

    text: str
    messages: int
    until: int
    waiting: int
    cut: int
    lineage: Trust


def threshold(messages: int, percent: int) -> int:
    """After how many new messages an update is due."""
    return messages * percent // 100


def progress(record: AgentRecord, models: Models, settings: Settings, session: str) -> Progress:
    """How far a session is from its next update. It blocks."""
    chosen, share = settings.model.persona_update, settings.model.persona_update.percent
    known = _known(record, session)
    since = _number(known.get("until"))
    turns = unread_turns(record, session, since)
    new = [turns[number] for number in _unread_numbers(turns)]
    needed, room = (
        threshold(chosen.window_messages, share),
        models.route.context_tokens * share,
    )
    counter = models.counter(models.route)
    tokens = sum(counter.count(turn.text).tokens for turn in new)
    failures, tried = _number(known.get("failures")), _number(known.get("tried"))
    full = len(new) >= needed or 100 * tokens >= room
    rested = not failures or len(new) >= tried + LEAST
    wanted = settings.model.features.persona_memory and share > 0
    return Progress(
        session,
        len(new),
        needed,
        tokens,
        room // 100,
        since,
        failures,
        str(known.get("failure", "")),
        due=wanted and full and rested and len(new) >= LEAST,
    )


def unread_turns(record: AgentRecord, session: str, since: int) -> dict[int, Turn]:
    """Those that no update has seen, by their numbers: however many were before, they are not read.
    It blocks.
    """
    end = record.ledger.count_turns(record.agent, session)
    return read_turns(record, session, min(since, end), end)


def _unread_numbers(turns: Mapping[int, Turn]) -> list[int]:
    """The numbers of the messages that count, of those that no update has seen."""
    return [
        number
        for number in standing_in(turns)
        if turns[number].kind == "said"
        and turns[number].state not in _UNSAID
        and turns[number].text.strip()
    ]


def read_on(
    turns: Mapping[int, Turn],
    since: int,
    *,
    names: Mapping[Role, str],
    counter: TokenCounter,
    room: int,
) -> Reading:
    """The oldest that were not read, as many as fit into `room` tokens: the others wait."""
    numbers, lines, cut = _unread_numbers(turns), list[str](), 0
    for number in numbers:
        turn = turns[number]
        line = quote_lines(said_line(turn.speaker(names), turn.text.strip()))
        room -= counter.count(line).tokens + 1
        if room < 0 and lines:
            break
        if room < 0:
            whole, line = line, _shortened(line, counter, room=-room)
            cut = len(whole) - len(line)
        lines.append(line)
    shown = numbers[: len(lines)]
    return Reading(
        "\n".join(lines),
        len(shown),
        shown[-1] + 1 if shown else since,
        len(numbers) - len(shown),
        cut,
        least_trusted((Trust.SELF, *(turns[number].lineage for number in shown))),
    )


def _shortened(line: str, counter: TokenCounter, *, room: int) -> str:
    """One message that is longer than the context, without its end."""
    tokens = counter.count(line).tokens
    share = max(tokens - room, 1) / max(tokens, 1)
    return line[: max(int(len(line) * share), 1)]


def success_mark(session: str, until: int) -> Mark:
    return Mark(MARK, session, {"until": until})


def failure_mark(before: Progress, failure: str, *, soon: bool = False) -> Mark:
    """The place stays where it was, so that nothing is passed over. It is due again once more was
    said; `soon`: whenever somebody looks, since nothing came of it and nothing was wrong with it.
    """
    told = {"until": before.since, "failures": before.failures + 1, "failure": failure}
    return Mark(MARK, before.session, told if soon else {**told, "tried": before.messages})


def _known(record: AgentRecord, session: str) -> Mapping[str, object]:
    mark = record.ledger.mark(record.agent, MARK, session)
    return mark.value or {} if mark is not None else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
