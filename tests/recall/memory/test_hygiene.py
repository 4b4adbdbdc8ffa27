from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.recall.memory.hygiene import inspect
from mentis.recall.memory.secrets_found import secrets_in
from mentis.values.cognition import Memory

LONG = (
    "Lena told me on Monday that the cello lessons move to the music school behind the old"
    " station because the heating in the church is broken"
)


def found(*memories: Memory) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.flaw, one.memories) for one in inspect(memories)]


def test_clean_memories_have_no_findings() -> None:
    assert found(Memory("a", LONG), Memory("b", "Tea at five.")) == []


def test_the_same_words_twice_are_a_duplicate_and_the_oldest_is_kept() -> None:
    old = Memory("b", "Tea at five!", kind="fact", time="2026-01-01")
    new = Memory("a", "tea, at FIVE", time="2026-02-01")
    gone = Memory("c", "tea at five", superseded_by="b")
    assert found(new, old, gone) == [("duplicate", ("b", "a"))]
    assert inspect([new, old])[0].advice == "keep b: mentis memory supersede a --by b"


def test_memories_that_supersede_each_other_are_named_though_nothing_finds_them() -> None:
    circle = [Memory(one, one * 9, superseded_by=by) for one, by in ("aq", "pa", "qp", "xp", "yz")]
    assert found(*circle, Memory("s", "tea at five", superseded_by="s")) == [
        ("circle", ("a", "q", "p")),
        ("circle", ("s",)),
    ]
    assert inspect(circle)[0].advice == "mentis memory supersede a TEXT"


@pytest.mark.parametrize("text", ["…!?", "ok", "la " * 30, "x" * 300, "a b " * 10])
def test_junk_is_named(text: str) -> None:
    assert found(Memory("a", text)) == [("junk", ("a",))]


def test_a_memory_that_quotes_memories_is_a_loop() -> None:
    short = Memory("b", "the bicycle is in the cellar", time="2026-01-01")
    first = Memory("a", LONG, time="2026-01-01")
    recap = Memory("z", f"I recalled: {LONG}. And: {short.text}.", time="2026-02-01")
    assert found(recap, first, short) == [("quote", ("z", "b", "a"))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nabc", "a private key"),
        ("use AKIA" + "ABCDEFGHIJKLMNOP", "an AWS access key"),
        ("ghp_" + "a1" * 18, "a GitHub token"),
        ("sk-proj-" + "x9" * 12, "a provider's API key"),
        ("xoxb-" + "123456789012", "a chat service's token"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "a signed token"),
        ("postgresql://ada:hunter2@db/x", "a password in an address"),
        ("My password is hunter2hunter", "a password"),
        ("Das Passwort: geheim123", "a password"),
        ("card 4111 1111 1111 1111", "a card number"),
    ],
)
def test_secrets_are_named_and_never_repeated(text: str, what: str) -> None:
    assert what in secrets_in(text)
    (finding, *_) = inspect([Memory("a", text)])
    assert finding.flaw == "secret"
    assert text not in finding.reason


@pytest.mark.parametrize(
    "text",
    [
        "the password is kept in the safe",
        "call 0000 0000 0000 0000",
        "the token ring network of 1985",
        "order 1234 5678 9012 3456",
        "see https://example.org/a:b@c",
        "a secret is a secret",
    ],
)
def test_talk_about_secrets_is_none(text: str) -> None:
    assert secrets_in(text) == ()


@pytest.mark.parametrize(
    "part", ["a.", "a-", "password=", "eyJ-", "eyJabcdefgh-", "token='", "x://u:", "passwd is "]
)
def test_a_hostile_text_is_searched_in_no_time_however_long_it_is(part: str) -> None:
    text = part * (400_000 // len(part))
    assert secrets_in(text) == ()
    assert secrets_in(f"{text} then xoxb-123456789012") == ("a chat service's token",)


def test_a_signed_token_is_found_behind_what_begins_like_one() -> None:
    signed = "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"
    assert secrets_in(f"eyJ-{signed}") == secrets_in(f"x-{signed}") == ("a signed token",)
    assert secrets_in(f"x{signed}") == ()


@given(st.lists(st.text(max_size=60), max_size=8))
def test_findings_do_not_hang_on_the_order(texts: list[str]) -> None:
    kept = [Memory(f"m{number}", text) for number, text in enumerate(texts)]
    assert inspect(kept) == inspect(kept[::-1])
