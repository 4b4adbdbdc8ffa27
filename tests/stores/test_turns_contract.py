"""What every store of the record does with turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mentis.errors import BadInput, StoreConflict, StoreError
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Draft
from mentis.values.mark import Mark
from mentis.values.part import MediaPart, ProviderState, TextPart, ToolCallPart, ToolResultPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn, TurnOrigin
from mentis.values.turn_writes import TurnWrites, emptied

NOTE = Draft("note", "test", {"n": 1})
PICTURE = MediaPart("image", "image/png", data=b"\x00\xff")


def said(text: str) -> Turn:
    return Turn("user", (TextPart(text),))


def texts(ledger: LedgerStore, session: str = "s") -> list[str]:
    return [turn.text for turn in ledger.turns("ada", session)]


def test_turns_come_back_in_order_with_all_their_parts(ledger: LedgerStore) -> None:
    state = ProviderState("openai", "m", {"id": "x"})
    rich = Turn(
        "assistant",
        (
            TextPart("Größe 😀 \x00", state=state),
            ToolCallPart("c1", "look", {"at": ["sky"]}),
            ToolResultPart("c1", "look", "blue", failed=True),
            PICTURE,
        ),
        lineage=Trust.UNTRUSTED,
        state="interrupted",
    )
    assert [ledger.add_turn("ada", "s", turn) for turn in (said("hi"), rich)] == [0, 1]
    assert ledger.turns("ada", "s") == (said("hi"), rich)


def test_an_entry_ends_its_message_and_brings_what_follows_it(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    asked = Turn("user", (PICTURE, TextPart("Who?")), Trust.UNTRUSTED, "pending", replaces=0)
    for turn in (said("one"), asked, said("others")):
        ledger.add_turn("ada", "s", turn)
    ledger.add_turn("ada", "t", said("elsewhere"))
    answer = Turn("assistant", (TextPart("Me."), PICTURE))
    writes = TurnWrites("s", 1, "complete", (answer, said("so")))
    ledger.append("ada", [NOTE], stamp, turns=writes)
    ended = replace(asked, state="complete")
    turns = (said("one"), ended, said("others"), answer, said("so"))
    assert ledger.turns("ada", "s") == turns
    assert ledger.turns("ada", "t") == (said("elsewhere"),)


def test_a_delivery_that_is_known_brings_no_turn_a_second_time(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    draft = Draft("note", "test", {"n": 1}, delivery="once")
    for _ in range(2):
        ledger.append("ada", [draft], stamp, turns=TurnWrites("s", turns=(said("so"),)))
    assert (texts(ledger), ledger.count("ada")) == (["so"], 1)


def test_what_follows_a_message_is_kept_also_where_the_message_is_gone(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    ledger.append("ada", [NOTE], stamp, turns=TurnWrites("s", 7, "complete", (said("so"),)))
    ledger.append("ada", [NOTE], stamp, turns=TurnWrites("s", 9, "failed"))
    assert ledger.turns("ada", "s") == (said("so"),)


def test_a_tombstone_empties_turns_and_nothing_else(ledger: LedgerStore, stamp: Stamp) -> None:
    shown = Turn("user", (PICTURE, TextPart("see")), state="failed", replaces=0, author="Eve")
    for turn in (said("one"), shown, shown):
        ledger.add_turn("ada", "s", turn)
    ledger.append("ada", [NOTE], stamp)
    writes = TurnWrites("s", emptied=(0, 1))
    ledger.erase("ada", 0, ["n"], draft=NOTE, stamp=stamp, turns=writes)
    assert ledger.turns("ada", "s") == (emptied(said("one")), emptied(shown), shown)
    ledger.append("ada", [NOTE], stamp, turns=TurnWrites("s", emptied=(2,)))
    assert ledger.turns("ada", "s")[2] == Turn("user", (), state="failed", replaces=0)


@pytest.mark.parametrize(
    ("fault", "written"),
    [
        (StoreError, (TurnWrites("s", 0, "failed", emptied=(1,)), Mark("open", "k", {}))),
        (BadInput, (TurnWrites("s", turns=(said("\ud800"),)), Mark("open", "k", {}))),
        (
            StoreConflict,
            (
                TurnWrites("s", 0, "failed", (said("so"),)),
                Mark("open", "k", replaces="something"),
            ),
        ),
    ],
)
def test_entry_marks_and_turns_are_all_written_or_none(
    ledger: LedgerStore, stamp: Stamp, fault: type[Exception], written: tuple[TurnWrites, Mark]
) -> None:
    turns, mark = written
    ledger.append("ada", [NOTE], stamp)
    ledger.add_turn("ada", "s", said("one"))
    with pytest.raises(fault):
        ledger.append("ada", [NOTE], stamp, marks=[mark], turns=turns)
    with pytest.raises(fault):
        ledger.erase("ada", 0, ["n"], draft=NOTE, stamp=stamp, marks=[mark], turns=turns)
    assert ledger.turns("ada", "s") == (said("one"),)
    assert (ledger.count("ada"), ledger.marks("ada", "open")) == (1, ())
    (entry,) = ledger.entries("ada")
    assert entry.body == {"n": 1}


def test_the_last_turns_come_with_their_numbers_and_without_bytes(ledger: LedgerStore) -> None:
    for number in range(5):
        ledger.add_turn(
            "ada", "s", replace(said(f"{number}"), parts=(TextPart(f"{number}"), PICTURE))
        )
    last = ledger.last_turns("ada", "s", 2)
    assert [(number, turn.text) for number, turn in last] == [(3, "3"), (4, "4")]
    assert last[0][1].parts[1] == replace(PICTURE, data=None)
    assert len(ledger.last_turns("ada", "s", 9)) == 5
    assert [number for number, _ in ledger.last_turns("ada", "s", 2, before=3)] == [1, 2]
    assert ledger.last_turns("ada", "s", 2, before=0) == ()
    assert ledger.last_turns("ada", "s", 0) == ledger.last_turns("ada", "other", 3) == ()


def test_the_newest_title_of_a_session_is_found_until_it_is_erased(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    assert ledger.title("ada", "s") == ""
    call = ToolCallPart("c", "paint", {"kind": "title"})
    for turn in (said("one"), replace(said("First"), kind="title"), Turn("assistant", (call,))):
        ledger.add_turn("ada", "s", turn)
    assert ledger.title("ada", "s") == "First"
    number = ledger.add_turn("ada", "s", replace(said("Second"), kind="title"))
    assert (ledger.title("ada", "s"), ledger.title("ada", "other")) == ("Second", "")
    ledger.append("ada", [NOTE], stamp, turns=TurnWrites("s", emptied=(number,)))
    assert ledger.title("ada", "s") == "First"


def test_sessions_are_listed_oldest_first(ledger: LedgerStore) -> None:
    for session in ("b", "a", "b", "c"):
        ledger.add_turn("ada", session, said(session))
    assert ledger.sessions("ada") == ("b", "a", "c")


def test_agents_do_not_see_each_other(ledger: LedgerStore) -> None:
    ledger.add_turn("ada", "s", said("mine"))
    assert ledger.turns("bob", "s") == ()
    assert ledger.sessions("bob") == ()


def test_a_snapshot_has_the_turns_of_its_moment(ledger: LedgerStore) -> None:
    ledger.add_turn("ada", "s", said("one"))
    with ledger.snapshot() as still:
        ledger.add_turn("ada", "s", said("two"))
        assert [turn.text for turn in still.turns("ada", "s")] == ["one"]
    assert texts(ledger) == ["one", "two"]


def test_an_unchanged_turn_is_the_same_object_when_it_is_read_again(
    ledger: LedgerStore, stamp: Stamp
) -> None:
    picture = Turn("user", (TextPart("see"), PICTURE))
    for turn in (said("one"), picture, said("two")):
        ledger.add_turn("ada", "s", turn)
    before = ledger.turns("ada", "s")
    ledger.append("ada", [NOTE], stamp, turns=TurnWrites("s", emptied=(0,), turns=(said("more"),)))
    after = ledger.turns("ada", "s")
    assert (after[1] is before[1], after[2] is before[2]) == (True, True)
    assert (before[0].text, after[0].text) == ("one", "")


def test_other_bytes_under_the_same_words_are_another_turn(ledger: LedgerStore) -> None:
    def shown(data: bytes) -> Turn:
        return Turn("user", (TextPart("see"), MediaPart("image", "image/png", data=data)))

    for data in (b"\x00", b"\x01"):
        ledger.add_turn("ada", "s", shown(data))
    assert ledger.turns("ada", "s") == (shown(b"\x00"), shown(b"\x01"))


def test_the_last_turning_points_come_with_their_numbers(ledger: LedgerStore) -> None:
    for number in range(100):
        ledger.add_turn("ada", "s", said(f"{number}"))
        ledger.add_turn("ada", "s", replace(said(f"{number} anew"), replaces=2 * number))
    summary = Turn("assistant", (TextPart("So far."),), kind="summary", until=7)
    ledger.add_turn("ada", "s", summary)
    points = ledger.turning_points("ada", "s", 71, before=201)
    assert [number for number, _ in points] == [*range(61, 200, 2), 200]
    assert points[0] == (61, replace(said("30 anew"), replaces=60))
    assert points[-1] == (200, summary)
    assert ledger.turning_points("ada", "s", 1000, before=4) == (
        (1, replace(said("0 anew"), replaces=0)),
        (3, replace(said("1 anew"), replaces=2)),
    )
    assert ledger.turning_points("ada", "s", 0, before=4) == ()


def test_what_was_imported_is_noted_as_what_it_is(ledger: LedgerStore) -> None:
    origin = TurnOrigin(1, 'Lena", "origin', "June 2, 2024 3:04pm")
    plain = replace(said("a"), origin=origin)
    kept = [plain, replace(plain, author="Max"), replace(plain, replaces=0)]
    kept += [replace(plain, kind="hidden"), replace(plain, kind="undo", replaces=1)]
    for turn in kept:
        ledger.add_turn("ada", "s", turn)
    assert ledger.turns("ada", "s") == tuple(kept)
    assert [n for n, _ in ledger.turning_points("ada", "s", 9, before=9)] == [2, 4]


def test_a_stretch_of_a_conversation_is_what_stands_between_its_ends(ledger: LedgerStore) -> None:
    for number in range(9):
        ledger.add_turn("ada", "s", said(f"{number}"))
    for since, before in ((0, 9), (0, 3), (2, 7), (2, 9), (2, 4), (8, 9), (9, None), (0, None)):
        stretch = ledger.turns("ada", "s", since=since, before=before)
        assert stretch == tuple(said(f"{number}") for number in range(9))[since:before]
