"""The sessions of one persona: what is in them, saying something anew, beginning by itself.

Nothing is ever taken out of a session: what was said anew is kept, and no longer told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from mentis.ask.models import Models
from mentis.ask.recorded_calls import object_in
from mentis.errors import UsageError
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_inputs import TurnInputStore
from mentis.record.stored_turns import result_turn, turn_digest
from mentis.record.threads import CAME_TO_NOTHING, is_message, standing_numbers, title_of
from mentis.turn.beside import builder_for, require_text
from mentis.turn.replay.recorded_turn import stored_inputs_of
from mentis.turn.snapshot import TurnSnapshot
from mentis.values.action import Action, Outcome
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.output import OutputSchema
from mentis.values.part import MediaPart, Part, TextPart, ToolResultPart
from mentis.values.recalled import FIRST, OPENING, Stimulus
from mentis.values.session import AnswerVersion, Session, SessionOutline
from mentis.values.trust import Trust
from mentis.values.turn import GUEST, Turn
from mentis.values.turn_writes import TurnWrites

TITLE = "title"
UNDO = "undo"
ADOPTED = "adopted"  # the task of an entry that brings what others say was said
_FIRST_BLOCK = "auto_first_message"
_LONGEST_TITLE = 120
_ENDS = 8  # turns at the beginning and at the end of a conversation that a list looks at
_FEW, _MANY = 100, 1000  # turns that are looked through, the second where the first had not all


def sessions_of(record: AgentRecord, names: Collection[str] | None = None) -> tuple[Session, ...]:
    """All of them, or those of these names, the oldest first. It blocks."""
    known = record.ledger.sessions(record.agent)
    wanted = [name for name in known if names is None or name in names]
    return tuple(_session(name, record.turns(name)) for name in wanted)


def session_outline(record: AgentRecord, name: str) -> SessionOutline:
    """What a list shows of a conversation, from its first turns and its last: a long one costs no
    more than a short one. It blocks.
    """
    ledger, agent = record.ledger, record.agent
    first = ledger.last_turns(agent, name, _ENDS, before=_ENDS)
    last = ledger.last_turns(agent, name, _ENDS)
    messages = [turn for _, turn in last if is_message(turn)]
    return SessionOutline(
        name,
        ledger.title(agent, name),
        next((turn.text for _, turn in first if turn.kind == "said" and turn.text.strip()), ""),
        turns=last[-1][0] + 1 if last else 0,
        unanswered=bool(messages) and messages[-1].state in ("failed", "pending"),
    )


def message_again(
    record: AgentRecord,
    inputs: TurnInputStore,
    session: str,
    number: int | None = None,
    *,
    text: str | None = None,
) -> Stimulus:
    """The message of that number once more, or with other words; by default the last one.

    It blocks. What came with the message comes with it again, and vouched for by nobody else than
    before: what is attached, and, as long as the inputs of its turn are kept, who wrote it, what
    it answers, where it was said and what was around.
    """
    turns = record.turns(session)
    numbers = [n for n in standing_numbers(turns) if is_message(turns[n])]
    if not numbers:
        raise UsageError(f"in session {session!r} nobody has said anything yet", hint="say it")
    number = numbers[-1] if number is None else number
    if number not in numbers:
        raise UsageError(
            f"turn {number} of session {session!r} is no message that still counts",
            hint=f"`mentis sessions show {session}` lists them: {_listed(numbers)}",
        )
    turn = turns[number]
    attached = tuple(part for part in turn.parts if isinstance(part, MediaPart))
    theirs = text is None or bool(attached)  # else all of it is the owner's from now on
    stimulus = Stimulus(
        turn.text if text is None else text,
        author=turn.author if theirs else "",
        attachments=attached,
        trust=turn.lineage if theirs else Trust.OWNER,
        replaces=number,
    )
    row = stored_inputs_of(record, inputs, session, number)
    if row is None or row.delivery:
        return stimulus
    around = row.runtime_ctx or stimulus.runtime_ctx
    if not theirs and row.trust is Trust.UNTRUSTED:
        around = replace(around, username="", usertag="")  # the guest has not said this
    return replace(
        stimulus,
        text=row.text if text is None else text,
        author=row.author if theirs else "",
        reply_to=row.reply_to,
        runtime_ctx=around,
        surroundings=row.surroundings or stimulus.surroundings,
        trust=row.trust if theirs else Trust.OWNER,
        output=inputs.part(OutputSchema, row.output) if row.output else None,
    )


def opening_again(record: AgentRecord, inputs: TurnInputStore, session: str) -> Stimulus | None:
    """What made the agent begin this session, as it was; None where that is not kept any more. It
    blocks.
    """
    row = stored_inputs_of(record, inputs, session, OPENING)
    return None if row is None else Stimulus(row.text, inner=FIRST)


def check_unbegun(record: AgentRecord, session: str) -> None:
    """UsageError where something was said already. It blocks."""
    turns = record.turns(session)
    if any(turns[n].kind == "said" for n in standing_numbers(turns)):
        raise UsageError(
            f"session {session!r} has begun already", hint="choose another one with --session"
        )


def first_message(who: Identity, models: Models, present: TurnSnapshot) -> Stimulus:
    """What makes the persona begin. Only its answer is kept. It blocks."""
    built = builder_for(who, models, present).resolve_prompt(_FIRST_BLOCK, models.route.variant)
    if built is None or built.skipped:
        raise UsageError(
            f"the block {_FIRST_BLOCK!r} is switched off",
            hint=f"mentis prompts toggle {_FIRST_BLOCK}",
        )
    return Stimulus(require_text(built, _FIRST_BLOCK), inner=FIRST)


def set_title(record: AgentRecord, session: str, title: str) -> Entry:
    """The owner's own title for a session. It blocks."""
    clean = " ".join(title.split())
    if not clean or len(clean) > _LONGEST_TITLE:
        raise UsageError(f"a title has 1 to {_LONGEST_TITLE} characters", hint="make it shorter")
    number = len(record.turns(session))
    if not number:
        raise UsageError(f"there is no session {session!r}", hint="`mentis sessions list`")
    turn = title_turn(clean)
    told = {"session": session, "number": number, "inner": TITLE, "by": "owner"}
    body: dict[str, object] = {
        "turn": told,
        "digests": {"instruction": digest(clean.encode())},
        "acted": [turn_digest(turn)],
    }
    titled = TurnWrites(session, number, turns=(turn,))
    return record.append("turn", body, source="owner", turns=titled)


