"""The title of a session and the summary of its older turns, both made by a model.

The conversation goes into the prompt as material, each line of it behind a name, so that nothing in
it can pass for the end of it. Both carry the least trust of what they were made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from anyio import CancelScope, to_thread

from mentis.ask.models import Models
from mentis.compose.built import BuiltText
from mentis.errors import ReplyError, UsageError
from mentis.home.identity import Identity
from mentis.record.inputs import ComposedPrompt
from mentis.record.threads import is_message, standing_numbers, told_turns
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import (
    SideAnswer,
    SideNote,
    SideQuestion,
    ask_aside,
    builder_for,
    one_prompt,
    require_text,
    speakers,
)
from mentis.turn.snapshot import TurnSnapshot
from mentis.values.entry import Entry
from mentis.values.part import TextPart
from mentis.values.recalled import Stimulus
from mentis.values.route import Route
from mentis.values.trust import Trust, least_trusted
from mentis.values.turn import Turn, said_line
from mentis.values.value import Value

from .sessions import TITLE, title_turn

SUMMARY = "summary"
_TITLE_BLOCK = "session_title"
_TITLE_WORDS, _TITLE_CHARS = 8, 80
_SPARE_TOKENS = 200  # what the blocks around the conversation need, generously


@dataclass(frozen=True, slots=True)
class SessionTitle(Value):
    """`fallback`: the model gave none, so it is made of the first words that were said."""

    title: str
    entry: Entry
    fallback: bool = False
    failure: str = ""


@dataclass(frozen=True, slots=True)
class SessionSummary(Value):
    """The turns before `until` are told as `text` from now on. `left_out` did not fit in."""

    text: str
    until: int
    lineage: Trust
    entry: Entry
    left_out: int = 0


async def make_title(
    parts: AgentParts, present: TurnSnapshot, session: str, *, reading: CancelScope
) -> SessionTitle:
    """Ask for a title; where none comes, the first words that were said are one."""
    turns = await to_thread.run_sync(parts.record.turns, session)
    shown = [turn for turn in told_turns(turns) if turn.kind == "said" and turn.text.strip()]
    if not shown:
        raise UsageError(f"in session {session!r} nobody has said anything yet", hint="say it")
    small = parts.limited(present.settings.model.conversations.title_tokens)
    lines, _ = _fitting(small.who, small.models, shown)

    def compose(route: Route, _stimulus: Stimulus) -> ComposedPrompt:
        who, models = small.who, small.models.on(route)
        built = builder_for(who, models, present).resolve_prompt_by_id(
            _TITLE_BLOCK, route.variant, {"chat_text": "\n".join(lines)}
        )
        require_text(built, _TITLE_BLOCK)
        return ComposedPrompt(
            one_prompt(who, models, present, built, system=BuiltText(), prefill=BuiltText())
        )

    def take(heard: SideAnswer) -> SideNote:
        title = _one_line(heard.text)
        made = title or _first_words(shown)
        facts: dict[str, object] = {} if title else {"fallback": True}
        return SideNote(title_turn(made, _lineage(shown)), facts)

    stimulus = Stimulus("\n".join(lines), trust=_lineage(shown), inner=TITLE)
    asked = await ask_aside(
        small, stimulus, compose, present=present, session=session, take=take, reading=reading
    )
    title = asked.note.turn.text if asked.note.turn else ""
    return SessionTitle(title, asked.entry, bool(asked.note.facts), _code(asked))


async def summarise(
    parts: AgentParts, present: TurnSnapshot, session: str, *, reading: CancelScope
) -> SessionSummary | None:
    """Let the model sum up all but the newest turns; None where there are no older ones."""
    chosen = present.settings.model.conversations
    turns = await to_thread.run_sync(parts.record.turns, session)
    until = _until(turns, chosen.recent_turns)
    older = _older(turns, until)
    if until is None or not any(turn.kind == "said" for turn in older):
        return None
    small = parts.limited(chosen.summary_tokens)
    lines, left_out = _fitting(small.who, small.models, older)

    def compose(route: Route, _stimulus: Stimulus) -> ComposedPrompt:
        who, models = small.who, small.models.on(route)
        asked = builder_for(who, models, present).build_summary(
            "\n".join(lines), chosen.summary_words, route.variant
        )
        require_text(asked.user, "summary_user_prompt")
        around = {"system": asked.system, "prefill": asked.prefill}
        return ComposedPrompt(one_prompt(who, models, present, asked.user, **around))

    stimulus = Stimulus("\n".join(lines), trust=_lineage(older), inner=SUMMARY)
    asked = await ask_aside(
        small,
        stimulus,
        compose,
        present=present,
        session=session,
        take=partial(_summary, older, until, left_out),
        reading=reading,
    )
    if asked.failure is not None:
        raise asked.failure
    turn = asked.note.turn
    if turn is None:
        raise ReplyError(
            f"no summary of session {session!r} was made: what came is not whole, or too long",
            hint="ask another route with --route, or raise conversations.summary_tokens",
            stop=asked.reply.stop,
        )
    return SessionSummary(turn.text, until, turn.lineage, asked.entry, left_out)


def _summary(older: Sequence[Turn], until: int, left_out: int, heard: SideAnswer) -> SideNote:
    """Nothing of a summary that is not whole, or longer than all that it would stand for."""
    facts: dict[str, object] = {"until": until}
    facts |= {"left_out": left_out} if left_out else {}
    if not heard.text or len(heard.text) > sum(len(turn.text) for turn in older):
        return SideNote(None, {**facts, "kept": False})
    turn = Turn("assistant", (TextPart(heard.text),), _lineage(older), kind="summary", until=until)
    return SideNote(turn, facts)


def _lineage(turns: Iterable[Turn]) -> Trust:
    """The model wrote it, so it is the agent's own at best."""
    return least_trusted((Trust.SELF, *(turn.lineage for turn in turns)))


