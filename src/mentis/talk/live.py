"""A spoken conversation: the one text it is opened with, and what has changed since.

Nothing is sent from here: the voice belongs to whoever holds the session. What it was told is
recorded: the opening, and each update that says something.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from anyio import to_thread

from mentis.codec.forms import to_json
from mentis.compose.changes import Changes, changes
from mentis.compose.compose import Composition
from mentis.record.agent_record import AgentRecord
from mentis.render.wires import render_for
from mentis.turn.agent_parts import AgentParts
from mentis.turn.deliveries import news_for_turn
from mentis.turn.ending import mode_fields
from mentis.turn.turn import compose_turn, recall_scope, told_history, with_others
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.surroundings import NOWHERE, Surroundings
from mentis.values.value import Value

WIRE = "live"
_OPENING, _UPDATE = "live", "live_update"
_NO_CHANGES = Changes()


@dataclass(frozen=True, slots=True)
class LiveUpdate(Value):
    """What to tell a voice silently. It is empty, and has no entry, where nothing has changed."""

    changes: Changes = _NO_CHANGES
    entry: Entry | None = None

    @property
    def text(self) -> str:
        return self.changes.text

    def __bool__(self) -> bool:
        return self.entry is not None


@dataclass(frozen=True, slots=True)
class LiveInstructions(Value):
    """The one text as it was at one time, in the form that a session is opened with."""

    stimulus: Stimulus
    composed: Composition
    rendering: Rendering

    @property
    def instructions(self) -> str:
        return str(self.rendering.payload["instructions"])


class LiveSession:
    """One spoken conversation that was opened. What came of acts is told in it, and told once more
    in the next turn that is written: a voice may not have said it.
    """

    def __init__(
        self, parts: AgentParts, session: str, opening: LiveInstructions, entry: Entry
    ) -> None:
        self._parts = parts
        self._last = opening
        self.session = session
        self.opening = opening
        self.entry = entry

    @classmethod
    async def open(
        cls, parts: AgentParts, session: str, stimulus: Stimulus | None = None
    ) -> LiveSession:
        """Compose and record the opening."""
        told = await to_thread.run_sync(_tell, parts, session, stimulus or live_stimulus())
        keep = partial(_record, parts.record, parts.models.route, session, told)
        keep = partial(keep, text=told.instructions, inner=_OPENING)
        entry = await to_thread.run_sync(keep)
        return cls(parts, session, told, entry)

    @property
    def instructions(self) -> str:
        """The whole text that the session is opened with."""
        return self.opening.instructions

    async def update(self, surroundings: Surroundings | None = None) -> LiveUpdate:
        """What has changed since the last update, or since the opening.

        Left out, what is around the conversation is as it was.
        """
        stimulus = self._last.stimulus
        if surroundings is not None:
            stimulus = replace(stimulus, surroundings=surroundings)
        told = await to_thread.run_sync(_tell, self._parts, self.session, stimulus)
        before, after = self._last.composed.request, told.composed.request
        found = changes(before.system_instruction, after.system_instruction)
        self._last = told
        if found == _NO_CHANGES:
            return LiveUpdate()
        keep = partial(_record, self._parts.record, self._parts.models.route, self.session, told)
        keep = partial(keep, text=found.text, inner=_UPDATE)
        return LiveUpdate(found, await to_thread.run_sync(keep))


def live_stimulus(
    surroundings: Surroundings = NOWHERE, attachments: tuple[MediaPart, ...] = ()
) -> Stimulus:
    """What a voice starts from: nobody has said anything yet."""
    return Stimulus("", attachments=attachments, surroundings=surroundings, mode="live")


def _tell(parts: AgentParts, session: str, stimulus: Stimulus) -> LiveInstructions:
    """How things stand now, as one text. It blocks."""
    present = parts.look()
    record, live = parts.record, parts.sources.settings
    history = told_history(record, live, parts.models, session)
    history = with_others(record, live, history, stimulus)
    news = news_for_turn(
        parts.record, parts.acting, parts.sources.settings, session=session, stimulus=stimulus
    )
    outlook = recall_scope(parts.recaller, parts.acting, present, stimulus, session=session)
    brought = parts.recaller.recall_people(stimulus, outlook.joined_by(history.turns))
    route = parts.models.route
    made = compose_turn(
        parts, present, route, stimulus, history=history, news=news, recalled=brought
    )
    composed = made.composed
    return LiveInstructions(
        stimulus, composed, render_for(WIRE, composed.request, route.for_rendering())
    )


def _record(
    record: AgentRecord,
    route: Route,
    session: str,
    told: LiveInstructions,
    *,
    text: str,
    inner: str,
) -> Entry:
    """Bind what the voice was told. It blocks."""
    number = record.ledger.count_turns(record.agent, session)
    turn = {"session": session, "number": number, "inner": inner, **mode_fields(told.stimulus)}
    body: dict[str, object] = {
        "turn": turn,
        "route": {"name": route.name, "backend": route.backend, "model": route.model},
        "digests": {
            "request": digest(to_json(told.composed.request)),
            "payload": told.rendering.digest,
            "library": told.composed.trace.library,
            "instruction": digest(text.encode()),
        },
    }
    return record.append("turn", body)