def undo_exchange(record: AgentRecord, session: str) -> Entry:
    """Take back the last message that counts, and all that followed it: kept, and no longer told.
    It blocks.
    """
    turns = record.turns(session)
    return append_undo(record, session, len(turns), replaces=_last_message(turns, session))


def append_undo(record: AgentRecord, session: str, number: int, *, replaces: int) -> Entry:
    """Tell nothing any more from the turn `replaces` on, as the turn `number` says. It blocks."""
    turn = Turn("user", (TextPart(""),), kind="undo", replaces=replaces)
    told = {"session": session, "number": number, "inner": UNDO, "replaces": replaces}
    body: dict[str, object] = {
        "turn": told,
        "digests": {"instruction": digest(b"")},
        "acted": [turn_digest(turn)],
    }
    return record.append(
        "turn", body, source="owner", turns=TurnWrites(session, number, turns=(turn,))
    )


def _last_message(turns: Sequence[Turn], session: str) -> int:
    numbers = [n for n in standing_numbers(turns) if is_message(turns[n])]
    if not numbers:
        raise UsageError(f"in session {session!r} nobody has said anything yet", hint="say it")
    return numbers[-1]


def answer_versions(record: AgentRecord, session: str) -> tuple[AnswerVersion, ...]:
    """The answers that the last message has had, the oldest first, each once. It blocks."""
    turns = record.turns(session)
    return versions_of(turns, _last_message(turns, session))


def versions_of(turns: Sequence[Turn], last: int) -> tuple[AnswerVersion, ...]:
    """The answers that the message of this number has had, the oldest first."""
    numbers, number = list[int](), last
    while number is not None and is_message(turns[number]):
        if turns[number].text == turns[last].text and turns[number].state not in CAME_TO_NOTHING:
            numbers.append(number)
        number = turns[number].replaces
    told: list[tuple[tuple[Part, ...], ...]] = []
    found: list[AnswerVersion] = []
    for number in reversed(numbers):
        answer = _answer_to(turns, number)
        parts = tuple(turn.parts for turn in answer)
        text = "\n".join(turn.text for turn in answer if turn.role == "assistant" and turn.text)
        if parts not in told:  # compared, since what a tool was given cannot be hashed
            told.append(parts)
            found.append(AnswerVersion(number, text))
        if number == last:
            found = [replace(one, current=parts == of) for one, of in zip(found, told, strict=True)]
    return tuple(found)


def _answer_to(turns: Sequence[Turn], message: int) -> tuple[Turn, ...]:
    """What followed a message, up to the next one or to what was said anew."""

    def follows(turn: Turn) -> bool:
        return not is_message(turn) and turn.replaces is None

    after = takewhile(follows, turns[message + 1 :])
    return tuple(turn for turn in after if turn.kind == "said")


def restore_answer(record: AgentRecord, session: str, number: int) -> Entry:
    """Tell an earlier answer to the last message again, in the place of the one that counts: a copy
    of it and of its message, each with the trust that it had. It blocks.
    """
    turns = record.turns(session)
    last = _last_message(turns, session)
    known = {one.number: one for one in versions_of(turns, last)}
    if number not in known or known[number].current:
        others = ", ".join(str(one.number) for one in known.values() if not one.current)
        raise UsageError(
            f"message {number} of session {session!r} is none whose answer could be told instead",
            hint=f"these are: {others}" if others else "it has one answer: ask for another",
        )
    message = replace(turns[number], replaces=last)
    return _append_brought(record, session, [message, *_answer_to(turns, number)], source="owner")


