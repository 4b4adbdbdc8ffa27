"""The builders, rule by rule, on small libraries made for each rule."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.builders import Builder
from mentis.compose.built import PlanStep
from mentis.compose.computed import SHIPPED, ComputedPlaceholder, Facts
from mentis.compose.purposes import Policies
from mentis.errors import ComposeError
from mentis.values.block import Block, Message, Variant
from mentis.values.given import GivenText
from mentis.values.library import Library
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace, Degradation, TokenCount, UnresolvedPlaceholder
from mentis.values.trust import Trust

from .conftest import NOON, Desk

DESK = Desk()


def builder(*blocks: Block, **options: Any) -> Builder:  # noqa: ANN401  # passed on
    return over(DESK.library(*blocks), **options)


def over(library: Library, **options: Any) -> Builder:  # noqa: ANN401  # passed on
    return Builder(library, DESK.persona, DESK.profile, NOON, DESK.counter, **options)


def block(name: str, text: str | None = None, **fields: Any) -> Block:  # noqa: ANN401  # as the value has them
    return DESK.block(name, text, **fields)


def prefill(name: str, text: str | None = None, **fields: Any) -> Block:  # noqa: ANN401  # as the value has them
    return block(name, text, **{"target": "prefill", "position": "prefill", **fields})


def message(name: str, position: str, **fields: Any) -> Block:  # noqa: ANN401  # as the value has them
    return block(name, **{"target": "message", "position": position, **fields})


def dialogue(name: str, *lines: str, **fields: Any) -> Block:  # noqa: ANN401  # as the value has them
    said = tuple(
        Message("assistant" if number % 2 else "user", line) for number, line in enumerate(lines)
    )
    given: dict[str, Any] = {
        "type": "multi_turn",
        "category": "dialog_injection",
        "target": "message",
        "position": "consent_dialog",
        "variants": {"default": Variant(messages=said)},
    }
    return block(name, **{**given, **fields})


def reasons(skipped: tuple[BlockTrace, ...]) -> dict[str, str]:
    return {trace.block: trace.reason for trace in skipped}


# The system prompt


def test_the_system_prompt_goes_by_order_with_a_blank_line_between() -> None:
    built = builder(
        block("c", "C", order=3),
        block("a", "A {{clock}}", order=1),
        block("b", "B", order=2, position="user_message"),
        block("end", "END", order=0, position="system_prompt_append"),
        prefill("p", order=0),
    ).build_system_prompt()
    assert built.text == "A 12:00\n\nB\n\nC"
    assert [trace.block for trace in built.told] == ["a", "b", "c"]
    assert built.skipped == ()


@pytest.mark.parametrize("category", ["summary", "spec_autofill", "cortex"])
def test_some_categories_are_told_only_by_name(category: Any) -> None:  # noqa: ANN401  # one of them
    made = builder(block("own", category=category), block("other", category="persona"))
    built = made.build_system_prompt()
    assert built.text == "[other]"
    assert reasons(built.skipped) == {"own": f"category {category} is told only when asked for"}
    named = made.build_system_prompt(category_filter=category)
    assert named.text == "[own]"
    assert reasons(named.skipped) == {"other": f"category persona, asked for is {category}"}


def test_what_is_appended_comes_apart_whatever_its_category() -> None:
    built = builder(
        block("s"),
        block("b", order=2, position="system_prompt_append", category="afterthought"),
        block("a", order=1, position="system_prompt_append", category="summary"),
    ).get_system_prompt_append()
    assert built.text == "[a]\n\n[b]"


# Conditions hold in every builder


PLACES: dict[str, dict[str, Any]] = {
    "build_system_prompt": {},
    "get_system_prompt_append": {"position": "system_prompt_append"},
    "build_prefill": {"target": "prefill", "position": "prefill"},
    "get_first_assistant_content": {"target": "message", "position": "first_assistant"},
}


@pytest.mark.parametrize("method", PLACES)
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"enabled": False}, "switched off"),
        ({"modes": ("beat",)}, "only for mode beat, this is chat"),
        ({"variant_condition": "v"}, "only for variant v, this is default"),
        ({"requires_any": ("note", "mood")}, "needs note or mood; nothing given"),
        ({"requires_all": ("name", "note")}, "needs note; not given"),
        ({"requires_none": ("name",)}, "gives way to name"),
        ({"type": "multi_turn"}, "holds messages, not text"),
        ({"variants": {"default": Variant(" ")}}, "left out on purpose in variant default"),
        ({"variants": {"default": Variant("{{blank}}")}}, "empty once filled"),
    ],
)
def test_each_condition_keeps_a_block_out_of_each_builder(
    method: str, fields: dict[str, Any], reason: str
) -> None:
    made = builder(block("b", **{**PLACES[method], **fields}))
    built = getattr(made, method)("default", {"blank": " \n"})
    assert (built.text, built.spans, built.told) == ("", (), ())
    assert reasons(built.skipped) == {"b": reason}


@pytest.mark.parametrize("method", PLACES)
def test_runtime_values_fill_and_admit_in_each_builder(method: str) -> None:
    made = builder(block("b", "<{{note}}>", requires_any=("note",), **PLACES[method]))
    assert getattr(made, method)("default", {"note": 5}).text == "<5>"
    assert getattr(made, method)("default", {"note": " "}).text == ""
    assert getattr(made, method)("default").text == ""


@pytest.mark.parametrize("value", [0, 1.5, True, ["a"], ("a", 1), {"a": 1}, GivenText("x")])
def test_values_that_are_not_text_never_crash(value: object) -> None:
    made = builder(block("b", "<{{note}}>", requires_any=("note",), requires_none=("mood",)))
    assert made.build_system_prompt("default", {"note": value, "mood": None}).text.startswith("<")


def test_static_and_computed_keys_meet_a_requirement_too() -> None:
    made = builder(block("a", requires_any=("name",)), block("b", requires_all=("clock",)))
    assert made.build_system_prompt().text == "[a]\n\n[b]"


def test_one_block_of_a_group_is_told() -> None:
    built = builder(
        block("a", order=1, group="g"), block("b", order=2, group="g", priority=1)
    ).build_system_prompt()
    assert built.text == "[b]"
    assert reasons(built.skipped) == {"a": "group g is told by b"}


def test_the_mode_of_the_builder_decides() -> None:
    blocks = (block("b", modes=("beat",)), block("c", modes=("chat",)))
    assert builder(*blocks, mode="beat").build_system_prompt().text == "[b]"


# Prefill, first answer, messages


def test_a_prefill_leaves_out_summary_and_autofill_but_not_cortex() -> None:
    made = builder(
        prefill("a", category="summary"),
        prefill("b", category="spec_autofill"),
        prefill("c", category="cortex"),
        prefill("d", "{{note}}!"),
    )
    assert made.build_prefill("default", {"note": "hm"}).text == "[c]\n\nhm!"
    assert made.build_prefill(category_filter="summary").text == "[a]"


def test_the_first_answer_is_made_of_message_blocks_in_that_place() -> None:
    made = builder(message("a", "first_assistant"), message("b", "user_message"), block("c"))
    assert made.get_first_assistant_content().text == "[a]"


def test_the_sequence_is_an_order_of_places() -> None:
    plan = builder(
        prefill("end", order=300),
        message("past", "history", order=200, variants={"default": Variant("")}),
        message("open", "first_assistant", order=100),
        message("think", "history", order=1, category="afterthought"),
        message("tool", "history", order=2, category="utility"),
        message("sum", "history", order=3, category="summary"),
        prefill("sum_end", order=4, category="summary"),
        message("other", "history", order=5, variant_condition="v"),
        message("off", "history", order=6, enabled=False),
        message("user", "user_message", order=7),
        block("system", order=8),
    ).get_chat_message_sequence()
    assert plan.steps == (
        PlanStep("open", "first_assistant", 100),
        PlanStep("past", "history", 200),
        PlanStep("end", "prefill", 300),
    )
    assert set(reasons(plan.skipped)) == {"think", "tool", "sum", "sum_end", "other", "off"}
    assert reasons(plan.skipped)["other"] == "only for variant v, this is default"


def test_injected_dialogue_has_a_step_so_that_it_is_not_lost() -> None:
    plan = builder(message("past", "history", order=200), dialogue("d", "Hi", order=150))
    steps = plan.get_chat_message_sequence().steps
    assert steps == (PlanStep("d", "consent_dialog", 150), PlanStep("past", "history", 200))


def test_injected_dialogue_is_filled_message_by_message() -> None:
    made = builder(
        dialogue("b", "I am {{name}}", "{{nope}}", order=2),
        dialogue("a", "{{note}}", order=1),
        dialogue("off", "x", enabled=False),
        dialogue("other", "x", variant_condition="v"),
        dialogue("text", type="text", variants={"default": Variant("x")}),
    )
    found = made.get_dialog_injections("default", {"note": "{{name}}"})
    assert [(one.role, one.text) for one in found.messages] == [
        ("user", "{{name}}"),
        ("user", "I am Bo"),
        ("assistant", "{{nope}}"),
    ]
    assert found.messages[1].spans == (
        Span("I am ", "b", "", "shipped"),
        Span("Bo", "b", "name", "persona"),
    )
    assert found.unresolved == (UnresolvedPlaceholder("b", "nope", "keep"),)
    assert set(reasons(found.skipped)) == {"off", "other", "text"}
    assert made.get_consent_dialog() is not None
    assert builder(block("a")).get_consent_dialog() is None


# One block by its id


def test_resolving_a_prompt_ignores_its_conditions_and_reports_them() -> None:
    made = builder(
        block("b", "I am {{name}}", enabled=False),
        block("c", "x", requires_any=("note",), category="summary"),
        block("d", "x"),
    )
    assert made.resolve_prompt("nope") is None
    found = made.resolve_prompt_by_id("b")
    assert found.text == "I am Bo"
    assert reasons(found.skipped) == {"b": "switched off"}
    assert reasons(made.resolve_prompt_by_id("c").skipped) == {"c": "needs note; nothing given"}
    assert made.resolve_prompt_by_id("d").skipped == ()
    with pytest.raises(ComposeError, match="there is no block 'bb'") as caught:
        made.resolve_prompt_by_id("bb")
    assert caught.value.hint == "did you mean 'b'?"


def test_a_block_of_messages_has_no_text_but_messages() -> None:
    made = builder(dialogue("d", "I am {{name}}", enabled=False), block("t"))
    assert made.resolve_prompt_by_id("d").text == ""
    (one,) = made.resolve_messages("d").messages
    assert one.text == "I am Bo"
    assert reasons(made.resolve_messages("d").skipped) == {"d": "switched off"}
    assert made.resolve_messages("t").messages == ()


def test_afterthoughts_are_built_by_their_ids() -> None:
    made = builder(
        message("afterthought_inner_dialogue", "user_message", category="afterthought"),
        block("afterthought_followup", "{{inner_dialogue}} after {{elapsed_time}}"),
    )
    assert made.build_afterthought_inner_dialogue().text == "[afterthought_inner_dialogue]"
    given = {"inner_dialogue": "Hm", "elapsed_time": "an hour"}
    assert made.build_afterthought_followup("default", given).text == "Hm after an hour"
    missing = builder().build_afterthought_followup()
    assert reasons(missing.skipped) == {"afterthought_followup": "there is no such block"}
    off = builder(block("afterthought_followup", enabled=False)).build_afterthought_followup()
    assert (off.text, reasons(off.skipped)) == ("", {"afterthought_followup": "switched off"})


def test_autofill_prompts_take_the_input() -> None:
    made = builder(block("spec_autofill_knowledge", "About {{input}}", category="spec_autofill"))
    assert made.build_spec_autofill_prompt("knowledge", "ships").text == "About ships"
    with pytest.raises(ComposeError) as caught:
        made.build_spec_autofill_prompt("knowlege", "ships")  # pyright: ignore[reportArgumentType]  # a slip
    assert caught.value.hint == "did you mean 'spec_autofill_knowledge'?"


def test_a_summary_has_an_instruction_a_message_and_a_beginning() -> None:
    library = DESK.library(
        block("sys", "At most {{max_words}} words.", category="summary"),
        prefill("pre", "So far:", category="summary"),
        block(
            "summary_user_prompt",
            "{{chat_text}} in {{max_words}}",
            target="message",
            position="user_message",
            category="summary",
        ),
    )
    limit = DESK.placeholder("max_words", default=300)
    library = Library("test", library.blocks, {**library.placeholders, "max_words": limit}, {})
    summary = over(library).build_summary("Hi.")
    assert summary.system.text == "At most 300 words."
    assert summary.user.text == "Hi. in 300"
    assert summary.prefill.text == "So far:"
    assert over(library).build_summary("Hi.", 20).user.text == "Hi. in 20"


# Policies and functions


def test_a_key_without_a_value_follows_the_policy_of_its_target() -> None:
    blocks = (block("s", "a {{x}}"), prefill("p", "b {{y}} {{y}}"))
    kept = builder(*blocks)
    assert kept.build_system_prompt().text == "a {{x}}"
    assert kept.build_system_prompt().unresolved == (UnresolvedPlaceholder("s", "x", "keep"),)
    policies = Policies(system_prompt="error", prefill="empty")
    strict = builder(*blocks, policies=policies)
    assert strict.build_prefill().text == "b"
    assert strict.build_prefill().unresolved == (UnresolvedPlaceholder("p", "y", "empty"),)
    with pytest.raises(ComposeError, match=r"block 's': nothing gives \{\{x\}\} a value"):
        strict.build_system_prompt()
    assert strict.build_system_prompt("default", {"x": "1"}).text == "a 1"


def test_compose_follows_the_policies_too() -> None:
    library = DESK.library(block("s", "a {{x}}"))
    composed = DESK.compose(library, policies=Policies(system_prompt="empty"))
    assert join_spans(composed.request.system_instruction) == "a"
    assert composed.trace.unresolved == (UnresolvedPlaceholder("s", "x", "empty"),)
    with pytest.raises(ComposeError):
        DESK.compose(library, policies=Policies(system_prompt="error"))


def moon(facts: Facts) -> object:
    if facts.now.month == 1:
        raise LookupError("no moon in January")
    return "full"


def test_a_function_that_fails_is_reported_and_its_default_told() -> None:
    library = DESK.library(block("s", "moon: {{moon}}"))
    entry = DESK.placeholder(
        "moon", phase="computed", source="computed", compute_function="moon", default="?"
    )
    library = Library("test", library.blocks, {"moon": entry}, {})
    computed = {**SHIPPED, "moon": ComputedPlaceholder(moon)}
    built = over(library, computed=computed).build_system_prompt()
    reason = "moon failed (LookupError: no moon in January); the default was told"
    assert built.text == "moon: ?"
    assert built.degraded == (Degradation("placeholder moon", reason),)
    assert built.spans[-1].reason == reason
    composed = DESK.compose(library, computed=computed)
    assert composed.trace.degraded == built.degraded


# What comes back


def test_spans_say_block_placeholder_source_trust_and_stability() -> None:
    own = GivenText("calm", "soul.md", Trust.SELF, Stability.SESSION)
    built = builder(block("b", "I am {{name}}, {{mood}}")).build_system_prompt(
        "default", {"mood": own}
    )
    assert built.spans == (
        Span("I am ", "b", "", "shipped"),
        Span("Bo", "b", "name", "persona"),
        Span(", ", "b", "", "shipped"),
        Span("calm", "b", "mood", "soul.md", Trust.SELF, Stability.SESSION),
    )


def test_tokens_are_counted_per_block_when_asked_for() -> None:
    made = builder(block("a", "12345678"), block("b", "1234{{name}}"))
    assert made.tokens(made.build_system_prompt()) == {"a": TokenCount(2), "b": TokenCount(1)}
    blind = Builder(made.library, DESK.persona, DESK.profile, NOON)
    with pytest.raises(ComposeError, match="no counter"):
        blind.tokens(blind.build_system_prompt())


PIECES = st.sampled_from(
    ["{{name}}", "{{clock}}", "{{note}}", "{{mood}}", "{{no}}", "\n\n", "\n", " ", "a", "{", "B"]
)
TEXTS = st.lists(st.lists(PIECES, max_size=7).map("".join), min_size=1, max_size=5)
VALUE = st.one_of(
    st.text(alphabet="xy \n{}", max_size=6), st.integers(), st.none(), st.lists(st.text(max_size=2))
)
CALLS = st.lists(
    st.dictionaries(st.sampled_from(["note", "mood", "name", "clock", "x"]), VALUE), max_size=6
)


@given(TEXTS, CALLS, st.data())
def test_what_a_builder_remembers_never_shows(
    texts: list[str], calls: list[dict[str, Any]], data: st.DataObject
) -> None:
    keys = st.sampled_from(["note", "mood", "name", "x"])
    conditions = st.fixed_dictionaries(
        {},
        optional={
            "requires_any": st.tuples(keys, keys),
            "requires_none": st.tuples(keys),
            "group": st.just("g"),
            "priority": st.integers(0, 1),
        },
    )
    blocks = [
        block(f"b{number}", text, order=number, **data.draw(conditions))
        for number, text in enumerate(texts)
    ]
    library = DESK.library(*blocks)
    seasoned = over(library)
    for variables in calls:
        before = copy.deepcopy(variables)
        built = seasoned.build_system_prompt("default", variables)
        assert variables == before
        fresh = over(copy.deepcopy(library)).build_system_prompt("default", variables)
        assert built == fresh
        assert join_spans(built.spans) == built.text
        assert all(span.text for span in built.spans)
        assert {trace.block for trace in (*built.told, *built.skipped)} == {
            each.id for each in blocks
        }


@given(st.text(max_size=20), st.text(max_size=20), st.text(alphabet="a\n ", max_size=9))
def test_one_pass_fills_and_never_looks_into_values(before: str, after: str, value: str) -> None:
    made = builder(block("b", f"<{before}>{{{{note}}}}<{after}>"))
    told = value + "{{name}}"
    found = made.build_system_prompt("default", {"note": told}).text
    assert "{{name}}" in found
    again = made.build_system_prompt("default", {"note": told + "!"}).text
    assert again.count("!") - found.count("!") == 1


def test_the_same_values_give_the_same_object_and_others_reuse_its_spans() -> None:
    made = builder(block("a", "x {{note}} y {{mood}} z"), block("b", "B", order=20))
    first = made.build_system_prompt("default", {"note": "1", "mood": "2"})
    assert made.build_system_prompt("default", {"note": "1", "mood": "2"}) is first
    second = made.build_system_prompt("default", {"note": "3", "mood": "2"})
    assert second.text == "x 3 y 2 z\n\nB"
    assert [one is two for one, two in zip(first.spans, second.spans, strict=True)] == [
        True,
        False,
        True,
        True,
        True,
        True,
        True,
    ]
    assert type(second.spans[1]) is Span
    assert second.spans[1] == Span("3", "a", "note", "runtime", Trust.RUNTIME, Stability.STABLE)


def test_a_list_the_caller_changes_later_is_seen() -> None:
    made = builder(block("a", "x {{note}}"))
    names = ["a"]
    assert made.build_system_prompt("default", {"note": names}).text == "x a"
    names.append("b")
    assert made.build_system_prompt("default", {"note": names}).text == "x a, b"


def test_the_clock_is_told_anew_by_each_builder() -> None:
    library = DESK.library(block("a", "at {{clock}} sharp"))
    for minute in range(3):
        made = Builder(library, DESK.persona, DESK.profile, NOON.replace(minute=minute))
        assert made.build_system_prompt().text == f"at 12:0{minute} sharp"


def test_no_runtime_variables_are_none_at_all_and_what_is_no_mapping_is_refused() -> None:
    nothing: Any = None
    wrong: Any = ["input"]
    made = builder(block("a", "It is {{elapsed_time}}."))
    assert made.build_system_prompt("default", nothing).text == "It is {{elapsed_time}}."
    assert made.resolve_prompt_by_id("a", "default", nothing).text == "It is {{elapsed_time}}."
    with pytest.raises(ComposeError, match="must be values by their keys, not list"):
        made.build_system_prompt("default", wrong)
