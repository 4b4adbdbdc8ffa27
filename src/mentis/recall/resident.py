"""Decides what stays in the lasting part of a prompt and what is told at its end, by price.

Changing the lasting part makes a provider read again what it had in its cache. So what is newly
needed is told at the end of the turn, until telling it there again and again would cost more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mentis.values.residency import Placed, Placement, Residents
from mentis.values.value import Value

WINDOW = 8  # turns that what was needed is remembered for
_THERE = "what this turn needs is there"
LONGEST_REST = 50  # turns: nobody knows how long a conversation goes on


@dataclass(frozen=True, slots=True)
class ResidentItem(Value):
    """`tokens` is what it costs to tell it; `print` changes when its text does."""

    tokens: int
    print: str


@dataclass(frozen=True, slots=True)
class Economy(Value):
    """`lost` tokens stand behind the change and may be in a cache; prices are multiples of plain
    input. `turns` were before this one, and as many are expected to come.
    """

    lost: int
    read: float
    write: float
    turns: int

    @property
    def rest(self) -> int:
        return max(1, min(self.turns, LONGEST_REST))

    @property
    def price(self) -> float:
        return round(self.lost * max(self.write - self.read, 0.0), 1)

    def gain(self, told: float, let_go: float) -> float:
        """What is told at the end is paid in full each turn, what stays at the price of reading."""
        each = told * max(1.0 - self.read, 0.0) + let_go * self.read
        return round(self.rest * each, 1)


def place(
    what: Placed,
    kept: Residents,
    wanted: Sequence[str],
    *,
    items: Mapping[str, ResidentItem],
    base: Sequence[str] = (),
    most: int | None,
    economy: Economy,
) -> tuple[Residents, Placement]:
    """Where each of the `items` stands in this turn. What stays keeps the order of `items`.

    `most` None: all of them fit, so nothing is chosen.
    """
    needed = tuple(dict.fromkeys(name for name in (*base, *wanted) if name in items))
    recent = (*kept.recent, tuple(name for name in needed if name not in base))[-WINDOW:]
    now = Residents(kept.names, kept.prints, recent)
    if most is None:
        why = f"all {len(items)} fit, so nothing is chosen"
        again = _moved(what, now, tuple(items), items, why=why)
        paid = economy.price if kept.recent and again[1].changed else 0.0
        return again[0], replace(again[1], price=paid)
    best = _best(now, base, items, most)
    if not kept.recent:
        return _moved(what, now, best, items, why="the conversation begins", needed=needed)
    if broken := _broken(kept, items):
        why = f"{', '.join(broken)} changed or went, so this part is new anyway"
        return _moved(what, now, best, items, why=why, price=economy.price, needed=needed)
    return _weighed(what, now, best, needed, items=items, economy=economy)


def _weighed(
    what: Placed,
    kept: Residents,
    best: tuple[str, ...],
    needed: tuple[str, ...],
    *,
    items: Mapping[str, ResidentItem],
    economy: Economy,
) -> tuple[Residents, Placement]:
    missing = tuple(name for name in needed if name not in kept.names)
    if not missing:
        return kept, _stays(what, kept, (), price=0.0, gain=0.0, why=_THERE)
    told = sum(items[name].tokens * _share(name, kept) for name in missing if name in best)
    let_go = sum(items[name].tokens for name in kept.names if name not in best)
    price, gain = economy.price, economy.gain(told, let_go)
    weighed = f"gain {gain:g} over {economy.rest} turns, price {price:g}"
    if gain >= price and best != kept.names:
        return _moved(what, kept, best, items, why=weighed, price=price, gain=gain, needed=needed)
    return kept, _stays(what, kept, missing, price=price, gain=gain, why=weighed)


def _stays(
    what: Placed, kept: Residents, missing: tuple[str, ...], *, price: float, gain: float, why: str
) -> Placement:
    return Placement(what, kept.names, missing, (), changed=False, price=price, gain=gain, why=why)


def _moved(
    what: Placed,
    kept: Residents,
    names: tuple[str, ...],
    items: Mapping[str, ResidentItem],
    *,
    why: str,
    price: float = 0.0,
    gain: float = 0.0,
    needed: Iterable[str] = (),
) -> tuple[Residents, Placement]:
    now = Residents(names, tuple(items[name].print for name in names), kept.recent)
    changed = (now.names, now.prints) != (kept.names, kept.prints)
    dropped = tuple(name for name in kept.names if name not in names)
    revealed = tuple(name for name in needed if name not in names)
    return now, Placement(
        what, names, revealed, dropped, changed=changed, price=price, gain=gain, why=why
    )


def _best(
    kept: Residents, base: Sequence[str], items: Mapping[str, ResidentItem], most: int
) -> tuple[str, ...]:
    """The base set, then what was asked for most often of late; all of it in the items' order."""
    asked: dict[str, int] = {}
    for turn in kept.recent:
        for name in turn:
            asked[name] = asked.get(name, 0) + 1
    # Among equals what stands there already stays, so that nothing changes for nothing.
    now = kept.recent[-1] if kept.recent else ()
    ranked = sorted(
        (name for name in asked if name in items),
        key=lambda name: (name not in now, -asked[name], name not in kept.names, name),
    )
    chosen = set((*(name for name in base if name in items), *ranked)[:most])
    return tuple(name for name in items if name in chosen)


def _broken(kept: Residents, items: Mapping[str, ResidentItem]) -> tuple[str, ...]:
    return tuple(
        name
        for name, mark in zip(kept.names, kept.prints, strict=True)
        if name not in items or items[name].print != mark
    )


def _share(name: str, kept: Residents) -> float:
    return sum(name in turn for turn in kept.recent) / max(len(kept.recent), 1)