def adopted_results(turn: Turn) -> tuple[Outcome, ...]:
    """The results in a turn that somebody brings, to be screened like all others."""
    found = [part for part in turn.parts if isinstance(part, ToolResultPart)]
    return tuple(
        Outcome(
            Action(part.name, {}, call_id=part.call_id),
            "crashed" if part.failed else "done",
            text=part.text,
            source="caller",
        )
        for part in found
    )


def adopted_turn(turn: Turn, received: Sequence[Outcome]) -> Turn:
    """As it is kept: nobody vouches for it, whatever it says of itself."""
    results = result_turn(received).parts if received else ()
    rest = tuple(part for part in turn.parts if not isinstance(part, ToolResultPart))
    parts = (*results, *(_bare_part(part) for part in rest))
    author = (turn.author or GUEST) if turn.role == "user" and not results else ""
    return Turn(turn.role, parts, Trust.UNTRUSTED, replaces=turn.replaces, author=author)


def adopt_turns(record: AgentRecord, session: str, turns: Sequence[Turn]) -> Entry:
    """Append what somebody says was said, and the entry that says so. It blocks."""
    if not turns or not all(turn.parts for turn in turns):
        raise UsageError("there is nothing to adopt", hint="give turns that say something")
    return _append_brought(record, session, turns)


def _append_brought(
    record: AgentRecord, session: str, turns: Sequence[Turn], *, source: str = "client"
) -> Entry:
    number = len(record.turns(session))
    told: dict[str, object] = {"session": session, "number": number, "inner": ADOPTED}
    told |= {} if turns[0].replaces is None else {"replaces": turns[0].replaces}
    body: dict[str, object] = {
        "turn": told,
        "digests": {"instruction": digest(b"")},
        "acted": [turn_digest(turn) for turn in turns],
    }
    brought = TurnWrites(session, number, turns=tuple(turns))
    return record.append("turn", body, source=source, turns=brought)


def branch_session(record: AgentRecord, session: str, number: int, to: str) -> Entry:
    """Begin the session `to` with what was told in another, up to that turn: each with the trust
    that it had. It blocks.
    """
    if record.turns(to):
        raise UsageError(f"there is a session {to!r} already", hint="choose another name")
    turns = record.turns(session)
    if not 0 <= number < len(turns):
        raise UsageError(f"there is no turn {number} in {session!r}", hint="list them first")
    before = standing_numbers(turns[: number + 1])
    kept = [turns[n] for n in before if turns[n].parts and turns[n].kind != "summary"]
    return _append_brought(record, to, [replace(turn, replaces=None) for turn in kept])


def turn_entries(
    record: AgentRecord, session: str, numbers: Collection[int], *, before: int | None = None
) -> dict[int, int]:
    """The entry of each message's turn, by its number, as far as it is among the last entries, or
    among those shortly `before` one. It blocks.
    """
    found: dict[int, int] = {}
    end = record.ledger.count(record.agent) if before is None else before
    for stop in (end - _FEW, end - _MANY):
        for entry in _between(record, max(stop, 0), end):
            turn = object_in(entry.body.get("turn"))
            number = turn.get("number")
            if turn.get("session") == session and isinstance(number, int) and number in numbers:
                found[number] = max(entry.index, found.get(number, 0))
        end = max(stop, 0)
        if len(found) == len(numbers):
            break
    return found


def _between(record: AgentRecord, start: int, end: int) -> Iterator[Entry]:
    entries = record.ledger.entries(record.agent, start=start)
    return (one for one in takewhile(lambda one: one.index < end, entries) if one.kind == "turn")


def _bare_part(part: Part) -> Part:
    """Without the state of a provider, which nobody here has seen."""
    return (
        part
        if isinstance(part, ToolResultPart) or part.state is None
        else replace(part, state=None)
    )


def title_turn(title: str, lineage: Trust = Trust.SELF) -> Turn:
    return Turn("assistant", (TextPart(title),), lineage, kind="title")


def _session(name: str, turns: Sequence[Turn]) -> Session:
    kept = standing_numbers(turns)
    said = [number for number in kept if turns[number].kind == "said"]
    all_said = sum(turn.kind == "said" for turn in turns)
    unanswered = tuple(n for n in said if turns[n].state in ("failed", "pending"))
    return Session(
        name,
        title_of(turns),
        turns=all_said,
        told=len(said) - len(unanswered),
        replaced=all_said - len(said),
        unanswered=unanswered,
        summary=any(turns[number].kind == "summary" for number in kept),
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[-10:]))
