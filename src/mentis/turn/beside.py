"""A question to the model that is no part of the conversation: asked, read, and recorded.

Nothing is done on its answer: it offers no tools. What comes of it is kept in the session as a note
(a thought, a summary, a title) and bound by an entry, as everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from anyio import CancelScope

from mentis.ask.ask import ask
from mentis.ask.inquiry import Inquiry
from mentis.ask.models import Models
from mentis.ask.reservation import release_after
from mentis.compose.builders import Builder
from mentis.compose.built import BuiltText
from mentis.compose.compose import Composition
from mentis.compose.computed import Facts
from mentis.compose.notices import notices_of
from mentis.errors import LibraryError, MentisError
from mentis.home.identity import Identity
from mentis.values.entry import Entry
from mentis.values.recalled import Stimulus
from mentis.values.reply import Delta, Reply
from mentis.values.request import PromptRequest
from mentis.values.span import join_spans
from mentis.values.trace import TokenCount, Trace
from mentis.values.trust import Trust
from mentis.values.turn import Role, Turn
from mentis.values.value import Value

from .agent_parts import AgentParts
from .ending import recorder_of
from .run import Compose, TurnRun
from .snapshot import TurnSnapshot
from .steps import answer_lineage
from .turn import run_shielded, turn_span

# What is not whole is of no use here: no decision, no summary, no title.
_UNFINISHED = ("interrupted", "cut_off", "error", "length")


@dataclass(frozen=True, slots=True)
class SideNote(Value):
    """What is kept of an answer: a turn that was not said, and what the entry says of it."""

    turn: Turn | None = None
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class SideAnswer(Value):
    """`begun` are the first words that the model went on from; `lineage` is of the reply."""

    reply: Reply
    failure: MentisError | None
    lineage: Trust
    begun: str = ""

    @property
    def text(self) -> str:
        """The whole answer; nothing of one that broke off."""
        if self.failure is not None or self.reply.stop in _UNFINISHED:
            return ""
        text = self.reply.text.strip()
        if not text or text.startswith(self.begun):
            return text
        return f"{self.begun} {text}"


Take: TypeAlias = Callable[[SideAnswer], SideNote]


@dataclass(frozen=True, slots=True)
class SideQuestion(Value):
    reply: Reply
    note: SideNote
    entry: Entry
    composed: Composition
    failure: MentisError | None = None


async def ask_aside(
    parts: AgentParts,
    stimulus: Stimulus,
    compose: Compose,
    *,
    present: TurnSnapshot,
    session: str,
    take: Take,
    reading: CancelScope,
) -> SideQuestion:
    """Ask, and keep what `take` makes of the answer. A failure is recorded and handed back."""
    with turn_span(parts.who, parts.models.route, stimulus.inner or stimulus.mode, session) as span:
        span.scope.content = present.settings.model.telemetry.content
        run = await TurnRun.begin(parts, stimulus, compose, present=present)
        failure, interrupted = None, True
        try:
            with reading:
                failure = await ask(run.inquiry, _unheard)
            interrupted = reading.cancelled_caught
        finally:
            reply = run.reply(interrupted=interrupted)
            recorder = recorder_of(parts.record, parts.inputs, run.inquiry, session)
            lineage = answer_lineage(run.inquiry.calls, stimulus.trust)
            heard = SideAnswer(reply, failure, lineage, _begun(run.inquiry))
            note = take(heard)
            keep = partial(recorder.note, stimulus, note.turn, reply=reply, facts=note.facts)
            keep = partial(keep, failure=failure)
            entry = await run_shielded(partial(release_after, run.reserve, keep))
        span.tell_end(reply, entry, stop=reply.stop, steps=1)
        if failure is not None:
            span.fail_with(failure)
        return SideQuestion(reply, note, entry, run.inquiry.calls[0].composed, failure)


def speakers(who: Identity) -> dict[Role, str]:
    """How the two of a talk are called where it is told as lines."""
    return {"user": who.profile.name or "user", "assistant": who.persona.name}


def builder_for(who: Identity, models: Models, present: TurnSnapshot) -> Builder:
    return Builder(
        present.library,
        who.persona,
        who.profile,
        models.clock.now(),
        models.counter(models.route),
        policies=present.policies,
        secret=who.secret,
    )


def require_text(built: BuiltText, block: str) -> str:
    """The text of a block that something depends on."""
    if built.text.strip():
        return built.text
    raise LibraryError(
        f"the block {block!r} says nothing, so this cannot be asked",
        hint=f"switch it on, or reset it to how it was shipped: mentis prompts reset {block}",
        block=block,
    )


def one_prompt(
    who: Identity,
    models: Models,
    present: TurnSnapshot,
    user: BuiltText,
    *,
    system: BuiltText,
    prefill: BuiltText,
) -> Composition:
    """A request of its own: no history, no tools, of the persona only what the blocks say."""
    counter, language = models.counter(models.route), who.persona.language.strip().casefold()
    facts = Facts(who.persona, who.profile, models.clock.now(), language, present.library.words)
    request = PromptRequest(
        system_instruction=system.spans,
        current_text=user.text,
        prefill=prefill.spans,
        words=notices_of(facts),
    )
    texts = {"system": system.text, "current": user.text, "prefill": prefill.text}
    tokens = {name: counter.count(text) for name, text in texts.items() if text}
    total = sum(count.tokens for count in tokens.values())
    trace = Trace(
        library=present.library.revision,
        variant=models.route.variant,
        language=language,
        blocks=(*system.told, *user.told, *prefill.told),
        unresolved=(*system.unresolved, *user.unresolved, *prefill.unresolved),
        degraded=(*present.degraded, *system.degraded, *user.degraded, *prefill.degraded),
        tokens={**tokens, "total": TokenCount(total)},
    )
    return Composition(request, trace)


def _begun(inquiry: Inquiry) -> str:
    first = inquiry.calls[0]
    lost = any(loss.code == "prefill" for loss in first.rendering.losses)
    return "" if lost else join_spans(first.composed.request.prefill).strip()


def _unheard(_delta: Delta) -> None:
    """Nobody is told a thought while it is thought."""
