"""Goes through a conversation message by message, and says which entries each one brings up.

It is worked out anew from the messages that are told, and comes to the same each time: chance is
drawn from the entry and the words of the messages, so that a prompt can be put together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mentis.codec.macros import draw
from mentis.values.block import Block
from mentis.values.keywords import Keywords, LoreRules

from .key_index import KeyIndex, LoreKey

_NO_KEYS: frozenset[LoreKey] = frozenset()


@dataclass(frozen=True, slots=True)
class LoreFiring:
    """An entry that a message brought up or, where it is not `told`, why it is not."""

    entry: int
    at: int
    told: bool
    reason: str
    tokens: int = 0
    chance: int = -1


@dataclass(frozen=True, slots=True)
class LoreWords:
    """The words that an entry is told in at a message, what they cost, and whether it may be told
    at all: None, or why not.
    """

    text: Callable[[int, int], str]
    cost: Callable[[int, int], int]
    out: Callable[[int], str | None]


@dataclass(slots=True)
class LoreWalk:
    """`texts` are all messages in their order; at each of `askings` a model is asked."""

    index: KeyIndex
    rules: LoreRules
    texts: Sequence[str]
    words: LoreWords
    last: dict[int, int] = field(default_factory=dict[int, int])
    told: dict[int, int] = field(default_factory=dict[int, int])

    def run(self, askings: Sequence[int]) -> list[list[LoreFiring]]:
        return [self._at(place) for place in askings]

    def _at(self, place: int) -> list[LoreFiring]:
        found: list[LoreFiring] = []
        active: set[int] = set()
        new = list(self._by_messages(place, found, active))
        for _ in range(self.rules.rounds):
            woken = list(self._by_entries(new, place, found, active))
            if not woken:
                break
            new = woken
        return self._within_budget(found, place)

    def _by_messages(self, place: int, found: list[LoreFiring], active: set[int]) -> Iterator[int]:
        windows: dict[int, frozenset[LoreKey]] = {}
        for entry, block in enumerate(self.index.entries):
            words = _words(block)
            if self._stays(entry, words, place):
                found.append(LoreFiring(entry, place, True, "it stays a while (sticky)"))
                active.add(entry)
                continue
            if words.scan_depth not in windows:
                windows[words.scan_depth] = self._window(place, words.scan_depth)
            key = self.index.match(entry, windows[words.scan_depth])
            if key is not None and self._decide(entry, place, f"{key!r} was said", found):
                active.add(entry)
                yield entry

    def _by_entries(
        self, new: Sequence[int], place: int, found: list[LoreFiring], active: set[int]
    ) -> Iterator[int]:
        hits, by = _NO_KEYS, ""
        for entry in new:
            block = self.index.entries[entry]
            if _words(block).wakes:
                hits |= self.index.hits(self.words.text(entry, place))
                by = by or block.name
        if not hits:
            return
        seen = {one.entry for one in found}
        for entry, block in enumerate(self.index.entries):
            if entry in active or entry in seen or not _words(block).woken:
                continue
            key = self.index.match(entry, hits)
            reason = f"{key!r} stands in an entry that was brought up ({by})"
            if key is not None and self._decide(entry, place, reason, found):
                active.add(entry)
                yield entry

    def _window(self, place: int, depth: int) -> frozenset[LoreKey]:
        start = max(0, place - max(depth, 1) + 1)
        return _NO_KEYS.union(*(self.index.hits(text) for text in self.texts[start : place + 1]))

    def _stays(self, entry: int, words: Keywords, place: int) -> bool:
        """Only where entries move: what is frozen stays anyway."""
        last = self.last.get(entry)
        if self.rules.layout == "frozen" or last is None:
            return False
        return place - last < words.sticky

    def _decide(self, entry: int, place: int, reason: str, found: list[LoreFiring]) -> bool:
        block = self.index.entries[entry]
        words, last = _words(block), self.last.get(entry)
        against = self.words.out(entry)
        if against is None and entry in self.told:
            against = "it is told already, further up"
        if against is None and place < words.delay:
            against = f"not before message {words.delay + 1} (delay)"
        if against is None and last is not None and place - last < words.sticky + words.cooldown:
            against = f"it rests for {words.cooldown} messages (cooldown)"
        chance = -1
        if against is None and words.probability < 100:
            chance = draw(f"{block.id}\x00{self._seed(place)}", 100)
            if chance >= words.probability:
                against = f"chance drew {chance}, and less than {words.probability} was needed"
        if against is not None:
            found.append(LoreFiring(entry, place, False, f"{reason}; {against}", chance=chance))
            return False
        found.append(LoreFiring(entry, place, True, reason, chance=chance))
        return True

    def _seed(self, place: int) -> str:
        return "\x00".join(self.texts[max(0, place - 1) : place + 1])

    def _within_budget(self, found: list[LoreFiring], place: int) -> list[LoreFiring]:
        """Those that have room, the most important first; told ones are noted for later turns."""
        blocks = self.index.entries
        left, books = self.rules.tokens, dict[str, int]()
        kept: dict[int, LoreFiring] = {}
        for one in sorted(found, key=lambda one: (-blocks[one.entry].priority, one.entry)):
            if not one.told:
                kept[one.entry] = one
                continue
            words, cost = _words(blocks[one.entry]), self.words.cost(one.entry, place)
            room = min(left, books.get(words.book, words.budget or left))
            told = cost <= room
            reason = one.reason if told else f"{one.reason}; no room left in the budget"
            kept[one.entry] = LoreFiring(one.entry, place, told, reason, cost, one.chance)
            if told:
                left -= cost
                books[words.book] = books.get(words.book, words.budget or left + cost) - cost
                self._note(one.entry, place, one.reason)
        return [kept[entry] for entry in sorted(kept)]

    def _note(self, entry: int, place: int, reason: str) -> None:
        if self.rules.layout == "frozen":
            self.told.setdefault(entry, place)
        if not reason.startswith("it stays"):
            self.last[entry] = place


def _words(block: Block) -> Keywords:
    return block.keywords or Keywords(())
