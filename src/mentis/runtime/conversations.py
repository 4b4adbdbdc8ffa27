"""The sessions of one persona: what is in them, saying something anew, beginning by itself.

Nothing is ever taken out of a session: what was said anew is kept, and no longer told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mentis.errors import UsageError
from mentis.ledger.chain import make_stamp
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.part import MediaPart, TextPart
from mentis.values.recalled import Stimulus
from mentis.values.session import Session
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .beside import builder_for, worded
from .kept_turn import kept_row_of
from .mind import Mind
from .present import Present
from .said import turn_digest
from .threads import is_message, standing, title_of

FIRST = "first_message"
TITLE = "title"
_FIRST_BLOCK = "auto_first_message"
_LONGEST_TITLE = 120


def sessions_of(mind: Mind) -> tuple[Session, ...]:
    """All of them, the oldest first. It blocks."""
    names = mind.conversations.sessions(mind.agent)
    return tuple(_session(name, mind.conversations.turns(mind.agent, name)) for name in names)


def anew(mind: Mind, session: str, number: int | None = None, text: str | None = None) -> Stimulus:
    """The message of that number once more, or with other words; by default the last one.

    It blocks. What came with the message comes with it again, and vouched for by nobody else than
    before: what is attached, and, as long as the inputs of its turn are kept, who wrote it, what
    it answers, where it was said and what was around.
    """
    turns = mind.conversations.turns(mind.agent, session)
    numbers = [n for n in standing(turns) if is_message(turns[n])]
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
    stimulus = Stimulus(
        turn.text if text is None else text,
        attachments=attached,
        trust=turn.lineage if text is None or attached else Trust.OWNER,
        replaces=number,
    )
    row = kept_row_of(mind, session, number)
    if row is None or row.delivery:
        return stimulus
    return replace(
        stimulus,
        text=row.text if text is None else text,
        author=row.author,
        reply_to=row.reply_to,
        runtime_ctx=row.runtime_ctx or stimulus.runtime_ctx,
        surroundings=row.surroundings or stimulus.surroundings,
        trust=row.trust if text is None else stimulus.trust,
    )


def first_message(mind: Mind, present: Present, session: str) -> Stimulus:
    """What makes the persona begin. Only its answer is kept. It blocks."""
    turns = mind.conversations.turns(mind.agent, session)
    if any(turns[n].kind == "said" for n in standing(turns)):
        raise UsageError(
            f"session {session!r} has begun already", hint="choose another one with --session"
        )
    built = builder_for(mind, present).resolve_prompt(_FIRST_BLOCK, mind.route.variant)
    if built is None or built.skipped:
        raise UsageError(
            f"the block {_FIRST_BLOCK!r} is switched off",
            hint=f"mentis prompts toggle {_FIRST_BLOCK}",
        )
    return Stimulus(worded(built, _FIRST_BLOCK), inner=FIRST)


def set_title(mind: Mind, session: str, title: str) -> Entry:
    """The owner's own title for a session. It blocks."""
    clean = " ".join(title.split())
    if not clean or len(clean) > _LONGEST_TITLE:
        raise UsageError(f"a title has 1 to {_LONGEST_TITLE} characters", hint="make it shorter")
    if not mind.conversations.turns(mind.agent, session):
        raise UsageError(f"there is no session {session!r}", hint="`mentis sessions list`")
    turn = title_turn(clean)
    turns = mind.conversations.turns(mind.agent, session)
    told = {"session": session, "number": len(turns), "inner": TITLE, "by": "owner"}
    body: dict[str, object] = {
        "turn": told,
        "digests": {"instruction": digest(clean.encode())},
        "acted": [turn_digest(turn)],
    }
    stamp = make_stamp(mind.clock.now, mind.ids.salt, mind.clock.uptime)
    (entry,) = mind.ledger.append(mind.agent, [Draft("turn", "owner", body)], stamp)
    mind.conversations.add(mind.agent, session, turn)
    return entry


def title_turn(title: str, lineage: Trust = Trust.SELF) -> Turn:
    return Turn("assistant", (TextPart(title),), lineage, kind="title")


def _session(name: str, turns: Sequence[Turn]) -> Session:
    kept = standing(turns)
    said = [number for number in kept if turns[number].kind == "said"]
    all_said = sum(turn.kind == "said" for turn in turns)
    return Session(
        name,
        title_of(turns),
        turns=all_said,
        told=len(said),
        replaced=all_said - len(said),
        unanswered=tuple(n for n in said if turns[n].state in ("failed", "pending")),
        summary=any(turns[number].kind == "summary" for number in kept),
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[-10:]))
