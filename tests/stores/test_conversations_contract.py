"""What every `ConversationStore` does."""

from __future__ import annotations

import pytest

from mentis.errors import StoreError
from mentis.ports.conversation_store import ConversationStore
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
