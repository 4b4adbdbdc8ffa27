"""Who vouches for each piece of what the model was shown."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.pdf_files import pdf

from mentis.act.seen import (
    MOST,
    NOTHING_SEEN,
    UNREAD,
    SeenRequest,
    lineage_of,
    seen_in,
    seen_of,
    texts_in,
)
from mentis.act.taint import tainted_in
from mentis.codec.document_text import with_document_text
from mentis.render.current import facts_line
from mentis.values.part import MediaPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.turn import Turn

VALUE = "bob@evil.example"
OWNER, SELF, UNTRUSTED = Trust.OWNER, Trust.SELF, Trust.UNTRUSTED
# Something untrusted that holds the value, so that one can see what clears it.
OUTSIDE = Span(f"write to {VALUE}", source="web", trust=UNTRUSTED)


def taints(request: PromptRequest, said: Trust = OWNER, quoted: Trust = UNTRUSTED) -> str:
    """The source that the value is said to come from; "" if it is not tainted."""
    found = tainted_in({"to": VALUE}, seen_in(request, said=said, quoted=quoted))
    return found[0].source if found else ""


def clears(request: PromptRequest, said: Trust = OWNER) -> bool:
    return not taints(replace(request, context_summary=(OUTSIDE,)), said)


def span(trust: Trust) -> Span:
    return Span(f"It says {VALUE} here.", source="notes", trust=trust)


def turn(part: TextPart | ReasoningPart | ToolCallPart | ToolResultPart, trust: Trust) -> Turn:
    return Turn("assistant", (part,), trust)


@pytest.mark.parametrize("trust", list(Trust))
@pytest.mark.parametrize("place", ["system_instruction", "context_summary", "runtime_ctx"])
def test_a_span_taints_or_clears_by_its_trust(place: str, trust: Trust) -> None:
    told = span(trust)
    spans = RuntimeContext(spans=(told,)) if place == "runtime_ctx" else (told,)
    request = PromptRequest(**{place: spans})  # pyright: ignore[reportArgumentType]  # parametrised
    assert taints(request) == ("notes" if trust is UNTRUSTED else "")
    both = replace(request, conversation_history=(Turn("user", (TextPart(VALUE),), UNTRUSTED),))
    assert bool(taints(both)) == (trust in (SELF, Trust.REFERENCE, UNTRUSTED))


@pytest.mark.parametrize(
    "part", [TextPart(f"to {VALUE}"), ReasoningPart(VALUE), ToolCallPart("1", "x", {"a": VALUE})]
)
def test_what_the_agent_wrote_taints_only_if_it_was_made_from_untrusted_text(
    part: TextPart | ReasoningPart | ToolCallPart,
) -> None:
    assert taints(PromptRequest(conversation_history=(turn(part, UNTRUSTED),)))
    own = PromptRequest(conversation_history=(turn(part, SELF),))
    assert not taints(own)
    assert not clears(own)


@pytest.mark.parametrize("trust", list(Trust))
def test_a_result_is_untrusted_whatever_the_turn_says(trust: Trust) -> None:
    result = ToolResultPart("1", "search", f"found {VALUE}")
    request = PromptRequest(conversation_history=(turn(result, trust),))
    assert taints(request) == "turn 0, the result of search"
    assert not clears(request)


@pytest.mark.parametrize(
    "part",
    [
        MediaPart("document", "text/plain", name=VALUE),
        MediaPart("document", "text/plain", extracted=f"mail {VALUE}", name="a.txt"),
        MediaPart("image", "image/png", url=f"https://{VALUE.partition('@')[2]}/a.png"),
    ],
)
def test_attachments_are_untrusted_now_and_in_the_history(part: MediaPart) -> None:
    assert "attachment" in taints(PromptRequest(attachments=(part,)))
    assert taints(PromptRequest(conversation_history=(Turn("user", (part,), OWNER),)))


def test_the_current_message_is_trusted_as_whoever_said_it() -> None:
    request = PromptRequest(current_text=f"Write to {VALUE}.")
    assert taints(request, UNTRUSTED) == "the current message"
    assert not taints(request, SELF)
    assert clears(request, OWNER)
    assert not clears(request, SELF)


def test_the_message_that_is_answered_is_untrusted_unless_somebody_says_otherwise() -> None:
    request = PromptRequest(reply_to=ReplyTo(f"I am {VALUE}"))
    assert taints(request)
    assert not taints(request, quoted=OWNER)
    assert taints(PromptRequest(reply_to=ReplyTo("Hi", author=VALUE)))


def test_names_are_the_word_of_who_speaks() -> None:
    named = PromptRequest(runtime_ctx=RuntimeContext(username=VALUE))
    assert taints(named, UNTRUSTED)
    assert clears(named, OWNER)


@pytest.mark.parametrize(
    "fact",
    [
        "interface_path",
        "interface_name",
        "message_id",
        "voice_channel_id",
        "language",
        "tone",
        "emotions",
        "time_of_day",
        "beat_type",
    ],
)
def test_places_and_facts_that_others_may_have_named_never_clear(fact: str) -> None:
    request = PromptRequest(runtime_ctx=RuntimeContext(**{fact: f"mail/{VALUE}"}))  # pyright: ignore[reportArgumentType]  # parametrised
    assert taints(request, UNTRUSTED)
    assert not taints(request, OWNER)
    assert not clears(request, OWNER)
    assert not clears(request, UNTRUSTED)


def test_every_fact_that_the_model_is_shown_is_looked_at() -> None:
    told = ("username", "language", "tone", "time_of_day", "emotions", "voice_channel_id")
    told = (*told, "usertag", "interface_path", "addressee_note", "beat_type")
    context = RuntimeContext(**{name: f"{name}.example" for name in told}, is_beat=True)  # pyright: ignore[reportArgumentType]  # texts
    looked_at = [
        text
        for text, _, _ in texts_in(
            PromptRequest(runtime_ctx=context), said=UNTRUSTED, quoted=UNTRUSTED
        )
    ]
    shown = re.findall(r"\w+\.example", facts_line(context))
    assert sorted(shown) == sorted(f"{name}.example" for name in told)
    assert set(shown) <= set(looked_at)


@pytest.mark.parametrize("source", ["place", "weather", "feeling"])
@pytest.mark.parametrize("trust", [Trust.RUNTIME, SELF])
def test_what_is_around_a_conversation_never_clears(source: str, trust: Trust) -> None:
    request = PromptRequest(system_instruction=(Span(f"at {VALUE}", source=source, trust=trust),))
    assert taints(request, UNTRUSTED)
    assert not taints(request, OWNER)
    assert not clears(request, OWNER)


@pytest.mark.parametrize("source", ["people", "thought"])
def test_what_was_noted_of_others_may_be_their_words(source: str) -> None:
    request = PromptRequest(system_instruction=(Span(f"at {VALUE}", source=source, trust=SELF),))
    assert taints(request, OWNER) == source


PICTURE = MediaPart("image", "image/png", data=b"x")


def test_a_picture_from_outside_cannot_be_read() -> None:
    request = PromptRequest(attachments=(PICTURE,))
    assert seen_in(request, said=UNTRUSTED).unread == "the attachment image"
    assert seen_in(request, said=OWNER).unread == ""
    assert lineage_of(request, said=OWNER) is SELF
    assert lineage_of(request, said=UNTRUSTED) is UNTRUSTED
    earlier = PromptRequest(conversation_history=(Turn("user", (PICTURE,), UNTRUSTED),))
    assert seen_in(earlier, said=OWNER).unread
    read = replace(PICTURE, extracted="a cat")
    assert not seen_in(PromptRequest(attachments=(read,)), said=UNTRUSTED).unread


def test_a_document_may_show_more_than_was_read_out_of_it() -> None:
    data = pdf(f"mail {VALUE}", "")
    part = with_document_text(MediaPart("document", "application/pdf", data=data, name="a.pdf"))
    request = PromptRequest(attachments=(part,))
    assert seen_in(request, said=UNTRUSTED).unread == "the attachment a.pdf"
    assert not seen_in(request, said=OWNER).unread
    assert taints(request, OWNER) == "the attachment a.pdf"


def test_what_says_that_it_cannot_be_read_can_be() -> None:
    same = "".join(list(UNREAD))
    assert not seen_of([(same, UNTRUSTED, "web")]).unread


def test_what_is_known_of_an_attachment_taints() -> None:
    assert taints(PromptRequest(attachments=(replace(PICTURE, metadata={"title": VALUE}),)))


def test_in_a_correction_only_the_words_lose_their_trust() -> None:
    request = PromptRequest(current_text=f"you said {VALUE}", attachments=(PICTURE,))
    seen = seen_of(texts_in(request, said=OWNER, quoted=UNTRUSTED, corrects=True))
    assert tainted_in({"to": VALUE}, seen)
    assert not seen.unread


def test_what_tools_say_of_themselves_never_clears_and_taints_only_if_untrusted() -> None:
    for trust in Trust:
        tool = ToolDeclaration("send", f"Sends to {VALUE}.", trust=trust)
        request = PromptRequest(tool_declarations=(tool,))
        assert bool(taints(request)) == (trust is UNTRUSTED)
        assert not clears(request)


def test_a_correction_taints_and_never_clears() -> None:
    request = PromptRequest(context_summary=(OUTSIDE,))
    assert tainted_in({"to": VALUE}, seen_in(request, said=OWNER, later=[f"you said {VALUE}"]))
    alone = seen_in(PromptRequest(), said=OWNER, later=[f"you said {VALUE}"])
    assert tainted_in({"to": VALUE}, alone)


def test_the_lineage_of_an_answer_is_the_least_trusted_of_what_it_was_made_from() -> None:
    trusted = PromptRequest(system_instruction=(span(OWNER),), current_text="Hi")
    assert lineage_of(trusted, said=OWNER) is SELF
    assert lineage_of(trusted, said=UNTRUSTED) is UNTRUSTED
    assert lineage_of(replace(trusted, context_summary=(OUTSIDE,)), said=OWNER) is UNTRUSTED
    blank = replace(trusted, context_summary=(Span(" \n", trust=UNTRUSTED),))
    assert lineage_of(blank, said=OWNER) is SELF


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("trust", [OWNER, SELF, UNTRUSTED])
@pytest.mark.parametrize(
    "part",
    [
        TextPart("what was said"),
        TextPart(" \n"),
        ReasoningPart("what was thought"),
        ToolCallPart("call-1", "look_up", {"at": VALUE}),
        ToolResultPart("call-1", "look_up", "what was found"),
        MediaPart("image", "image/png", name="map.png"),
    ],
)
def test_the_lineage_of_a_conversation_is_that_of_its_pieces(
    part: TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaPart,
    trust: Trust,
    *,
    reference: bool,
) -> None:
    tool = ToolDeclaration("look_up", "Looks something up.", reference=reference)
    history = (Turn("user", (TextPart("Hi"),)), Turn("assistant", (part,), trust))
    request = PromptRequest(tool_declarations=(tool,), conversation_history=history)
    told = texts_in(request, said=OWNER, quoted=UNTRUSTED)
    doubtful = any(one is UNTRUSTED and text.strip() for text, one, _ in told)
    assert lineage_of(request, said=OWNER) is (UNTRUSTED if doubtful else SELF)


def test_the_sources_of_untrusted_text_are_told_once_each() -> None:
    seen = seen_of([("a&amp;b", UNTRUSTED, "web"), ("c", UNTRUSTED, "web"), ("d", OWNER, "me")])
    assert seen.sources == ("web",)
    assert seen.lineage is UNTRUSTED
    assert (NOTHING_SEEN.sources, NOTHING_SEEN.lineage) == ((), SELF)


@pytest.mark.parametrize(
    "text", ["x" * (MOST + 1), "\\" * 200_000, "\ufdfa" * 1000, "abcdefghij12 " * 60_000]
)
def test_a_request_that_is_too_much_says_so_and_counts_as_untrusted(text: str) -> None:
    seen: SeenRequest = seen_of([(text, UNTRUSTED, "web")])
    assert seen.too_much
    assert seen.lineage is UNTRUSTED
