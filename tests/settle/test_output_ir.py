"""The answer of the primary: three sections are found whatever stands in them, the rest is told."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.settle.output_ir import SECTIONS, refusal, scan_output_ir, write_output_ir
from mentis.values.tick import OutputIr, Section, Violation

EMPTY = "<acts>[]</acts><goal-tree-patch>[]</goal-tree-patch><l1-memory-patch>[]</l1-memory-patch>"
TAGS = [f"<{sign}{name}>" for name in (*SECTIONS, "output-ir", "x") for sign in ("", "/")]
BODIES = st.dictionaries(
    st.sampled_from(SECTIONS),
    st.lists(st.text() | st.sampled_from(TAGS) | st.dictionaries(st.text(), st.text()), max_size=4),
)


def root(inside: str) -> str:
    return f"<output-ir>{inside}</output-ir>"


def codes(ir: OutputIr) -> list[str]:
    return [one.code for one in ir.violations]


@settings(max_examples=60)
@given(BODIES)
def test_what_is_written_is_read_again(bodies: dict[Section, object]) -> None:
    ir = scan_output_ir(write_output_ir(bodies))
    assert ir.violations == ()
    for name in SECTIONS:
        assert json.loads(ir.body(name) or "") == bodies.get(name, [])


@settings(max_examples=60)
@given(BODIES, st.permutations(SECTIONS))
def test_a_body_that_is_json_ends_where_the_json_ends_whatever_tags_stand_in_it(
    bodies: dict[Section, list[object]], order: list[Section]
) -> None:
    texts = {name: json.dumps(bodies.get(name, []), ensure_ascii=False) for name in SECTIONS}
    ir = scan_output_ir(root("".join(f"<{n}> {texts[n]}\n</{n}>" for n in order)))
    assert ir == OutputIr(texts["acts"], texts["goal-tree-patch"], texts["l1-memory-patch"])


@settings(max_examples=100)
@given(st.lists(st.text(max_size=8) | st.sampled_from([*TAGS, "[", "]", '"', "{}"]), max_size=25))
def test_any_answer_at_all_is_read_without_a_failure_and_twice_alike(pieces: list[str]) -> None:
    text = "".join(pieces)
    ir = scan_output_ir(text)
    assert ir == scan_output_ir(text)
    if not ir.violations:
        assert None not in (ir.acts, ir.goal_tree_patch, ir.l1_memory_patch)
        assert text.strip().startswith("<output-ir>")
        assert text.strip().endswith("</output-ir>")


@pytest.mark.parametrize("order", list(permutations(SECTIONS)))
def test_the_sections_stand_in_any_order(order: tuple[Section, ...]) -> None:
    ir = scan_output_ir(root("\n".join(f"<{name}>{name}</{name}>" for name in order)))
    assert ir == OutputIr("acts", "goal-tree-patch", "l1-memory-patch")


@pytest.mark.parametrize(
    "body",
    [
        "mention the </acts> tag",
        "say <acts> twice: <acts>",
        "open <goal-tree-patch> but do not close it",
        "</output-ir> is how it ends",
        "<b>bold</b> & <output-ir>",
        "half <acts",
    ],
)
def test_a_name_of_a_tag_in_plain_words_is_only_words(body: str) -> None:
    inside = f"<acts>{body}</acts><goal-tree-patch/><l1-memory-patch></l1-memory-patch>"
    assert scan_output_ir(root(inside)) == OutputIr(body, "", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I think.", [("no-root", "I think.")]),
        (f"Well: {root(EMPTY)}", [("text-outside", "Well:")]),
        (f"{root(EMPTY)} Done.", [("text-outside", "Done.")]),
        (f"<output-ir>{EMPTY}", [("unclosed-root", "")]),
        (root(f"so {EMPTY}"), [("text-between", "so")]),
        (root(f"<notes>x</notes>{EMPTY}"), [("unknown-section", "<notes>")]),
        (root(f"{EMPTY}<context/>"), [("unknown-section", "<context/>")]),
        (root(f'<acts id="1">[]</acts>{EMPTY}'), [("unknown-section", '<acts id="1">')]),
        (
            root(f"{EMPTY}<acts>[1]</acts>"),
            [("repeated-section", "acts: the first one counts")],
        ),
        (
            root("<acts>[]</acts>"),
            [("missing-section", "goal-tree-patch"), ("missing-section", "l1-memory-patch")],
        ),
        (
            f"Such as {root('…')}: {root(EMPTY)}",
            [
                ("more-roots", "the last one counts"),
                ("text-outside", "Such as <output-ir>…</output-ir>:"),
            ],
        ),
    ],
)
def test_what_breaks_the_contract_is_told_and_the_sections_still_count(
    text: str, expected: list[tuple[str, str]]
) -> None:
    ir = scan_output_ir(text)
    assert ir.violations == tuple(Violation(*one) for one in expected)
    assert ir.acts == (None if expected[0][0] == "no-root" else "[]")
    assert bool(refusal(ir, strict=False)) == (expected[0][0] == "no-root")
    assert refusal(ir, strict=True)


def test_what_can_be_read_in_two_ways_comes_to_nothing() -> None:
    quoted = 'say "</acts><goal-tree-patch>more</goal-tree-patch>"'
    inside = f"<acts>{quoted}</acts><goal-tree-patch>none</goal-tree-patch><l1-memory-patch/>"
    ir = scan_output_ir(root(inside))
    assert (ir.acts, codes(ir)) == (None, ["ambiguous"])
    assert refusal(ir, strict=False) == "ambiguous: it can be read in more than one way"


@pytest.mark.parametrize("other", [EMPTY, "<acts>[1]</acts>", "so <acts>[1]</acts>"])
def test_a_complete_root_beside_another_comes_to_nothing(other: str) -> None:
    for text in (f"Mail: {root(other)} {root(EMPTY)}", f"I say {root(EMPTY)} to {root(other)}"):
        ir = scan_output_ir(text)
        assert (ir.acts, codes(ir)) == (None, ["ambiguous"])
    inside = json.dumps([root(other), root(EMPTY)])
    assert scan_output_ir(root(f"<acts>{inside}</acts>")).acts == inside


def test_evidence_holds_no_control_characters() -> None:
    (told,) = scan_output_ir("a\x1b[2J\nb").violations
    assert told.detail == "a\\x1b[2J b"


def test_an_answer_that_is_cut_off_keeps_what_was_complete() -> None:
    ir = scan_output_ir('<output-ir><acts>[{"a": 1}]</acts><goal-tree-patch>[{"op"')
    assert (ir.acts, ir.goal_tree_patch) == ('[{"a": 1}]', None)
    assert codes(ir)[:2] == ["unclosed-root", "unclosed-section"]


@pytest.mark.parametrize(
    "piece", ["<output-ir>", "<acts>", "</acts>", "<acts>x</acts>", "<output-ir><a>", "<acts>[1"]
)
def test_a_flood_of_tags_is_told_in_short(piece: str) -> None:
    assert len(scan_output_ir(f"<output-ir>{piece * 5000}").violations) < 100