def _until(turns: Sequence[Turn], recent: int) -> int | None:
    """The number of the message with which the newest turns begin."""
    said = [number for number in standing_numbers(turns) if turns[number].kind == "said"]
    for number in said[-recent:] if len(said) > recent else ():
        if is_message(turns[number]):
            return number
    return None


def _older(turns: Sequence[Turn], until: int | None) -> list[Turn]:
    """The last summary and what was told since, up to there."""
    if until is None:
        return []
    newest = {
        id(turns[n]) for n in standing_numbers(turns) if n >= until and turns[n].kind != "summary"
    }
    return [
        turn
        for turn in told_turns(turns)
        if id(turn) not in newest and turn.kind in ("said", "summary") and turn.text.strip()
    ]


def _fitting(who: Identity, models: Models, turns: Sequence[Turn]) -> tuple[list[str], int]:
    """As lines, the newest that fit into one prompt, and how many did not."""
    counter, route = models.counter(models.route), models.route
    room = route.context_tokens - route.max_tokens - 2 * _SPARE_TOKENS
    names = speakers(who)
    lines: list[str] = []
    for turn in reversed(turns):
        line = _line(turn, turn.speaker(names))
        room -= counter.count(line).tokens + 1
        if room < 0 and lines:
            break
        lines.insert(0, line)
    return lines, len(turns) - len(lines)


def _line(turn: Turn, name: str) -> str:
    if turn.kind == "summary":
        return f"- {said_line('', turn.text.strip())}"
    return said_line(name, turn.text.strip())


def _one_line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    title = first.strip("\"'`*#„“”»« ").rstrip(".").strip()
    return title if len(title) <= _TITLE_CHARS else ""  # a whole sentence is no title


def _first_words(turns: Sequence[Turn]) -> str:
    said = next((turn for turn in turns if is_message(turn)), turns[0])
    words = said.text.split()
    more = " …" if len(words) > _TITLE_WORDS else ""
    return f"{' '.join(words[:_TITLE_WORDS])}{more}"[:_TITLE_CHARS]


def _code(asked: SideQuestion) -> str:
    return asked.failure.code if asked.failure is not None else ""
