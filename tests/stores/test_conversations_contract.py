"""What every `ConversationStore` does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mentis.errors import StoreError
from mentis.ports.conversation_store import ConversationStore
from mentis.values.ending import Ending
from mentis.values.part import MediaPart, ProviderState, TextPart, ToolCallPart, ToolResultPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn


def said(text: str) -> Turn:
    return Turn("user", (TextPart(text),))


def test_turns_come_back_in_order_with_all_their_parts(conversations: ConversationStore) -> None:
    state = ProviderState("openai", "m", {"id": "x"})
    rich = Turn(
        "assistant",
        (
            TextPart("Größe 😀", state=state),
            ToolCallPart("c1", "look", {"at": ["sky"]}),
            ToolResultPart("c1", "look", "blue", failed=True),
            MediaPart("image", "image/png", data=b"\x00\xff"),
        ),
        lineage=Trust.UNTRUSTED,
        state="interrupted",
    )
    assert [conversations.add("ada", "s", turn) for turn in (said("hi"), rich)] == [0, 1]
    assert conversations.turns("ada", "s") == (said("hi"), rich)


def test_a_newer_state_takes_the_place_of_a_turn(conversations: ConversationStore) -> None:
    conversations.add("ada", "s", said("one"))
    number = conversations.add("ada", "s", said("two"))
    conversations.replace("ada", "s", number, said("better"))
    assert [turn.text for turn in conversations.turns("ada", "s")] == ["one", "better"]


def test_what_a_turn_came_to_is_carried_over_once_however_often_it_is_tried(
    conversations: ConversationStore,
) -> None:
    picture = MediaPart("image", "image/png", data=b"\x00\xff")
    asked = Turn("user", (picture, TextPart("Who?")), Trust.UNTRUSTED, "pending", replaces=0)
    for turn in (said("one"), asked, said("others")):
        conversations.add("ada", "s", turn)
    conversations.add("ada", "t", said("elsewhere"))
    answer = Turn("assistant", (TextPart("Me."), picture))
    ending = Ending("s/1/x", 1, "complete", (answer, said("so")))
    assert not conversations.carried("ada", "s", ending)
    for _ in range(2):
        conversations.carry("ada", "s", ending)
        assert conversations.carried("ada", "s", ending)
    ended = replace(asked, state="complete")
    turns = (said("one"), ended, said("others"), answer, said("so"))
    assert conversations.turns("ada", "s") == turns
    # Also where it was changed since, as by an erasure; and under another name it is another one.
    for number in (1, 3, 4):
        conversations.replace("ada", "s", number, Turn("user", ()))
    conversations.carry("ada", "s", ending)
    conversations.carry("ada", "s", Ending("s/5/y", 5, turns=(said("so"),)))
    assert [turn.text for turn in conversations.turns("ada", "s")] == [
        *("one", "", "others", "", "", "so")
    ]
    assert conversations.turns("ada", "t") == (said("elsewhere"),)


def test_what_a_turn_came_to_is_kept_also_where_its_message_is_gone(
    conversations: ConversationStore,
) -> None:
    conversations.carry("ada", "s", Ending("s/7/x", 7, "complete", (said("so"),)))
    conversations.carry("ada", "s", Ending("s/9/x", 9, "failed"))
    assert conversations.turns("ada", "s") == (said("so"),)


@pytest.mark.parametrize(("session", "number"), [("s", 1), ("s", -1), ("other", 0)])
def test_a_turn_that_is_not_there_cannot_be_replaced(
    conversations: ConversationStore, session: str, number: int
) -> None:
    conversations.add("ada", "s", said("one"))
    with pytest.raises(StoreError, match=f"`{session}` of `ada` has no turn {number}"):
        conversations.replace("ada", session, number, said("x"))


def test_sessions_are_listed_oldest_first(conversations: ConversationStore) -> None:
    for session in ("b", "a", "b", "c"):
        conversations.add("ada", session, said(session))
    assert conversations.sessions("ada") == ("b", "a", "c")


def test_agents_do_not_see_each_other(conversations: ConversationStore) -> None:
    conversations.add("ada", "s", said("mine"))
    assert conversations.turns("bob", "s") == ()
    assert conversations.sessions("bob") == ()


def test_attachments_come_back_also_after_a_newer_state(conversations: ConversationStore) -> None:
    photo = MediaPart("image", "image/png", data=b"\x89PNG" * 9, name="a.png")
    first = Turn("user", (photo, TextPart("look"), photo), state="pending")
    number = conversations.add("ada", "s", first)
    conversations.replace("ada", "s", number, Turn("user", (photo, TextPart("look"))))
    conversations.add("ada", "s", first)
    assert conversations.turns("ada", "s") == (Turn("user", (photo, TextPart("look"))), first)


def test_an_unchanged_turn_is_the_same_object_when_it_is_read_again(
    conversations: ConversationStore,
) -> None:
    picture = Turn("user", (TextPart("see"), MediaPart("image", "image/png", data=b"\x00\xff")))
    for turn in (said("one"), picture, said("two")):
        conversations.add("ada", "s", turn)
    before = conversations.turns("ada", "s")
    conversations.replace("ada", "s", 0, said("better"))
    conversations.add("ada", "s", said("three"))
    after = conversations.turns("ada", "s")
    assert (after[1] is before[1], after[2] is before[2]) == (True, True)
    assert (before[0].text, after[0].text) == ("one", "better")


def test_other_bytes_under_the_same_words_are_another_turn(
    conversations: ConversationStore,
) -> None:
    def shown(data: bytes) -> Turn:
        return Turn("user", (TextPart("see"), MediaPart("image", "image/png", data=data)))

    conversations.add("ada", "s", shown(b"\x00"))
    assert conversations.turns("ada", "s") == (shown(b"\x00"),)
    conversations.replace("ada", "s", 0, shown(b"\x01"))
    assert conversations.turns("ada", "s") == (shown(b"\x01"),)
