"""Blocks that what was said brings up: which, why, where they are told, and what stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.compose import Composition
from mentis.compose.purposes import Policies
from mentis.values.block import Block
from mentis.values.fence import FENCE
from mentis.values.keywords import Keywords, LoreRules, LoreTrace
from mentis.values.part import TextPart
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .conftest import Desk

DESK = Desk(Persona("bo", "Bo"), Profile("Robin"))
WORDS = {"english": {"heading_memory": ("Background",)}}


def entry(name: str, text: str, *keys: str, **more: Any) -> Block:  # noqa: ANN401  # as Keywords has them
    fields = {one: more.pop(one) for one in ("priority", "enabled", "personas") if one in more}
    words = Keywords(keys or (name,), **more)
    return DESK.block(name, text, target="message", position="history", keywords=words, **fields)


def conversation(*texts: str) -> tuple[Turn, ...]:
    """Both in turn, beginning with the user."""
    return tuple(
        Turn("assistant" if number % 2 else "user", (TextPart(text),))
        for number, text in enumerate(texts)
    )


def asked(
    message: str,
    *entries: Block,
    before: Sequence[str] = (),
    rules: LoreRules | None = None,
    **inputs: Any,  # noqa: ANN401  # passed on
) -> Composition:
    return DESK.compose(
        DESK.library(*entries, **WORDS),
        recalled=RecalledContext(Stimulus(message)),
        history=conversation(*before),
        policies=Policies(lore=rules or LoreRules()),
        **inputs,
    )


def told(made: Composition) -> list[str]:
    return [turn.text for turn in made.request.conversation_history]


def traced(made: Composition) -> dict[str, LoreTrace]:
    return {one.block: one for one in made.trace.lore}


def test_an_entry_is_told_before_the_message_that_brought_it_up_and_stays_there() -> None:
    glade = entry("glade", "The glade is old.")
    first = asked("What of the glade?", glade)
    assert told(first) == ["[Background]\nThe glade is old."]
    later = asked("And now?", glade, before=["What of the glade?", "It is green."])
    assert told(later) == [
        "[Background]\nThe glade is old.",
        "What of the glade?",
        "It is green.",
    ]
    (trace,) = later.trace.lore
    assert (trace.told, trace.reason, trace.place) == (True, "'glade' was said", "turn 1")


def test_a_library_without_entries_tells_what_it_told_before() -> None:
    made = asked("glade", DESK.block("rules"))
    assert made.trace.lore == ()
    assert told(made) == []


@given(st.lists(st.sampled_from(["inn", "glade", "ash", "nothing", "the Inn"]), max_size=8))
def test_each_prompt_begins_with_all_that_the_one_before_told(messages: list[str]) -> None:
    book = (
        entry("inn", "The inn is shut. Ash fell on it."),
        entry("glade", "It is {{random:green,silver}}.", probability=60),
        entry("ash", "Ash is grey.", "ash", "cinders"),
    )
    before: list[str] = []
    last: list[str] = []
    for message in messages:
        made = told(asked(message, *book, before=before))
        assert made[: len(last)] == last
        last = [*made, message]
        before += [message, "Yes."]
        last.append("Yes.")


def test_keys_are_words_and_their_case_counts_only_where_that_is_wanted() -> None:
    book = (entry("cat", "a"), entry("Dog", "b", case_sensitive=True), entry("狐", "c"))
    assert traced(asked("The category of a dog", *book)) == {}
    found = traced(asked("CAT, Dog; 白狐", *book))
    assert list(found) == ["Dog", "cat", "狐"]
    assert traced(asked("concatenate", entry("cat", "a", whole_words=False)))["cat"].told


@pytest.mark.parametrize(
    ("logic", "brought"),
    [("any", "01"), ("all", "1"), ("none", "2"), ("not_all", "02")],
)
def test_secondary_keys_decide_with_the_others(logic: Any, brought: str) -> None:  # noqa: ANN401
    one = entry("inn", "x", "inn", secondary=("night", "rain"), logic=logic)
    said = ["the inn at night", "inn, night, rain", "the inn", "rain at night"]
    found = "".join(str(n) for n, text in enumerate(said) if traced(asked(text, one)))
    assert found == brought


def test_only_the_last_messages_are_looked_at() -> None:
    before = ["the inn", "x", "y", "z"]
    none = asked("w", entry("inn", "x", scan_depth=1), before=["x", "the inn", "y", "z"])
    assert none.trace.lore == ()
    assert traced(asked("w", entry("inn", "x"), before=before))["inn"].place == "turn 1"


def test_chance_is_drawn_from_what_was_said_and_recorded() -> None:
    one = entry("inn", "It is {{roll:d20}}.", probability=50)
    made = [traced(asked(f"inn {n}", one))["inn"] for n in range(20)]
    assert made == [traced(asked(f"inn {n}", one))["inn"] for n in range(20)]
    assert {trace.told for trace in made} == {True, False}
    for trace in made:
        assert trace.told == (trace.chance < 50)
        assert trace.told == bool(trace.draws)
        assert trace.told or f"chance drew {trace.chance}" in trace.reason


def test_entries_wake_others_up_to_a_bound_and_only_where_both_allow_it() -> None:
    chain = [entry(f"k{n}", f"of k{n + 1}") for n in range(6)]
    assert list(traced(asked("k0", *chain))) == ["k0", "k1", "k2", "k3"]
    rules = LoreRules(rounds=0)
    assert list(traced(asked("k0", *chain, rules=rules))) == ["k0"]
    quiet = (entry("a", "b", wakes=False), entry("b", "x"))
    assert list(traced(asked("a", *quiet))) == ["a"]
    deaf = (entry("a", "b"), entry("b", "x", woken=False))
    assert list(traced(asked("a", *deaf))) == ["a"]
    circle = (entry("a", "b"), entry("b", "a"))
    assert list(traced(asked("a", *circle))) == ["a", "b"]


def test_the_budget_is_for_the_most_important_and_the_others_say_so() -> None:
    book = (entry("a", "x" * 40), entry("b", "y" * 40, priority=5), entry("c", "z" * 40))
    found = traced(asked("a b c", *book, rules=LoreRules(tokens=20)))
    assert [name for name, one in found.items() if one.told] == ["a", "b"]
    assert found["c"].reason == "'c' was said; no room left in the budget"
    own = [replace(one, keywords=replace(one.keywords, budget=10)) for one in book if one.keywords]
    found = traced(asked("a b c", *own))
    assert [name for name, one in found.items() if one.told] == ["b"]


def test_delay_sticky_and_cooldown_count_messages_where_entries_move() -> None:
    moving = LoreRules("depth")
    late = entry("inn", "x", delay=3)
    assert not traced(asked("inn", late, rules=moving))["inn"].told
    assert traced(asked("inn", late, before=["a", "b", "c", "d"], rules=moving))["inn"].told
    stays = entry("inn", "x", sticky=5, scan_depth=1)
    held = traced(asked("w", stays, before=["inn", "y"], rules=moving))["inn"]
    assert held.reason == "it stays a while (sticky)"
    assert not traced(asked("w", stays, before=["inn", *"abcde"], rules=moving))
    rests = entry("inn", "x", cooldown=3, scan_depth=1)
    assert "rests" in traced(asked("inn", rests, before=["inn", "y"], rules=moving))["inn"].reason
    assert traced(asked("inn", rests, before=["inn", "a", "b", "c"], rules=moving))["inn"].told


def test_entries_that_move_stand_so_many_messages_from_the_end_with_their_price() -> None:
    one = entry("inn", "The inn is shut.", depth=3)
    made = asked(
        "inn", one, before=["a" * 40, "b" * 40, "c" * 40, "d" * 40], rules=LoreRules("depth")
    )
    assert told(made)[2] == "[Background]\nThe inn is shut."
    assert traced(made)["inn"].reread == 10 + 10 + 4


def test_what_has_no_room_with_the_conversation_is_left_out_with_it() -> None:
    one = entry("inn", "The inn is shut. " * 10)
    before = ["the inn " + "x" * 300, "y" * 300, "z" * 300, "w" * 300]
    made = asked("And?", one, before=before, context_tokens=600)
    assert made.trace.tokens["total"].tokens <= 600 - 256
    assert not [text for text in told(made) if "inn is shut" in text]
    again = asked("the inn?", one, before=before, context_tokens=600)
    assert told(again)[-1].startswith("[Background]\nThe inn is shut.")
    assert traced(again)["inn"].place == "this message"


def test_an_entry_is_told_as_far_as_it_is_trusted_and_its_macros_are_plain() -> None:
    wild = replace(entry("inn", "[Background]\n{{user}} meets <BOT>."), trust=Trust.UNTRUSTED)
    (turn,) = asked("inn", wild, secret=b"s" * 32).request.conversation_history
    assert turn.lineage is Trust.UNTRUSTED
    assert "Robin meets Bo." in turn.text
    assert f"<{FENCE} " in turn.text


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"enabled": False}, "switched off"), ({"personas": ("eve",)}, "only for persona eve")],
)
def test_other_conditions_hold_for_entries_too(fields: dict[str, Any], reason: str) -> None:
    trace = traced(asked("inn", entry("inn", "x", **fields)))["inn"]
    assert not trace.told
    assert reason in trace.reason


def test_beats_are_told_no_lore() -> None:
    assert asked("inn", entry("inn", "x"), mode="beat").trace.lore == ()
