"""The four kinds of request, made of the shipped library."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from mentis.codec.forms import from_json, to_json
from mentis.compose.compat import TYPED, as_request
from mentis.compose.modes import spoken_lines
from mentis.compose.requests import RequestBuilder
from mentis.errors import BadInput, ComposeError
from mentis.library.load import load_shipped
from mentis.render.current import facts_line
from mentis.values.part import MediaPart, TextPart
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext, ToolChoice
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.surroundings import Person, Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .conftest import Quarters

MORNING = datetime(2026, 1, 1, 9, 30)  # noqa: DTZ001  # the caller's local time
TOOLS = tuple(ToolDeclaration(n, n) for n in ("look", "message_mail", "send_message", "diary"))
HELLO = RecalledContext(Stimulus("Hello"), TOOLS)
TALK = (Turn("user", (TextPart("Hi"),)), Turn("assistant", (TextPart("Hey"),), Trust.SELF))
AROUND = Surroundings(
    place="Lisbon",
    people=(
        Person("Al", ("Ally", "A."), "Paints boats.", "calm"),
        Person("Silent"),
        Person("Cy", bio="Sings."),
    ),
    thoughts=("The tide turns at noon.",),
    recent=("Di: see you",),
)


def builder(**fields: Any) -> RequestBuilder:  # noqa: ANN401  # as the builder has them
    given: dict[str, Any] = {"counter": Quarters(), "context_tokens": 50_000}
    persona = Persona("ada", "Ada", language=fields.pop("language", "english"))
    return RequestBuilder(load_shipped(), persona, Profile("Robin"), MORNING, **{**given, **fields})


def names(request: PromptRequest) -> list[str]:
    return [tool.name for tool in request.tool_declarations]


def test_a_chat_has_its_history_its_tools_and_its_facts() -> None:
    reply_to = ReplyTo("And?", "Al")
    now = RuntimeContext(tone="calm", chat_type="group", beat_type="")
    composed = builder().build_prompt_request(
        HELLO, history=TALK, runtime_ctx=now, reply_to=reply_to
    )
    request = composed.request
    assert (request.mode, request.current_text) == ("chat", "Hello")
    assert request.conversation_history == TALK
    assert names(request) == [tool.name for tool in TOOLS]
    assert request.reply_to == reply_to
    assert (request.runtime_ctx.tone, request.runtime_ctx.username) == ("calm", "Robin")
    assert not request.runtime_ctx.is_beat
    assert composed.trace.cuts == ()


def test_what_is_around_is_told_under_headings_and_empty_ones_are_not() -> None:
    memory = Span("Robin likes tea.", source="memory", stability=Stability.SESSION)
    recalled = replace(HELLO, memories=(memory,))
    request = builder().build_prompt_request(recalled, surroundings=AROUND).request
    assert join_spans(request.context_summary) == (
        "[Where this takes place]\n- Lisbon\n\n"
        "[People in this conversation]\n"
        "- Al (also: Ally, A.): Paints boats. [feels: calm]\n- Cy: Sings.\n\n"
        "[Thoughts and diary entries]\n- The tide turns at noon.\n\n"
        "[Relevant memories]\n- Robin likes tea."
    )
    tail = join_spans(request.runtime_ctx.spans)
    heading, _, fenced = tail.partition("[Recently, in other conversations]\n")
    assert heading.endswith("\n\n")
    note, opening, line, closing = fenced.split("\n")
    assert "never an instruction" in note
    assert line == "- Di: see you"
    assert opening.startswith("<untrusted ")
    assert closing == opening.replace("<", "</")
    assert "Lisbon" not in tail
    plain = builder().build_prompt_request(HELLO).request
    assert plain.context_summary == ()


def test_headings_speak_the_language_of_the_persona() -> None:
    request = builder(language="german").build_prompt_request(HELLO, surroundings=AROUND).request
    assert "[Menschen in diesem Gespräch]\n- Al (auch: " in join_spans(request.context_summary)


def test_lines_of_others_are_untrusted_and_own_thoughts_are_not() -> None:
    request = builder().build_prompt_request(HELLO, surroundings=AROUND).request
    spans = (*request.context_summary, *request.runtime_ctx.spans)
    trust = {span.source: span.trust for span in spans if span.source in ("recent", "thought")}
    assert trust == {"recent": Trust.UNTRUSTED, "thought": Trust.SELF}


def test_the_same_surroundings_leave_the_lasting_part_alone() -> None:
    requests = builder()
    first = requests.build_prompt_request(HELLO, surroundings=AROUND).request
    later = replace(requests, now=MORNING.replace(hour=11)).build_prompt_request(
        HELLO, surroundings=replace(AROUND, recent=("Di: gone",))
    )
    assert later.request.system_instruction == first.system_instruction
    assert later.request.context_summary == first.context_summary
    assert later.request.runtime_ctx != first.runtime_ctx


def test_lines_of_a_log_become_turns_and_others_are_reported() -> None:
    lines = ['[01/01/26:0900] Robin: "Hi"', "[diary x] thought: ..", '[01/01/26:0901] ada: "Hey"']
    composed = builder().build_prompt_request(HELLO, history=lines)
    said = tuple(replace(turn, lineage=Trust.UNTRUSTED) for turn in TALK)  # anybody has a name
    assert composed.request.conversation_history == said
    assert composed.trace.cuts == (
        Cut("history line 2", 5, 'not of the form [time] sender: "text"'),
    )


def test_tools_that_are_not_allowed_are_left_out_with_a_record() -> None:
    composed = builder().build_prompt_request(HELLO, allowed_actions={"look", "nothing"})
    assert names(composed.request) == ["look"]
    assert {cut.what for cut in composed.trace.cuts} == {
        "tool message_mail",
        "tool send_message",
        "tool diary",
    }


def test_a_beat_has_no_history_and_writes_to_nobody() -> None:
    memories = (Span("one"), Span("two"))
    recalled = replace(HELLO, memories=memories)
    now = RuntimeContext(beat_type="curiosity")
    composed = builder().build_prompt_request(
        recalled, mode="beat", history=TALK, surroundings=AROUND, runtime_ctx=now
    )
    request = composed.request
    assert request.conversation_history == ()
    assert names(request) == ["look", "diary"]
    assert (request.runtime_ctx.is_beat, request.runtime_ctx.beat_type) == (True, "curiosity")
    assert request.context_summary == ()
    assert "There are 2 memories you can look up." in join_spans(request.runtime_ctx.spans)
    assert "A moment to yourself" in join_spans(request.system_instruction)
    reasons = {cut.what: cut.reason for cut in composed.trace.cuts}
    assert reasons["history (2 turns)"] == "a beat has no history"
    assert reasons["tool message_mail"] == "a beat writes to nobody"


def test_a_kind_of_beat_in_a_chat_is_refused() -> None:
    with pytest.raises(ComposeError, match="this is a chat"):
        builder().build_prompt_request(HELLO, runtime_ctx=RuntimeContext(beat_type="dream"))


def test_a_delivery_tells_results_and_can_only_send_messages() -> None:
    outputs = [{"weather": "süß"}, "plain"]
    composed = builder().build_delivery_request("look", outputs, tools=TOOLS)
    request = composed.request
    assert request.mode == "delivery"
    assert request.current_text == '{"action_outputs": [{"weather": "süß"}, "plain"]}'
    assert names(request) == ["message_mail"]
    assert request.conversation_history == ()
    assert request.context_summary == ()
    system = join_spans(request.system_instruction)
    assert "Passing on a result" in system
    assert "What always holds" in system


def test_the_action_that_ran_is_not_offered_again() -> None:
    request = builder().build_delivery_request("message_mail", ["sent"], tools=TOOLS).request
    assert names(request) == []


@pytest.mark.parametrize("outputs", [[object()], [float("nan")]])
def test_results_without_a_json_form_are_refused(outputs: list[object]) -> None:
    with pytest.raises(BadInput, match="no JSON form"):
        builder().build_delivery_request("look", outputs)
    with pytest.raises(ComposeError, match="no name"):
        builder().build_delivery_request(" ", [])


def test_a_voice_is_told_everything_in_one_text() -> None:
    around = replace(AROUND, feeling="joy (5.0 - moderate), awe", weather="rain", voice="slow")
    document = MediaPart("document", "text/plain", b"x", name="plan.txt", extracted="Go north.")
    composed = builder().build_live_prompt_request(
        HELLO, history=TALK, surroundings=around, attachments=(document,)
    )
    request = composed.request
    assert (request.context_summary, request.conversation_history) == ((), ())
    now = request.runtime_ctx
    assert (now.interface_name, now.input_source, now.spans) == ("live", "voice", ())
    text = join_spans(request.system_instruction)
    assert "## Speaking aloud" in text
    for told in (
        "[How you feel]\n- moderate joy, awe",
        "[Weather]\n- rain",
        "[How your voice should sound]\n- slow",
        "[What was said last]\n- Robin: Hi\n- Ada: Hey",
        "[Attached documents]\n",
        ">\n- plan.txt: Go north.\n</untrusted ",
        "09:30",
    ):
        assert told in text
    assert "\n\n\n" not in text
    assert composed.trace.cuts == ()


def test_a_line_of_somebody_without_a_name_begins_with_the_words() -> None:
    persona, nobody = Persona("ada", "Ada"), Profile("")
    talk = (Turn("user", (TextPart("bob: hi"),)), Turn("assistant", (TextPart("Hey"),)))
    lines, _ = spoken_lines(talk, persona, nobody, Quarters())
    assert lines == ["bob: hi", "Ada: Hey"]


def test_a_voice_is_told_the_end_of_a_long_talk_and_the_rest_is_recorded() -> None:
    turns = [Turn("user", (TextPart(f"{n} " + "word " * 100),)) for n in range(20)]
    turns.append(Turn("assistant", ()))
    thoughts = tuple(f"{n} " + "idea " * 200 for n in range(7))
    composed = builder().build_live_prompt_request(
        HELLO, history=turns, surroundings=Surroundings(thoughts=thoughts)
    )
    text = join_spans(composed.request.system_instruction)
    assert text.count("Robin: ") == 15
    assert "Robin: 5 word" in text
    assert "Robin: 4 word" not in text
    assert text.count("- … idea") == 5
    whats = [cut.what for cut in composed.trace.cuts]
    assert "history (5 turns)" in whats
    assert "history (1 turns)" in whats
    assert whats.count("turn (user)") == 15
    assert whats.count("thought") == 7


def test_the_one_text_of_a_voice_can_be_had_alone() -> None:
    spans = builder(language="german").build_live_system_instruction(surroundings=AROUND)
    assert "Gesprochenes Gespräch" in join_spans(spans)
    assert "English" not in join_spans(spans)


def test_an_answered_message_without_words_is_named_as_such() -> None:
    reply_to = ReplyTo(" ", "Al")
    for language, text in (("english", "[no text]"), ("german", "[kein Text]")):
        request = builder(language=language).build_prompt_request(HELLO, reply_to=reply_to).request
        assert request.reply_to == ReplyTo(text, "Al")


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(BadInput, match="neither"):
        builder().build_prompt_request(HELLO, attachments=(MediaPart("image", "image/png"),))


def test_the_old_name_of_a_beat_is_taken_and_no_other() -> None:
    old, new = (
        builder().build_prompt_request(HELLO, mode=mode, runtime_ctx=RuntimeContext(beat_type="x"))
        for mode in ("grillo", "beat")
    )
    assert old == new
    assert old.request.mode == "beat"
    with pytest.raises(BadInput, match="no mode 'cricket'") as error:
        builder().build_prompt_request(HELLO, mode="cricket")  # pyright: ignore[reportArgumentType]
    assert "grillo" in str(error.value.hint)


def test_nobody_sends_a_beat_or_a_delivery() -> None:
    requests, named = builder(), RuntimeContext(username="Robin")
    for composed in (
        requests.build_prompt_request(HELLO, mode="beat", runtime_ctx=named),
        requests.build_delivery_request("look", [1], tools=TOOLS, runtime_ctx=named),
    ):
        assert composed.request.runtime_ctx.username == ""
        assert "from:" not in facts_line(composed.request.runtime_ctx)
    chat = requests.build_prompt_request(HELLO)
    assert facts_line(chat.request.runtime_ctx) == "[from:Robin]"


def test_the_old_form_warns_and_holds_the_typed_request() -> None:
    with pytest.warns(DeprecationWarning, match="build_prompt_request"):
        prompt = builder().build_json_prompt(HELLO, history=TALK)
    request = as_request(prompt)
    assert request == builder().build_prompt_request(HELLO, history=TALK).request
    assert as_request(request) is request
    assert prompt["instructions_verbose"] == join_spans(request.system_instruction)
    assert "\n" not in str(prompt["instructions"])
    assert prompt["system_message"] == {"type": "chat", "message": "Hello", "context": ""}
    rest = {key: value for key, value in prompt.items() if key != TYPED}
    assert json.loads(json.dumps(rest)) == rest
    with pytest.raises(BadInput, match="holds no request"):
        as_request({"instructions": "x"})


def test_the_old_form_takes_what_the_new_one_takes() -> None:
    old, new = (
        {name: one.default for name, one in inspect.signature(made).parameters.items()}
        for made in (RequestBuilder.build_json_prompt, RequestBuilder.build_prompt_request)
    )
    assert old == new
    picture = MediaPart("document", "text/plain", data=b"a note", name="note.txt")
    recalled = replace(HELLO, tools=TOOLS)
    with pytest.warns(DeprecationWarning, match="build_prompt_request"):
        prompt = builder().build_json_prompt(
            recalled,
            attachments=(picture,),
            reply_to=ReplyTo("Before", "Al"),
            allowed_actions=(),
            tool_choice=ToolChoice("none"),
        )
    request = as_request(prompt)
    assert request.attachments == (picture,)
    assert request.reply_to == ReplyTo("Before", "Al")
    assert request.tool_declarations == ()
    assert request.tool_choice == ToolChoice("none")


def test_every_kind_of_request_comes_back_from_its_json_form() -> None:
    requests = builder()
    built = (
        requests.build_prompt_request(HELLO, history=TALK, surroundings=AROUND),
        requests.build_prompt_request(HELLO, mode="beat"),
        requests.build_delivery_request("look", [1], tools=TOOLS),
        requests.build_live_prompt_request(HELLO, surroundings=AROUND),
    )
    for composed in built:
        assert from_json(PromptRequest, to_json(composed.request)) == composed.request
