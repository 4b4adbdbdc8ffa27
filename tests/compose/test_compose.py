from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.block import Variant
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trace import Degradation, UnresolvedPlaceholder

from .conftest import NOON, Desk


def system(desk: Desk, *texts: str, **inputs: object) -> str:
    blocks = [desk.block(f"b{n}", text, order=n) for n, text in enumerate(texts)]
    composed = desk.compose(desk.library(*blocks), **inputs)
    return join_spans(composed.request.system_instruction)


def test_blocks_are_parted_by_one_blank_line(desk: Desk) -> None:
    assert system(desk, "a\n", "\n\nb", "  ", "c") == "a\n\nb\n\nc"


def test_the_request_carries_the_stimulus_the_person_and_the_mode(desk: Desk) -> None:
    request = desk.compose(desk.library(), mode="beat").request
    assert request.current_text == "Hello"
    assert request.mode == "beat"
    assert request.runtime_ctx.username == ""
    assert desk.compose(desk.library()).request.runtime_ctx.username == "Robin"
    assert request.runtime_ctx.timestamp == ""
    assert request.system_instruction == ()


def test_the_lasting_part_is_the_same_at_any_time(desk: Desk) -> None:
    library = desk.library(desk.block("a", "{{name}}"), desk.block("b", "{{clock}}", order=1))
    first = desk.compose(library)
    later = desk.compose(library, now=NOON + timedelta(minutes=1))
    assert later.request.system_instruction is first.request.system_instruction
    assert join_spans(first.request.runtime_ctx.spans) == "12:00"
    assert join_spans(later.request.runtime_ctx.spans) == "12:01"
    again = desk.compose(library)
    assert again == first


def test_a_variable_of_one_call_leaves_no_mark_on_the_next(desk: Desk) -> None:
    library = desk.library(
        desk.block("a", "{{name}}{{extra}}"), desk.block("b", requires_any=("note",), order=20)
    )
    plain = desk.compose(library)
    given = desk.compose(library, runtime_vars={"name": "Al", "note": "x", "extra": "!"})
    assert join_spans(given.request.system_instruction) == "[b]"
    assert join_spans(given.request.runtime_ctx.spans) == "Al!"
    assert desk.compose(library) == plain
    assert join_spans(plain.request.system_instruction) == "Bo{{extra}}"


def test_two_libraries_of_the_same_revision_are_not_confused(desk: Desk) -> None:
    assert system(desk, "one") == "one"
    assert system(desk, "two") == "two"


def test_two_personas_of_the_same_id_are_not_confused(desk: Desk) -> None:
    library = desk.library(desk.block("a", "{{name}}"))
    for name in ("Al", "Cy"):
        composed = desk.compose(library, persona=replace(desk.persona, name=name))
        assert join_spans(composed.request.system_instruction) == name


@pytest.mark.parametrize(
    ("variant", "language", "told"),
    [
        ("default", "english", "d"),
        ("default", "german", "dg"),
        ("default", "German ", "dg"),
        ("compact", "german", "cg"),
        ("compact", "english", "c"),
        ("experimental", "german", "dg"),
        ("experimental", "english", "d"),
        ("compact", "french", "c"),
    ],
)
def test_wordings_are_looked_up_by_variant_then_language(
    desk: Desk, variant: str, language: str, told: str
) -> None:
    names = {"default": "d", "default@german": "dg", "compact": "c", "compact@german": "cg"}
    variants = {name: Variant(text) for name, text in names.items()}
    library = desk.library(desk.block("b", variants=variants))
    composed = desk.speaking(language).compose(library, variant=variant)
    assert join_spans(composed.request.system_instruction) == told
    assert names[composed.trace.blocks[0].variant] == told


def test_an_empty_wording_blanks_the_block_and_says_so(desk: Desk) -> None:
    variants = {"default": Variant("d"), "compact": Variant("")}
    composed = desk.compose(desk.library(desk.block("b", variants=variants)), variant="compact")
    assert composed.request.system_instruction == ()
    assert composed.trace.blocks[0].reason == "left out on purpose in variant compact"


def test_a_block_that_fills_to_nothing_stays_out(desk: Desk) -> None:
    library = desk.library(desk.block("b", " {{note}}\n"))
    trace = desk.compose(library, runtime_vars={"note": " "}).trace
    assert (trace.blocks[0].included, trace.blocks[0].reason) == (False, "empty once filled")


def test_one_block_of_a_group_is_told(desk: Desk) -> None:
    library = desk.library(
        desk.block("off", order=1, group="g", priority=9, enabled=False),
        desk.block("first", order=2, group="g"),
        desk.block("second", order=3, group="g"),
        desk.block("alone", order=4, group="h"),
        desk.block("free", order=5),
    )
    composed = desk.compose(library)
    assert join_spans(composed.request.system_instruction) == "[first]\n\n[alone]\n\n[free]"
    reasons = {one.block: one.reason for one in composed.trace.blocks if not one.included}
    assert reasons == {"off": "switched off", "second": "group g is told by first"}


