"""What stays in the lasting part of the prompt: every change pays, and everything is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mentis.recall.resident import WINDOW, Economy, ResidentItem, place
from mentis.values.residency import Placement, Residents

NAMES = [f"tool_{number:02}" for number in range(12)]
ITEMS = {name: ResidentItem(100, f"print of {name}") for name in NAMES}
BASE = ("tool_00",)
MOST = 4
wishes = st.lists(st.lists(st.sampled_from(NAMES), max_size=3, unique=True), max_size=30)
prices = st.sampled_from([(0.1, 1.25), (0.5, 1.0), (1.0, 1.0)])


def step(kept: Residents, wanted: list[str], economy: Economy) -> tuple[Residents, Placement]:
    return place("tools", kept, wanted, items=ITEMS, base=BASE, most=MOST, economy=economy)


@given(wishes, prices, st.integers(0, 5000))
def test_what_is_needed_is_always_there_and_every_change_pays(
    turns: list[list[str]], price: tuple[float, float], lost: int
) -> None:
    kept = Residents()
    for number, wanted in enumerate(turns):
        before = kept
        kept, placed = step(kept, wanted, Economy(lost, *price, number))
        assert {*BASE, *wanted} <= {*placed.resident, *placed.revealed}
        assert not {*placed.resident} & {*placed.revealed}
        assert len(placed.resident) <= MOST
        assert placed.resident == kept.names == tuple(sorted(kept.names))
        assert placed.changed == (kept.names != before.names)
        assert len(kept.recent) <= WINDOW
        assert placed.dropped == tuple(name for name in before.names if name not in kept.names)
        if placed.changed and number:
            assert placed.gain >= placed.price


@given(wishes, prices, st.integers(0, 5000))
def test_the_same_conversation_comes_to_the_same_decisions(
    turns: list[list[str]], price: tuple[float, float], lost: int
) -> None:
    def run() -> list[Placement]:
        kept, decided = Residents(), list[Placement]()
        for number, wanted in enumerate(turns):
            kept, placed = step(kept, wanted, Economy(lost, *price, number))
            decided.append(placed)
        return decided

    assert run() == run()


def test_a_tool_that_is_needed_once_is_told_and_one_that_stays_needed_moves_in() -> None:
    kept, _ = step(Residents(), ["tool_01"], Economy(0, 0.1, 1.25, 0))
    kept, once = step(kept, ["tool_05"], Economy(1000, 0.1, 1.25, 1))
    assert (once.revealed, once.changed) == (("tool_05",), False)
    assert once.why == "gain 45 over 1 turns, price 1150"
    moved = [once]
    for number in range(2, 20):
        kept, placed = step(kept, ["tool_05"], Economy(1000, 0.1, 1.25, number))
        moved.append(placed)
    (when,) = [number for number, placed in enumerate(moved) if placed.changed]
    assert moved[when].gain >= moved[when].price > moved[when - 1].gain
    assert "tool_05" in moved[-1].resident
    assert moved[-1].why == "what this turn needs is there"


def test_without_a_cache_every_turn_gets_exactly_what_it_needs() -> None:
    kept = Residents()
    for number, wanted in enumerate((["tool_01"], ["tool_02", "tool_03"], ["tool_09"])):
        kept, placed = step(kept, wanted, Economy(0, 1.0, 1.0, number))
        assert placed.revealed == ()
        assert {*wanted} <= {*placed.resident}


def test_few_enough_all_stay_whatever_is_needed_and_nothing_is_chosen() -> None:
    few = {name: ITEMS[name] for name in NAMES[:3]}
    economy = Economy(5000, 0.1, 1.25, 3)
    kept, placed = place("tools", Residents(), [], items=few, most=None, economy=economy)
    assert placed.resident == tuple(few)
    assert placed.why == "all 3 fit, so nothing is chosen"
    assert place("tools", kept, ["tool_02"], items=few, most=None, economy=economy)[1] == (
        Placement("tools", tuple(few), (), (), changed=False, price=0, gain=0, why=placed.why)
    )


def test_what_is_gone_or_changed_leaves_at_once_and_the_price_is_told() -> None:
    kept, _ = step(Residents(), ["tool_01", "tool_02"], Economy(0, 0.1, 1.25, 0))
    less = {name: item for name, item in ITEMS.items() if name != "tool_01"}
    changed = {**less, "tool_02": ResidentItem(100, "another print")}
    economy = Economy(1000, 0.1, 1.25, 1)
    _, placed = place("tools", kept, ["tool_03"], items=changed, base=BASE, most=4, economy=economy)
    assert placed.changed
    assert placed.dropped == ("tool_01",)
    assert placed.price == 1150
    assert placed.why == "tool_01, tool_02 changed or went, so this part is new anyway"
