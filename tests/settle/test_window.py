"""A window that opens an answer is withheld from it, wherever the pieces are cut."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mentis.settle.claims import claims
from mentis.settle.readers import reader_for
from mentis.settle.window import MOST_HELD, WindowHoldback, split_window
from mentis.values.action import Action, Outcome, OutcomeState
from mentis.values.part import TextPart
from mentis.values.reply import TextDelta

FIELDS = {"goal": "Say hello {kindly}", "actions": ['Greet "Lena"'], "confidence": 0.8, "risk": []}
WINDOW = {**FIELDS, "schema_version": "3.0"}
TEXT = json.dumps(WINDOW)
PRETTY = json.dumps(WINDOW, indent=2)

LEADS = st.sampled_from(
    ["", "\n", "  \n", "```json\n", "```\n", "``` json \r\n", "\ufeff", "`", "``"]
)
OBJECTS = st.sampled_from(
    [TEXT, PRETTY, PRETTY[:-3], TEXT[:40], '{"a": 1}', "{", "", TEXT[:-1] + ",}"]
)
ENDS = st.sampled_from(["", "\n```\n\n", "\n```", "\n``", "```oops", "\n\n", "\r\n```\r\n"])
WORDS = st.sampled_from(
    ["", "Hello!", "{not json}", "```py\nx\n```", " ```json\n" + TEXT + "\n```"]
)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


TEXTS = st.builds("".join, st.tuples(LEADS, OBJECTS, ENDS, WORDS))


@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=12))
@example(f"```json\n{TEXT}\n```\n\nHello!", list(range(400)))
def test_what_is_told_does_not_depend_on_where_the_pieces_are_cut(
    text: str, cuts: list[int]
) -> None:
    opening = WindowHoldback()
    told = "".join(opening.feed(piece) for piece in pieces(text, cuts)) + opening.rest()
    split = split_window(text)
    assert (opening.withheld, told) == (split.withheld, split.text)
    assert text.endswith(told), "nothing is made up"
    assert split.withheld or told == text, "without a window all of it is told"


@pytest.mark.parametrize("opened", [TEXT, f"```json\n{PRETTY}\n```", f"\n\n```\n{TEXT}\n```"])
def test_only_the_answer_is_told(opened: str) -> None:
    split = split_window(f"{opened}\n\nHello, Lena!")
    assert split.text == "Hello, Lena!"
    assert json.loads(split.withheld.strip().strip("`").removeprefix("json")) == WINDOW


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        'Look: {"goal": "x", "actions": [], "confidence": 1}',
        '{"temperature": 20, "city": "Bonn"}',
        json.dumps(FIELDS),
        TEXT[:-1] + "\n\nThe answer: 42.",
        TEXT[:-1] + ",}\nHello",
        TEXT[:-1] + '\n\nThe answer: {"a": 1}}',
        '```json\n{"a": 1}\n```\nThat is it.',
        '{"goal": "' + "x" * MOST_HELD + '", "actions": [], "confidence": 1} after',
    ],
)
def test_what_is_no_window_at_the_beginning_stays_as_it_is(text: str) -> None:
    assert split_window(text).text == text


def test_of_an_answer_that_somebody_broke_off_in_its_window_nothing_is_told() -> None:
    split = split_window(TEXT[:-1], broken=True)
    assert (split.withheld, split.text) == (TEXT[:-1], "")
    assert split_window('{"a": 1', broken=True).text == '{"a": 1'


def test_a_window_may_say_by_its_wrapping_that_it_is_one() -> None:
    assert split_window(json.dumps({"status_window": FIELDS}) + "\nHello").text == "Hello"


def test_a_reader_gives_text_parts_and_calls_without_the_window() -> None:
    opening = WindowHoldback()
    reader = reader_for("text", tools=(), calls="text", opening=opening)
    told = [
        delta for piece in pieces(f"{TEXT}\nHello", [7, 20, 60]) for delta in reader.feed(piece)
    ]
    told += reader.rest()
    reply = reader.finish()
    assert "".join(delta.text for delta in told if isinstance(delta, TextDelta)) == "Hello"
    assert (reply.text, reply.parts) == ("Hello", (TextPart("Hello"),))
    assert opening.whole == f"{TEXT}\nHello"


def done(name: str, state: OutcomeState = "done") -> Outcome:
    return Outcome(Action(name, {}), state)


@pytest.mark.parametrize(
    ("said", "outcomes", "verdict", "act"),
    [
        ("Send the mail to Lena", [done("send_mail")], "match", "send_mail"),
        ("Send the mail to Lena", [], "unsupported", "send_mail"),
        ("call send_mail", [done("send_mail", "refused")], "unsupported", "send_mail"),
        ("call send_mail", [done("send_mail", "waiting")], "unverifiable", "send_mail"),
        ("Mail is what I send to nobody", [], "unverifiable", ""),
        ("Remember to be kind", [], "unverifiable", ""),
        ("Remember to be kind", [done("remember")], "match", "remember"),
        ("Use `remember`", [], "unsupported", "remember"),
        ("Think about it", [done("send_mail")], "unverifiable", ""),
        ("I did not use send_mail", [done("send_mail")], "unverifiable", ""),
        ("I didn't use send_mail", [], "unverifiable", ""),
        ("Ich habe send_mail nicht benutzt", [done("send_mail")], "unverifiable", ""),
        ("send_mail to Lena, no attachments", [], "unsupported", "send_mail"),
        ("send_mail to Lena. I do not wait", [], "unsupported", "send_mail"),
        ("Without send_mail, pay_bill or the like", [], "unverifiable", ""),
        ("send_mail was skipped", [], "unverifiable", ""),
        ("no_reply", [], "unsupported", "no_reply"),
        ("send_mail and pay_bill", [done("send_mail")], "unsupported", "send_mail"),
        ("send_mail and pay_bill", [done("send_mail"), done("pay_bill")], "match", "send_mail"),
        ("pay_bill", [done("pay_bill"), done("bill")], "match", "pay_bill"),
    ],
)
def test_a_claim_is_held_against_what_was_done(
    said: str, outcomes: list[Outcome], verdict: str, act: str
) -> None:
    known = ("send_mail", "remember", "mail", "pay_bill", "no_reply")
    found = claims({"actions": [said]}, outcomes, known=known)
    assert (found.verdict, found.claims[0].act) == (verdict, act)


def test_every_act_that_a_text_names_is_a_claim_and_a_denied_one_stays_unclaimed() -> None:
    window = {"actions": ["send_mail and pay_bill", "I did not use note"]}
    found = claims(window, [done("send_mail"), done("note")], known=("pay_bill",))
    made = [(one.act, one.verdict) for one in found.claims]
    assert made == [("send_mail", "match"), ("pay_bill", "unsupported"), ("", "unverifiable")]
    assert found.unclaimed == ("note",)
    window_of_one = {"actions": ["pay_bill instead of send_mail"]}
    instead = claims(window_of_one, [done("pay_bill")], known=("send_mail",))
    assert {one.act: one.verdict for one in instead.claims} == {
        "": "unverifiable",
        "pay_bill": "match",
    }
    waiting = claims(window, [done("send_mail"), done("pay_bill", "waiting")])
    assert waiting.verdict == "unverifiable"


def test_one_claim_that_nothing_supports_decides_and_acts_nobody_announced_are_named() -> None:
    window = {"actions": ["read_list", "send_mail", "Be kind", 7]}
    found = claims(window, [done("read_list"), done("note")], known=("send_mail",))
    assert [one.verdict for one in found.claims] == ["match", "unsupported", "unverifiable"]
    assert (found.verdict, found.unclaimed) == ("unsupported", ("note",))
    assert claims({"actions": "none"}, []).verdict == "unverifiable"