def test_priority_decides_in_a_group_before_order_does(desk: Desk) -> None:
    library = desk.library(
        desk.block("a", order=1, group="g"), desk.block("b", order=2, group="g", priority=1)
    )
    assert join_spans(desk.compose(library).request.system_instruction) == "[b]"


def test_keys_without_a_value_are_listed(desk: Desk) -> None:
    library = desk.library(
        desk.block("b", "{{note}} {{x}}"), desk.block("o", "{{y}}", enabled=False)
    )
    assert desk.compose(library).trace.unresolved == (
        UnresolvedPlaceholder("b", "note", "keep"),
        UnresolvedPlaceholder("b", "x", "keep"),
    )


def test_steps_down_are_passed_on(desk: Desk) -> None:
    step = Degradation("embedder", "none")
    recalled = RecalledContext(Stimulus("Hello"), degraded=(step,), embedding_calls=1)
    trace = desk.compose(desk.library(), recalled=recalled).trace
    assert trace.degraded == (step,)
    assert trace.embedding_calls == 1


def test_memories_are_told_where_their_stability_puts_them(desk: Desk) -> None:
    lasting = Span("Bo likes tea", stability=Stability.SESSION)
    words = {"summary_memories": ("Known",)}
    library = desk.library(desk.block("b", "{{clock}}"), english=words)
    recalled = RecalledContext(Stimulus("Hello"), memories=(lasting,))
    request = desk.compose(library, recalled=recalled).request
    assert join_spans(request.context_summary) == "[Known]\n- Bo likes tea"
    recalled = replace(recalled, memories=(replace(lasting, stability=Stability.TURN),))
    request = desk.compose(library, recalled=recalled).request
    assert request.context_summary == ()
    assert join_spans(request.runtime_ctx.spans) == "12:00\n\n[Known]\n- Bo likes tea"


def test_a_variant_no_block_knows_is_told_of(desk: Desk) -> None:
    library = desk.library(desk.block("b"))
    assert desk.compose(library, variant="compct").trace.degraded == (
        Degradation("variant", "no block has a variant 'compct'; default was told"),
    )


def test_inputs_are_left_as_they_were(desk: Desk) -> None:
    library = desk.library(desk.block("b", "{{note}} {{name}}"))
    variables = {"note": ["a", ["b"]]}
    before = copy.deepcopy((library, variables))
    desk.compose(library, runtime_vars=variables)
    assert (library, variables) == before


TEXTS = st.lists(
    st.lists(
        st.sampled_from(
            ["{{name}}", "{{clock}}", "{{note}}", "{{mood}}", "{{no}}", "\n\n", "a", "{"]
        ),
        max_size=6,
    ).map("".join),
    max_size=6,
)


@given(TEXTS, st.text(max_size=8))
def test_composing_is_deterministic_and_its_trace_complete(texts: list[str], note: str) -> None:
    desk = Desk()
    blocks = [desk.block(f"b{n}", text, order=n) for n, text in enumerate(texts)]
    library = desk.library(*blocks)
    variables = {"note": note}
    first = desk.compose(library, runtime_vars=variables)
    fresh = desk.compose(copy.deepcopy(library), runtime_vars=variables)
    assert first == fresh
    assert [one.block for one in first.trace.blocks] == [block.id for block in library.blocks]
    assert all(one.reason for one in first.trace.blocks)
    told = {one.block for one in first.trace.blocks if one.included}
    spans = (*first.request.system_instruction, *first.request.runtime_ctx.spans)
    assert {span.block for span in spans if span.block} == told
    assert all(span.text for span in spans)


@given(st.dictionaries(st.sampled_from(["note", "mood", "name", "x"]), st.text(max_size=6)))
def test_what_was_remembered_never_differs_from_what_is_worked_out(
    variables: dict[str, str],
) -> None:
    desk = REMEMBERING
    library = REMEMBERED
    remembered = desk.compose(library, runtime_vars=variables)
    fresh = desk.compose(copy.deepcopy(library), runtime_vars=variables)
    assert remembered == fresh


REMEMBERING = Desk()
REMEMBERED = REMEMBERING.library(
    REMEMBERING.block("a", "{{name}} {{note}} {{x}}", order=1, group="g"),
    REMEMBERING.block("b", "{{mood}}", order=2, requires_any=("mood",), group="g", priority=1),
    REMEMBERING.block("c", "{{name}}", order=3, requires_none=("x",)),
    REMEMBERING.block("d", "{{clock}}", order=0),
)


def test_the_trace_names_library_variant_and_language(desk: Desk) -> None:
    trace = desk.speaking("German").compose(desk.library(), variant="default").trace
    assert (trace.library, trace.variant, trace.language) == ("test", "default", "german")
    assert json.dumps({name: count.tokens for name, count in trace.tokens.items()})
