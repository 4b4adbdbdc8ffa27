"""What a client's next turn is in a conversation that was kept here."""

from __future__ import annotations

import pytest

from mentis.errors import BadInput
from mentis.surfaces.serve.reconcile import TurnPlan, plan_turn
from mentis.values.part import TextPart, ToolCallPart, ToolResultPart
from mentis.values.turn import Role, Turn


def said(role: Role, text: str, **more: object) -> Turn:
    return Turn(role, (TextPart(text),), **more)  # pyright: ignore[reportArgumentType]


def talk(*texts: str) -> list[Turn]:
    roles: tuple[Role, Role] = ("user", "assistant")
    return [said(roles[n % 2], text) for n, text in enumerate(texts)]


def plan(asked: list[Turn], kept: list[Turn], *, named: bool = False) -> TurnPlan:
    return plan_turn(asked, kept, named=named)


def text(made: TurnPlan) -> str:
    return "".join(part.text for part in made.message if isinstance(part, TextPart))


CALL = Turn("assistant", (ToolCallPart("c", "Read", {}),))
RESULT = Turn("user", (ToolResultPart("c", "Read", "hello"),))
KEPT = talk("hi", "Hello.", "how are you?", "Fine.")


def test_the_same_conversation_and_a_message_goes_on() -> None:
    made = plan(talk("hi", "Hello.", "how are you?", "Fine.", "good"), KEPT)
    assert (text(made), made.replaces, made.adopted, made.shared) == ("good", None, (), 4)


def test_spaces_do_not_count() -> None:
    made = plan(talk(" hi", "Hello. \n", "how are you?", "Fine.", "good"), KEPT)
    assert (made.replaces, made.adopted) == (None, ())


def test_another_message_in_the_place_of_one_is_an_edit() -> None:
    made = plan(talk("hi", "Hello.", "who are you?"), KEPT)
    assert (text(made), made.replaces, made.adopted) == ("who are you?", 2, ())


def test_the_last_message_again_is_a_regeneration() -> None:
    assert plan(talk("hi", "Hello.", "how are you?"), KEPT).replaces == 2


def test_a_changed_answer_is_adopted_in_the_place_of_ours() -> None:
    made = plan(talk("hi", "Hello.", "how are you?", "Awful.", "why?"), KEPT)
    assert [(turn.text, turn.replaces) for turn in made.adopted] == [("Awful.", 3)]
    assert (text(made), made.replaces) == ("why?", None)


def test_what_was_never_said_here_is_adopted_whole() -> None:
    made = plan(talk("pears?", "Yes.", "quinces?"), [])
    assert [turn.text for turn in made.adopted] == ["pears?", "Yes."]
    assert (text(made), made.shared) == ("quinces?", 0)


def test_an_answer_of_which_the_reader_missed_the_end_is_ours_all_the_same() -> None:
    longer = talk("hi", "Hello, and how was your day?")
    assert plan(talk("hi", "Hello, and", "fine"), longer).adopted == ()
    broken = [said("user", "hi"), said("assistant", "Hel", state="interrupted")]
    assert plan(talk("hi", "Hello", "go on"), broken).adopted == ()


def test_messages_that_failed_or_were_replaced_do_not_count() -> None:
    kept = [said("user", "oops", state="failed"), *talk("hi", "Hello.")]
    assert plan(talk("hi", "Hello.", "good"), kept).adopted == ()
    edited = [*talk("hi", "Hello."), said("user", "ho", replaces=0), said("assistant", "Yes?")]
    assert plan(talk("ho", "Yes?", "good"), edited).shared == 2
    assert plan(talk("hi", "Hello.", "good"), edited).shared == 0


def test_results_of_calls_that_wait_are_brought() -> None:
    kept = [said("user", "read it"), CALL]
    made = plan([said("user", "read it"), CALL, RESULT], kept)
    assert ([part.text for part in made.results], made.adopted) == (["hello"], ())
    assert made.answers_calls


def test_words_beside_results_are_said_after_them() -> None:
    kept = [said("user", "read it"), CALL]
    both = Turn("user", (*RESULT.parts, TextPart("quickly")))
    made = plan([said("user", "read it"), CALL, both], kept)
    assert (made.adopted, text(made), made.results) == ((RESULT,), "quickly", ())


def test_results_that_were_brought_before_are_told_anew() -> None:
    kept = [said("user", "read it"), CALL, RESULT, said("assistant", "It says hello.")]
    made = plan([said("user", "read it"), CALL, RESULT], kept)
    assert [turn.replaces for turn in made.adopted] == [1]
    assert [part.text for part in made.results] == ["hello"]


def test_calls_that_were_never_made_here_are_adopted_with_their_message() -> None:
    made = plan([said("user", "read it"), CALL, RESULT], [])
    assert [turn.role for turn in made.adopted] == ["user", "assistant"]
    assert len(made.results) == 1


def test_a_named_session_goes_on_with_a_message_alone() -> None:
    made = plan(talk("good"), KEPT, named=True)
    assert (made.replaces, made.adopted) == (None, ())


def test_in_a_named_session_a_view_may_begin_anywhere() -> None:
    made = plan(talk("how are you?", "Fine.", "good"), KEPT, named=True)
    assert (made.replaces, made.adopted) == (None, ())
    edited = plan(talk("hi", "Hello.", "who are you?"), [*talk("a", "b"), *KEPT], named=True)
    assert (edited.replaces, edited.adopted) == (4, ())


def test_in_a_named_session_what_fits_nowhere_goes_to_its_end() -> None:
    made = plan(talk("pears?", "Yes.", "quinces?"), KEPT, named=True)
    assert [(turn.text, turn.replaces) for turn in made.adopted] == [
        ("pears?", None),
        ("Yes.", None),
    ]


def test_the_last_word_has_to_be_the_users() -> None:
    with pytest.raises(BadInput, match="last message"):
        plan(talk("hi", "Well,"), [])
