"""Whole answers: the leading window, its order, what follows it; and drafts read from bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import NotCanonical
from mentis.ledger.guardian.draft import read_draft
from mentis.ledger.guardian.examples import good_state, good_window
from mentis.ledger.guardian.profiles import MENTIS
from mentis.ledger.guardian.response import check_response, find_window

WINDOW = json.dumps(good_window(), ensure_ascii=False)
TRIGGER = '{"mcp_trigger": {"action": "save_to_history", "target": "t", "enabled": true}}'
MEGABYTES = 10_000_000


def broken(text: str) -> list[str]:
    judged = check_response(text, good_state(), MENTIS)
    return [finding.rule for finding in judged.findings]


@pytest.mark.parametrize(
    "answer",
    [
        WINDOW,
        f"{WINDOW}\n\nTwo are missing.",
        f"\n\n  ```json\n{WINDOW}\n```\n\nTwo are missing.",
        f"```\n{json.dumps(good_window(), indent=2)}\n```",
        f'{WINDOW}\nAn object is no window: {{"a": {{"b": "}}"}}}}. Nor is this: {{}}',
        f"{WINDOW}\nTwo are missing.\n{TRIGGER}",
        f"{WINDOW}\nTwo are missing.\n```json\n{TRIGGER}\n```\n",
        json.dumps({"status_window": good_window()}) + "\nTwo.",
    ],
    ids=range(8),
)
def test_a_good_answer_has_no_finding(answer: str) -> None:
    assert broken(answer) == []


@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        ("", ["S2-WIN-PRESENT"]),
        ("Two are missing.", ["S2-WIN-PRESENT"]),
        (WINDOW[:-1], ["S2-WIN-PRESENT"]),
        (f"Well: {WINDOW}", ["S2-WIN-FIRST"]),
        (f"{WINDOW}\n{WINDOW}", ["S2-WIN-PRESENT"]),
        (f"{TRIGGER}\n{WINDOW}", ["S2-WIN-FIRST", "S2-WIN-FIRST", "S2-W-ORDER"]),
        (f"{WINDOW}\n{TRIGGER}\nTwo.", ["S2-W-ORDER"]),
        (f"{WINDOW}\nI'll check the rest tomorrow.", ["S2-W-LATER"]),
        (WINDOW.replace('"confidence": 0.8', '"confidence": NaN'), ["S2-WIN-PRESENT"]),
        (WINDOW.replace('"confidence": 0.8', '"confidence": 8'), ["S2-FIELD-CONF", "S2-X-HICONF"]),
    ],
    ids=range(10),
)
def test_an_answer_out_of_order_is_told_by_its_rule(answer: str, rules: list[str]) -> None:
    assert [rule for rule in broken(answer) if rule != "S2-X-HICONF"] == [
        rule for rule in rules if rule != "S2-X-HICONF"
    ]


def test_the_window_and_what_follows_are_found_with_their_places() -> None:
    text = f"```json\n{WINDOW}\n```\nTwo are missing."
    response, window = find_window(text)
    assert window == good_window()
    assert (response.start, response.fenced, response.before) == (0, True, "")
    assert response.after == "\nTwo are missing."


def test_why_a_window_cannot_be_read_is_said() -> None:
    twice = WINDOW.replace('"goal":', '"goal": "x", "goal":')
    judged = check_response(twice, good_state(), MENTIS)
    assert "goal" in judged.findings[0].what


def test_a_trigger_at_the_end_belongs_to_a_window_without_one() -> None:
    bare = {name: value for name, value in good_window().items() if name != "mcp_trigger"}
    assert "S2-FIELD-TRIGGER" in broken(json.dumps(bare))
    assert broken(f"{json.dumps(bare)}\nTwo.\n{TRIGGER}") == []


@pytest.mark.parametrize(
    ("text", "undecided"),
    [
        ('{"' * (MEGABYTES // 2), True),
        ('{"a":' * (MEGABYTES // 5), True),
        ("{" * MEGABYTES, False),
        (f"{{{' ' * MEGABYTES}", False),
        (WINDOW + "x" * MEGABYTES, False),
    ],
    ids=["openings", "nested", "braces", "blanks", "long"],
)
def test_ten_megabytes_of_anything_are_searched_or_given_up_with_a_reason(
    text: str, undecided: bool
) -> None:
    response, _ = find_window(text)
    assert bool(response.undecided) == undecided
    assert response.windows == (1 if text.startswith(WINDOW) else 0)


@given(st.text(alphabet='{}[]":,\\ \n`ajson01', max_size=200))
def test_any_text_around_a_window_is_survived(noise: str) -> None:
    find_window(noise)
    response, _ = find_window(WINDOW + "\n" + noise)
    assert response.windows == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"confidence": NaN}', "NaN"),
        (b'{"confidence": 1e999}', "too large"),
        (b'{"goal": "a", "goal": "b"}', "goal"),
        (b'{"goal": "\\ud800"}', "surrogate"),
        (b'\xef\xbb\xbf{"goal": "a"}', "byte order mark"),
        (b'{"goal": "\xff"}', "UTF-8"),
        (b'{"n": 9007199254740993}', "2\\^53"),
        (b'{"n": -0.0}', "zero"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "64"),
        (b'{"goal": "' + b"a" * 1024 * 1024 + b'"}', "bytes"),
        (b"[1]", "object"),
        (b"{", ""),
    ],
    ids=range(12),
)
def test_a_draft_with_more_than_one_meaning_is_refused_with_a_reason(
    data: bytes, reason: str
) -> None:
    with pytest.raises(NotCanonical, match=f"(?i){reason}"):
        read_draft(data)


def test_a_draft_is_read_bare_or_wrapped() -> None:
    assert read_draft(WINDOW.encode()) == good_window()
    assert read_draft(json.dumps({"status_window": good_window()}).encode()) == good_window()
