"""The one door of the room: everything a turn starts from in, the request and its trace out.

What lasts goes first, so that the beginning stays the same bytes. `budget` says what goes where
room is short, never the steps of the turn (`continuation`). A `secret` makes the marks around what
is not trusted, `fences_results` those around results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial

from mentis.errors import ComposeError
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Mode, OldMode, mode_named
from mentis.values.library import Library
from mentis.values.part import MediaPart
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext
from mentis.values.residency import Residency
from mentis.values.selection import Candidate
from mentis.values.surroundings import NOWHERE, Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import BlockTrace, TokenCount, Trace
from mentis.values.turn import Turn
from mentis.values.value import Value

from .budget import BudgetPlan
from .builders import Builder
from .computed import SHIPPED, ComputedPlaceholder, Facts
from .history import (
    FRAMING_TOKENS,
    HistorySteps,
    KeptHistory,
    add,
    history_tokens,
    keep_newest,
)
from .judge import Judge
from .layout import lay_out
from .lore import Lore, lore_for
from .memo import Layout, Memo, memo_for
from .notices import notices_of
from .opening import NO_OPENING, Opening, open_with, openers
from .placeholders import Values
from .purposes import KEEP, Occasion, Policies
from .scene import PLAIN, Matter, Scene, gather, in_one_text, with_gaps

_FOR_THE_TURN = 8  # one part of so many of the room beside stable text
_NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Composition(Value):
    """A composed prompt and why it is so.

    `revealed` are tools that may be called though only the text tells of them; `candidates` are
    those that were looked at. `residency` is what the session keeps of this prompt, once it is
    sent.
    """

    request: PromptRequest
    trace: Trace
    revealed: tuple[ToolDeclaration, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    residency: Residency | None = None


def compose(  # noqa: PLR0913  # each input has its own name; a bundle would only hide them
    library: Library,
    *,
    persona: Persona,
    profile: Profile,
    recalled: RecalledContext,
    history: tuple[Turn, ...],
    numbers: tuple[int, ...] = (),
    earlier: int = 0,
    now: datetime,
    variant: str,
    mode: Mode | OldMode = "chat",
    runtime_vars: Mapping[str, object] = _NOTHING,
    policies: Policies = KEEP,
    computed: Mapping[str, ComputedPlaceholder] = SHIPPED,
    counter: TokenCounter,
    context_tokens: int,
    reserve_tokens: int,
    surroundings: Surroundings = NOWHERE,
    runtime_ctx: RuntimeContext = PLAIN,
    attachments: tuple[MediaPart, ...] = (),
    reply_to: ReplyTo | None = None,
    secret: bytes = b"",
    fences_results: bool = True,
    continuation: tuple[Turn, ...] = (),
) -> Composition:
    """Choose, fill and order the blocks, then add as much history as fits."""
    persona = _before(persona, history)
    occasion = _occasion(variant, persona, mode_named(mode), policies)
    memo = memo_for(occasion, library, persona, profile, computed, counter, secret)
    facts = Facts(persona, profile, now, occasion.language, library.words, secret)
    values = Values(library, facts, runtime_vars, known=memo.known, computed=computed)
    judge = Judge(occasion, values, memo)
    layout = lay_out(library, judge, counter)
    around = (surroundings, runtime_ctx, attachments, reply_to, continuation)
    scene = Scene(recalled, history, occasion.mode, *around, numbers)
    matter = gather(scene, facts, counter, fences_results=fences_results)
    builder = partial(Builder, library, persona, profile, now, counter, policies=policies)
    builder = partial(builder, computed=computed, secret=secret)
    opening = _open(memo, occasion, library, builder, given=runtime_vars, persona=persona)
    plan = _plan(layout, matter, opening, facts=facts, counter=counter)
    room = HistoryRoom(context_tokens, reserve_tokens, earlier, policies.history_tokens)
    kept = _fit(plan, matter, lore_for(library, judge, counter, scene.current_text), room=room)
    trace = Trace(
        library.revision,
        variant,
        occasion.language,
        blocks=_with_opening(plan.blocks, opening),
        cuts=(*matter.cuts, *layout.cuts, *plan.cuts, *kept.cuts),
        unresolved=(*plan.unresolved_keys, *opening.unresolved),
        degraded=(*recalled.degraded, *layout.notes, *layout.degraded, *opening.degraded),
        tokens=_totals(plan, kept),
        embedding_calls=recalled.embedding_calls,
        filtered=recalled.filtered,
        placements=recalled.placements,
        fallbacks=layout.fallbacks,
        lore=kept.lore,
    )
    request = _request(scene, matter, plan, kept, profile=profile, words=_words(memo, facts))
    return Composition(_opened(request, opening), trace, matter.revealed, recalled.candidates)


def _before(persona: Persona, history: tuple[Turn, ...]) -> Persona:
    """Without its greeting where the conversation began elsewhere, with first words of its own."""
    elsewhere = bool(history) and history[0].origin is not None
    return _without_greeting(persona) if elsewhere and persona.greeting else persona


@lru_cache(maxsize=16)
def _without_greeting(persona: Persona) -> Persona:
    """One object for as long as it is asked for: memos go by it."""
    return replace(persona, greeting="")


def _occasion(variant: str, persona: Persona, mode: Mode, policies: Policies) -> Occasion:
    return Occasion(variant, persona.language.strip().casefold(), mode, policies=policies)


def _plan(
    layout: Layout, matter: Matter, opening: Opening, *, facts: Facts, counter: TokenCounter
) -> BudgetPlan:
    fixed = {**matter.tokens, **opening.tokens(counter)}
    return BudgetPlan(layout, matter.sections, facts, counter, fixed=fixed)


def _words(memo: Memo, facts: Facts) -> Mapping[str, str]:
    if memo.words is None:
        memo.words = notices_of(facts)
    return memo.words


def _open(
    memo: Memo,
    occasion: Occasion,
    library: Library,
    builder: Callable[[], Builder],
    *,
    given: Mapping[str, object],
    persona: Persona,
) -> Opening:
    """Most libraries have nothing that opens a conversation, which is looked at once."""
    if memo.openers is None:
        memo.openers = openers(library, occasion.variant)
    if not (memo.openers or persona.greeting.strip()) or occasion.mode != "chat":
        return NO_OPENING
    return open_with(builder(), occasion.variant, given)


def _opened(request: PromptRequest, opening: Opening) -> PromptRequest:
    if opening is NO_OPENING:
        return request
    history = opening.before(request.conversation_history)
    prefill = () if request.continuation else opening.prefill  # of the first step alone
    return replace(request, conversation_history=history, prefill=prefill)


def _with_opening(blocks: tuple[BlockTrace, ...], opening: Opening) -> tuple[BlockTrace, ...]:
    """Blocks that are no part of the system text, and told all the same."""
    told = {trace.block: trace for trace in opening.told}
    return tuple(told.get(trace.block, trace) for trace in blocks) if told else blocks


def _request(
    scene: Scene,
    matter: Matter,
    plan: BudgetPlan,
    kept: KeptHistory,
    *,
    profile: Profile,
    words: Mapping[str, str],
) -> PromptRequest:
    now = scene.runtime_ctx
    request = PromptRequest(
        system_instruction=plan.system,
        tool_declarations=matter.tools,
        context_summary=plan.context,
        conversation_history=kept.turns,
        current_text=scene.current_text,
        runtime_ctx=replace(
            now,
            username="" if scene.sent_by_nobody else scene.username or profile.name,
            is_beat=scene.mode == "beat",
            spans=with_gaps(now.spans, plan.turn, plan.tail),
        ),
        attachments=scene.attachments,
        reply_to=scene.reply_to,
        mode=scene.mode,
        continuation=matter.continuation,
        output=scene.recalled.stimulus.output,
        words=words,
    )
    return in_one_text(request) if scene.mode == "live" else request


@dataclass(frozen=True, slots=True)
class HistoryRoom(Value):
    """The room of a prompt: `context` tokens, of which the answer takes a part; of a conversation
    so many `earlier` turns have none in any case. `most` is as in `Policies.history_tokens`.
    """

    context: int
    reserve: int
    earlier: int = 0
    most: int | None = None

    def wanted(self, history: Sequence[Turn], counter: TokenCounter) -> int:
        """What the conversation would take."""
        tokens = history_tokens(history, counter)
        return min(tokens, self.most) if self.most else tokens

    def steps(self, tokens: int, numbers: tuple[int, ...]) -> HistorySteps | None:
        """Of the tokens that stable text leaves, a part is for what is another in each turn, so
        that how much of the conversation is told does not hang on it.
        """
        if self.most is None:
            return None
        steady = tokens - tokens // _FOR_THE_TURN
        return HistorySteps(min(steady, self.most) if self.most else steady, numbers)


def _fit(
    plan: BudgetPlan,
    matter: Matter,
    lore: Lore | None,
    *,
    room: HistoryRoom,
) -> KeptHistory:
    """Cut until it fits into the room; what is left after that is the conversation's."""
    history, counter, context, reserve = matter.history, plan.counter, room.context, room.reserve
    framing = _messages(plan) * FRAMING_TOKENS
    limit = context - reserve - framing
    if plan.gives_way:
        plan.cut_down(limit - room.wanted(history, counter), before_history=True)
    plan.cut_down(limit)
    left = limit - plan.needed_tokens
    stable = plan.tokens["system"].tokens + plan.tokens["tools"].tokens
    steps = room.steps(limit - stable, matter.numbers)
    if left >= 0 and lore is not None:
        return lore.keep(history, left, earlier=room.earlier, steps=steps)
    if left >= 0:
        return keep_newest(history, left, counter, earlier=room.earlier, steps=steps)
    needed = plan.needed_tokens + framing
    parts = ", ".join(f"{name} {count.tokens}" for name, count in plan.tokens.items())
    raise ComposeError(
        f"the prompt needs {needed} tokens ({parts}) and {reserve} are reserved for the answer, "
        f"but the context holds {context}",
        hint="raise the route's context_tokens, lower its max_tokens, or use the compact variant",
        needed=needed,
        reserve=reserve,
        context=context,
        required=plan.required_blocks or None,
    )


def _totals(plan: BudgetPlan, kept: KeptHistory) -> dict[str, TokenCount]:
    counted = {**plan.tokens, "history": kept.tokens}
    framing = (_messages(plan) + len(kept.turns)) * FRAMING_TOKENS
    return {**counted, "total": add(*counted.values()), "framing": TokenCount(framing)}


def _messages(plan: BudgetPlan) -> int:
    """The system text is a message of its own, if there is any."""
    return 2 if plan.system or plan.context else 1
