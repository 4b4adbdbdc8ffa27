"""Lore: blocks that what was said brings up, told in the conversation itself.

By default each is told once, before the message that brought it up, and stands there for as long
as that message is told: the prompt before it stays the same bytes. What is left out with the oldest
messages can be brought up again. Told so many messages from the end instead, it is read again with
all that follows it in every prompt; the trace says how much that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mentis.codec.macros import ExpandedText, expand_macros
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block, pick_variant
from mentis.values.keywords import Keywords, LoreRules, LoreTrace
from mentis.values.library import Library
from mentis.values.part import TextPart, ToolResultPart
from mentis.values.persona import Persona, Profile
from mentis.values.span import Span, join_spans
from mentis.values.trust import Trust, least_trusted
from mentis.values.turn import Turn

from .conditions import lore_out
from .fences import fence_spans, plain
from .history import FRAMING_TOKENS, HistorySteps, KeptHistory, add, keep_newest, turn_tokens
from .judge import Judge
from .key_index import KeyIndex, index_of
from .lore_walk import LoreFiring, LoreWalk, LoreWords

_TIMES = 4  # that room is looked for anew, because what is left out changes what is brought up
_TOPIC = "heading_memory"  # what the persona knows
_NO_ROOM = "no room left in the context"
_NOT_OURS = frozenset({Trust.SELF, Trust.REFERENCE, Trust.UNTRUSTED})


@dataclass(frozen=True, slots=True)
class ToldLore:
    """Turns to put before others, by their number among those that are told."""

    turns: tuple[tuple[int, Turn], ...]
    traces: tuple[LoreTrace, ...]


@dataclass(frozen=True, slots=True)
class Lore:
    """What of a library may be brought up, for one prompt. `current` is the message it answers."""

    index: KeyIndex
    rules: LoreRules
    judge: Judge
    counter: TokenCounter
    current: str

    def keep(
        self,
        history: Sequence[Turn],
        room: int,
        *,
        earlier: int = 0,
        steps: HistorySteps | None = None,
    ) -> KeptHistory:
        """The newest turns that fit with the lore that they bring up."""
        newest = partial(keep_newest, history, counter=self.counter, earlier=earlier, steps=steps)
        kept = newest(room)
        for _ in range(_TIMES):
            told = self.tell(kept.turns)
            cost = self._cost(told.turns)
            if cost + self._cost(enumerate(kept.turns)) <= room:
                return self._with(kept, told)
            kept = newest(max(0, room - cost))
        gone = self.tell(kept.turns).traces
        traces = tuple(replace(one, told=False, reason=_NO_ROOM) for one in gone if one.told)
        return replace(kept, lore=traces)

    def tell(self, turns: Sequence[Turn]) -> ToldLore:
        """What these turns and the current message bring up, and where it is told."""
        greeting = self.judge.values.facts.persona.greeting.strip()
        before = [greeting] if greeting else []
        texts = [*before, *(turn.text for turn in turns), self.current]
        first = len(before)
        askings = [first + n for n, turn in enumerate(turns) if _is_message(turn)]
        walk = LoreWalk(self.index, self.rules, texts, self._words(texts))
        found = walk.run([*askings, len(texts) - 1])
        if self.rules.layout == "depth":
            return self._at_depth(found[-1], turns, texts)
        told = [
            (asked[0].at - first, self._turn(asked, texts))
            for asked in found
            if any(one.told for one in asked)
        ]
        last = len(texts) - 1
        traces = tuple(
            self._trace(
                one, texts, "this message" if one.at == last else _turn_name(one.at - first)
            )
            for asked in found
            for one in asked
            if one.told or one.at == last
        )
        return ToldLore(tuple(told), traces)

    def _at_depth(
        self, found: Sequence[LoreFiring], turns: Sequence[Turn], texts: Sequence[str]
    ) -> ToldLore:
        groups: dict[int, list[LoreFiring]] = {}
        traces: list[LoreTrace] = []
        for one in found:
            place = max(0, len(turns) - max(0, _words(self.index.entries[one.entry]).depth - 1))
            behind = sum(turn_tokens(turn, self.counter).tokens for turn in turns[place:])
            trace = self._trace(one, texts, "this message")
            if one.told:
                groups.setdefault(place, []).append(one)
                trace = replace(trace, reread=behind + trace.tokens)
            traces.append(trace)
        told = ((place, self._turn(groups[place], texts)) for place in sorted(groups))
        return ToldLore(tuple(told), tuple(traces))

    def _words(self, texts: Sequence[str]) -> LoreWords:
        def text(entry: int, at: int) -> str:
            return self._text(entry, at, texts).text

        def cost(entry: int, at: int) -> int:
            return self.counter.count(text(entry, at)).tokens

        def out(entry: int) -> str | None:
            return lore_out(self.index.entries[entry], self.judge.occasion, self.judge.values)

        return LoreWords(text, cost, out)

    def _text(self, entry: int, at: int, texts: Sequence[str]) -> ExpandedText:
        """The entry's words at a message, with its macros made plain; chance by the message."""
        block, facts = self.index.entries[entry], self.judge.values.facts
        wording = pick_variant(block, self.judge.occasion.variant, self.judge.occasion.language)
        told = wording.content.strip() if wording else ""
        seed = f"{block.id}\x00{texts[at]}"
        return expand_macros(told, macro_values(facts.persona, facts.profile), seed=seed)

    def _turn(self, found: Iterable[LoreFiring], texts: Sequence[str]) -> Turn:
        """One turn of what a message brought up, under a heading."""
        facts, values = self.judge.values.facts, self.judge.values
        told = [one for one in found if one.told]
        trusts = [self.index.entries[one.entry].trust for one in told]
        trust = least_trusted((*trusts, Trust.OWNER))
        parts = [self._text(one.entry, one.at, texts).text for one in told]
        text = "\n\n".join(part for part in parts if part)
        if trust in _NOT_OURS:
            text = plain(text, values.headings)
        if trust is Trust.UNTRUSTED:
            note = " ".join(facts.word("notice_outside"))
            text = join_spans(tuple(fence_spans((Span(text, trust=trust),), facts.secret, note)))
        heading = " ".join(facts.word(_TOPIC))
        return Turn("user", (TextPart(f"[{heading}]\n{text}" if heading else text),), trust)

    def _trace(self, one: LoreFiring, texts: Sequence[str], place: str) -> LoreTrace:
        block = self.index.entries[one.entry]
        draws = self._text(one.entry, one.at, texts).draws if one.told else ()
        chosen = tuple(f"{made.macro}: {made.result}" for made in draws)
        return LoreTrace(
            block.id, block.name, one.told, one.reason, place, one.tokens, one.chance, draws=chosen
        )

    def _cost(self, turns: Iterable[tuple[int, Turn]]) -> int:
        return sum(turn_tokens(turn, self.counter).tokens + FRAMING_TOKENS for _, turn in turns)

    def _with(self, kept: KeptHistory, told: ToldLore) -> KeptHistory:
        if not told.turns:
            return replace(kept, lore=told.traces)
        turns = list(kept.turns)
        for place, turn in reversed(told.turns):
            turns.insert(place, turn)
        cost = add(kept.tokens, *(turn_tokens(turn, self.counter) for _, turn in told.turns))
        return KeptHistory(tuple(turns), cost, kept.cuts, told.traces)


def lore_for(library: Library, judge: Judge, counter: TokenCounter, current: str) -> Lore | None:
    """The lore of a library; None where it has none, or this is no conversation."""
    if judge.occasion.mode != "chat":
        return None
    memo = judge.memo
    if memo.lore is None:
        memo.lore = index_of([block for block in library.blocks if block.keywords])
    if not memo.lore.entries:
        return None
    return Lore(memo.lore, judge.occasion.policies.lore, judge, counter, current)


def macro_values(persona: Persona, profile: Profile) -> dict[str, str]:
    """What the macros of an entry stand for."""
    user = profile.name.strip() or Profile().name
    names = {"char": persona.name, "char_name": persona.name, "user": user, "user_name": user}
    return {**names, "persona": profile.info, "original": ""}


def _turn_name(number: int) -> str:
    return f"turn {number + 1}"


def _words(block: Block) -> Keywords:
    return block.keywords or Keywords(())


def _is_message(turn: Turn) -> bool:
    return turn.role == "user" and not any(isinstance(one, ToolResultPart) for one in turn.parts)
