"""The base of all builders: asks the judge about blocks, and joins those that are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import NoReturn, TypeAlias, cast

from mentis.errors import ComposeError
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block, Category, Mode
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.span import join_spans
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace, TokenCount
from mentis.values.trust import Trust

from .built import BuiltMessage, BuiltMessages, BuiltText
from .computed import SHIPPED, ComputedPlaceholder, Facts
from .conditions import concerns
from .fate import Fate, join_blocks
from .history import count
from .judge import Judge
from .layout import open_keys, stand_ins
from .memo import Memo, memo_for
from .placeholders import Values
from .purposes import ALONE, KEEP, Occasion, Policies, Purpose
from .sheet import Sheet

Variables: TypeAlias = Mapping[str, object]
_Desk: TypeAlias = tuple[Occasion, Facts, Memo]
NO_VARIABLES: Variables = {}


@dataclass(frozen=True, slots=True)
class BuilderBase:
    """Works for one persona and one profile, at one time. Nothing passed to it is changed."""

    library: Library
    persona: Persona
    profile: Profile
    now: datetime
    counter: TokenCounter | None = None
    mode: Mode = "chat"
    policies: Policies = KEEP
    computed: Mapping[str, ComputedPlaceholder] = field(default_factory=lambda: SHIPPED)
    secret: bytes = field(default=b"", repr=False)
    _desks: dict[object, _Desk] = field(
        default_factory=dict[object, _Desk], init=False, repr=False, compare=False
    )

    def count(self, text: str) -> TokenCount:
        """What a text costs."""
        if self.counter is None:
            hint = "pass counter= to the builder"
            raise ComposeError("there is no counter to count tokens with", hint=hint)
        return count(text, self.counter)

    def tokens(self, built: BuiltText) -> dict[str, TokenCount]:
        """What each told block costs, by its id."""
        texts = {
            trace.block: join_spans(span for span in built.spans if span.block == trace.block)
            for trace in built.told
        }
        return {block: self.count(text) for block, text in texts.items()}

    def _build(
        self,
        purpose: Purpose,
        variant: str,
        variables: Variables,
        category: Category | None = None,
    ) -> BuiltText:
        """As last time where nothing changed; else filled anew, or judged anew if need be."""
        judge = self._judge(purpose, variant, variables, category)
        sheet, values = judge.memo.sheet, judge.values
        if sheet is not None:
            built = sheet.refill(values)
            if built is not None:
                return built
        fates = judge.decide_all(self._concerned(purpose))
        sheet = judge.memo.sheet = Sheet(fates, _built(fates, judge.occasion), values)
        return sheet.built

    def _judge(
        self,
        purpose: Purpose,
        variant: str,
        variables: Variables,
        category: Category | None = None,
    ) -> Judge:
        variables = given_variables(variables)
        desk = self._desks.get((purpose, variant, category))
        if desk is None:
            language = self.persona.language.strip().casefold()
            occasion = Occasion(variant, language, self.mode, category, purpose, self.policies)
            people = (self.persona, self.profile)
            facts = Facts(*people, self.now, language, self.library.words, self.secret)
            memo = memo_for(occasion, self.library, *people, self.computed, self.secret)
            desk = self._desks[(purpose, variant, category)] = (occasion, facts, memo)
        occasion, facts, memo = desk
        values = Values(self.library, facts, variables, known=memo.known, computed=self.computed)
        return Judge(occasion, values, memo)

    def _concerned(self, purpose: Purpose) -> list[Block]:
        return [block for block in self.library.blocks if concerns(purpose, block)]

    def _named(self, block_id: str, variant: str, variables: Variables) -> BuiltText:
        """One block by its id, if its conditions hold; a library without it tells nothing."""
        judge = self._judge(ALONE, variant, variables)
        block = self.library.block(block_id)
        if block is None:
            return BuiltText(skipped=(_missing(block_id),))
        return _built((judge.decide(block),), judge.occasion)

    def _several(self, block_ids: Iterable[str], variant: str, variables: Variables) -> BuiltText:
        """Blocks by their ids, one after another, as far as their conditions hold."""
        judge = self._judge(ALONE, variant, variables)
        blocks = [block for one in block_ids if (block := self.library.block(one)) is not None]
        return _built([judge.decide(block) for block in blocks], judge.occasion)

    def _told(self, block: Block, variant: str, variables: Variables) -> BuiltText:
        """One block whatever its conditions say; what they say is told in `skipped`."""
        judge = self._judge(ALONE, variant, variables)
        return _built((judge.tell(block),), judge.occasion)

    def _block(self, block_id: str) -> Block:
        return self.library.block(block_id) or self._refuse(block_id)

    def _refuse(self, block_id: str) -> NoReturn:
        close = get_close_matches(block_id, [block.id for block in self.library.blocks], n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`mentis prompts list` shows them all"
        raise ComposeError(f"there is no block {block_id!r}", hint=hint, block=block_id)


def given_variables(told: object) -> Variables:
    """Values by their keys; None is none, as callers of the origin system are used to."""
    if told is None:
        return NO_VARIABLES
    if not isinstance(told, Mapping):
        kind = type(told).__name__
        hint = "pass a dict, or leave it out"
        raise ComposeError(f"runtime_vars must be values by their keys, not {kind}", hint=hint)
    return cast("Variables", told)


def _built(fates: Iterable[Fate], occasion: Occasion) -> BuiltText:
    fates = tuple(fates)
    told = [fate for fate in fates if fate.texts]
    spans = join_blocks(told)
    return BuiltText(
        spans,
        join_spans(spans),
        told=tuple(fate.trace for fate in fates if fate.trace.included),
        skipped=tuple(fate.trace for fate in fates if not fate.trace.included),
        unresolved=open_keys(told, occasion),
        degraded=stand_ins(told),
    )


def built_messages(fates: Iterable[Fate], occasion: Occasion) -> BuiltMessages:
    fates = tuple(fates)
    told = [fate for fate in fates if fate.texts]
    messages = (
        BuiltMessage(message.role, filled.text, filled.spans)
        for fate in told
        for message, filled in zip(fate.messages, fate.texts, strict=True)
    )
    return BuiltMessages(
        tuple(messages),
        told=tuple(fate.trace for fate in fates if fate.trace.included),
        skipped=tuple(fate.trace for fate in fates if not fate.trace.included),
        unresolved=open_keys(told, occasion),
        degraded=stand_ins(told),
    )


def _missing(block_id: str) -> BlockTrace:
    return BlockTrace(
        block=block_id,
        name=block_id,
        order=0,
        included=False,
        reason="there is no such block",
        trust=Trust.OWNER,
        stability=Stability.STABLE,
    )
