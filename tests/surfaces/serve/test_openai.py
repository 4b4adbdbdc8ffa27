"""The official client of OpenAI, over the loopback address: chat and responses."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel
from tests.rounds import BERLIN, Rounds, calls, says
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving

from mentis.errors import ProviderRefused
from mentis.testing import HashEmbedder
from mentis.values.rendering import Rendering
from mentis.values.route import Route

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "Read",
        "description": "Reads a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
}
FLAT: Any = {"type": "function", **TOOL["function"], "strict": False}
README = ("r1", "Read", {"path": "README.md"})
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)
USED: object = {
    "choices": [],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 40},
    },
}


class Broken(Rounds):
    """Answers that break where an error stands among their events."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        async with super().open(rendering, route) as events:
            yield self._played(events)

    async def _played(self, events: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for event in events:
                yield event
        except TypeError:  # an error is no JSON
            raise ProviderRefused("it says no", status=500) from None


def thinks(thought: str, text: str) -> list[object]:
    return [{"choices": [{"delta": {"reasoning_content": thought}}]}, *says(text)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


@pytest.fixture
def one(home: Path) -> Generator[Served]:
    with serving(home, Rounds(says("Good morning.", USED), says("Good night."))) as served:
        yield served


def user(text: str) -> Any:  # noqa: ANN401  # a message to clients of both kinds
    return {"role": "user", "content": text}


def assistant(text: str | None) -> Any:  # noqa: ANN401  # the same
    return {"role": "assistant", "content": text}


# Chat completions


def test_a_message_is_a_turn_of_the_agent(one: Served) -> None:
    answer = one.openai().chat.completions.create(model=PERSONA, messages=[user("Hello!")])
    assert answer.choices[0].message.content == "Good morning."
    assert (answer.choices[0].finish_reason, answer.model) == ("stop", PERSONA)
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (100, 10)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 40
    assert [*one.sessions().values()] == [["Hello!", "Good morning."]]
    assert one.verify()


def test_a_streamed_answer_is_the_same_and_tells_its_usage_when_asked(one: Served) -> None:
    client = one.openai()
    with client.chat.completions.create(
        model=PERSONA,
        messages=[user("Hello!")],
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        chunks = [*stream]
    said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(filter(None, said)) == "Good morning."
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 100
    with client.chat.completions.create(
        model=PERSONA, messages=[user("Bye!")], stream=True
    ) as stream:
        assert all(chunk.choices for chunk in stream)


def test_tools_of_the_client_are_called_by_it_and_the_turn_goes_on(home: Path) -> None:
    with serving(home, Rounds(calls(README, text="Let me look."), says("It says hello."))) as one:
        client = one.openai()
        asked = [user("What does the file say?")]
        first = client.chat.completions.create(model=PERSONA, messages=asked, tools=[TOOL])
        message = first.choices[0].message
        assert first.choices[0].finish_reason == "tool_calls"
        assert message.content == "Let me look."
        assert message.tool_calls is not None
        (call,) = message.tool_calls
        assert call.type == "function"
        assert (call.function.name, json.loads(call.function.arguments)) == (
            "Read",
            {"path": "README.md"},
        )
        told: Any = {"role": "tool", "tool_call_id": call.id, "content": "hello"}
        going_on: Any = [*asked, message.model_dump(exclude_none=True), told]
        last = client.chat.completions.create(model=PERSONA, messages=going_on, tools=[TOOL])
        assert last.choices[0].message.content == "It says hello."
        assert len(one.sessions()) == 1
        assert one.verify()
    sent = one.provider.messages(1)
    assert [message["role"] for message in sent[-3:]] == ["user", "assistant", "tool"]


def test_streamed_calls_can_be_put_together_by_the_client(home: Path) -> None:
    with (
        serving(home, Rounds(calls(README))) as one,
        one.openai().chat.completions.stream(
            model=PERSONA, messages=[user("What does it say?")], tools=[TOOL]
        ) as stream,
    ):
        done = stream.get_final_completion()
    (call,) = done.choices[0].message.tool_calls or []
    assert call.function.arguments == '{"path": "README.md"}'


def test_tools_of_the_agent_are_used_here_and_the_client_sees_the_words(home: Path) -> None:
    with serving(home, Rounds(calls(BERLIN, text="Let me see."), says("17 degrees."))) as one:
        answer = one.openai().chat.completions.create(
            model=PERSONA, messages=[user("How warm is it?")], tools=[TOOL]
        )
        assert answer.choices[0].message.content == "Let me see.\n\n17 degrees."
        assert answer.choices[0].message.tool_calls is None


def test_an_image_is_shown_to_the_model(one: Served) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    content: Any = [{"type": "text", "text": "What is this?"}, picture]
    one.openai().chat.completions.create(
        model=PERSONA, messages=[{"role": "user", "content": content}]
    )
    assert PIXEL in json.dumps(one.provider.sent[0])


def test_a_file_of_the_machine_is_no_image(one: Served) -> None:
    picture = {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}
    with pytest.raises(openai.BadRequestError, match="no address of an image"):
        one.openai().chat.completions.create(
            model=PERSONA,
            messages=[{"role": "user", "content": [picture]}],  # pyright: ignore[reportArgumentType]
        )


def test_reasoning_comes_beside_the_words(home: Path) -> None:
    with serving(home, Rounds(thinks("Hm.", "Yes."), thinks("Hm.", "Yes."))) as one:
        client = one.openai()
        whole = client.chat.completions.create(model=PERSONA, messages=[user("Really?")])
        assert whole.choices[0].message.model_dump()["reasoning_content"] == "Hm."
        assert whole.choices[0].message.content == "Yes."
        with client.chat.completions.create(
            model=PERSONA, messages=[user("Sure?")], stream=True
        ) as stream:
            deltas = [chunk.choices[0].delta.model_dump() for chunk in stream]
    assert [d["reasoning_content"] for d in deltas if "reasoning_content" in d] == ["Hm."]


def test_an_answer_can_be_held_to_a_schema(home: Path) -> None:
    class Weather(BaseModel):
        degrees: int

    with serving(home, Rounds(says('{"degrees": 17}'))) as one:
        parsed = one.openai().chat.completions.parse(
            model=PERSONA, messages=[user("How warm?")], response_format=Weather
        )
    assert parsed.choices[0].message.parsed == Weather(degrees=17)


def test_instructions_of_the_client_are_told_with_the_message_not_instead_of_the_persona(
    one: Served,
) -> None:
    told: Any = {"role": "system", "content": "Speak like a pirate."}
    one.openai().chat.completions.create(model=PERSONA, messages=[told, user("Hello!")])
    first, *_, last = one.provider.messages(0)
    assert "pirate" not in json.dumps(first)
    assert "<client-instructions>\\nSpeak like a pirate." in json.dumps(last)


def test_the_owner_can_refuse_tools_and_instructions_of_clients(home: Path) -> None:
    with serving(home, Rounds(says("Hello.")), web__tools="own", web__instructions="ignore") as one:
        told: Any = {"role": "system", "content": "Speak like a pirate."}
        one.openai().chat.completions.create(
            model=PERSONA, messages=[told, user("Hello!")], tools=[TOOL]
        )
    sent = json.dumps(one.provider.sent[0])
    assert "temperature" in sent
    assert "Reads a file." not in sent
    assert "pirate" not in sent


def test_many_streams_at_once_are_all_answered(home: Path) -> None:
    with serving(home, Rounds(*(says(f"Answer {n}.") for n in range(40)))) as one:
        said: list[str] = []

        def ask(number: int) -> None:
            body = {"model": PERSONA, "messages": [user(f"Message {number}.")], "stream": True}
            answer = one.post("/v1/chat/completions", body)
            said.append("Answer" if "Answer" in answer.text and "[DONE]" in answer.text else "")

        asking = [threading.Thread(target=ask, args=(n,)) for n in range(40)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(120)
        assert said == ["Answer"] * 40
        assert len(one.sessions()) == 40
        assert one.verify()


def test_errors_have_the_form_the_client_knows(one: Served) -> None:
    client = one.openai()
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-9", messages=[user("Hi")])
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.AuthenticationError):
        one.openai("mts_wrong").chat.completions.create(model=PERSONA, messages=[user("Hi")])
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model=PERSONA, messages=[])
    reader = one.new_token("eyes", scope="read")
    with pytest.raises(openai.PermissionDeniedError):
        one.openai(reader).chat.completions.create(model=PERSONA, messages=[user("Hi")])


def with_call(arguments: object, call_id: str = "c") -> dict[str, object]:
    """A conversation in which the client says that a tool was called."""
    call = {"id": call_id, "type": "function", "function": {"name": "x", "arguments": arguments}}
    told = {"role": "tool", "tool_call_id": call_id, "content": "done"}
    asked = [user("Q."), {**assistant(""), "tool_calls": [call]}, told, user("Go on.")]
    return {"model": PERSONA, "messages": asked}


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"a": "\\ud800"}', '{"a": NaN}'])
def test_arguments_that_cannot_be_read_or_kept_are_a_text(one: Served, arguments: str) -> None:
    assert one.post("/v1/chat/completions", with_call(arguments)).status_code == 200
    assert one.verify()


CALL = " at pointer /messages/1/tool_calls/0"


def nested(depth: int) -> object:
    return {"a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            with_call("{}", call_id="c\ud800"),
            f"lone surrogate{CALL}/id",
        ),
        (
            with_call({"a": "\ud800"}),
            f"lone surrogate{CALL}/function/arguments/a",
        ),
        (
            with_call({"\ud800": "a"}),
            f"lone surrogate{CALL}/function/arguments",
        ),
        (
            with_call({"a": float("inf")}),
            f"Infinity is not a JSON number{CALL}",
        ),
        (with_call(nested(200)), "nested more than 100 levels deep"),
        (
            {"messages": [user("Q.")], "tools": [{"function": {"description": "\ud800"}}]},
            "lone surrogate at pointer /tools/0/function/description",
        ),
    ],
)
def test_what_no_record_can_hold_is_refused_by_its_place(
    one: Served, broken: dict[str, object], message: str
) -> None:
    body = json.dumps({"model": PERSONA, **broken}).encode()
    headers = {"authorization": f"Bearer {one.token}"}
    answer = httpx2.post(f"{one.url}/v1/chat/completions", content=body, headers=headers)
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]


def test_a_provider_that_fails_before_or_within_a_stream_is_told_so(home: Path) -> None:
    gone = ProviderRefused("it says no", status=500)
    broken = [{"choices": [{"delta": {"content": "Half"}}]}, gone]
    with serving(home, Broken(gone, gone, broken), breaker__failures="50") as one:
        client = one.openai()
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model=PERSONA, messages=[user("Hi")])
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model=PERSONA, messages=[user("Ho")], stream=True)
        stream = client.chat.completions.create(model=PERSONA, messages=[user("He")], stream=True)
        with pytest.raises(openai.APIError, match="it says no"), stream:
            for _ in stream:
                pass


# Models and embeddings


def test_personas_are_the_models(one: Served) -> None:
    client = one.openai()
    assert [model.id for model in client.models.list()] == [PERSONA]
    assert client.models.retrieve(PERSONA).id == PERSONA
    assert client.models.retrieve(f"home/{PERSONA}").owned_by == "mentis"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-9")


def test_foreign_model_ids_can_stand_for_a_persona(home: Path) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[web.models]\n"gpt-*" = "{PERSONA}"\n')
    with serving(home, Rounds(says("Here."))) as one:
        answer = one.openai().chat.completions.create(model="gpt-9", messages=[user("Hi")])
    assert answer.choices[0].message.content == "Here."


def test_texts_are_embedded_where_the_home_has_an_embedder(home: Path) -> None:
    with serving(home, Rounds(), embedder=HashEmbedder()) as one:
        client = one.openai()
        two = client.embeddings.create(model="any", input=["pear", "quince"]).data
        plain = client.embeddings.create(model="any", input="pear", encoding_format="float").data
        assert two[0].embedding == pytest.approx(plain[0].embedding, abs=1e-6)
        assert two[0].embedding != two[1].embedding


def test_without_an_embedder_there_are_no_embeddings(one: Served) -> None:
    with pytest.raises(openai.NotFoundError):
        one.openai().embeddings.create(model="any", input="pear")


# Responses


def test_a_response_is_a_turn_of_the_agent(one: Served) -> None:
    answer = one.openai().responses.create(model=PERSONA, input="Hello!")
    assert (answer.output_text, answer.status) == ("Good morning.", "completed")
    assert answer.usage is not None
    assert answer.usage.input_tokens_details.cached_tokens == 40
    assert [*one.sessions().values()] == [["Hello!", "Good morning."]]


def test_a_response_is_gone_on_with_by_its_id(home: Path) -> None:
    answers = Rounds(says("One."), says("Two."), says("Other."))
    with serving(home, answers) as one:
        client = one.openai()
        first = client.responses.create(model=PERSONA, input="First.")
        client.responses.create(model=PERSONA, input="Second.", previous_response_id=first.id)
        assert [*one.sessions().values()] == [["First.", "One.", "Second.", "Two."]]
        client.responses.create(model=PERSONA, input="Instead.", previous_response_id=first.id)
        other = f"{first.id[:-1]}{'0' if first.id[-1] != '0' else '1'}"
        place = first.id.replace("resp_", "resp_1", 1)
        for name in ("resp_x", other, place, first.id[:-8]):
            with pytest.raises(openai.BadRequestError, match="no answer"):
                client.responses.create(model=PERSONA, input="x", previous_response_id=name)
        assert one.verify()
    told = json.dumps(one.provider.messages(2))
    assert "One." in told
    assert "Second." not in told


def test_a_streamed_response_has_every_event_the_client_builds_on(home: Path) -> None:
    with (
        serving(home, Rounds(thinks("Hm.", "Yes, really."))) as one,
        one.openai().responses.stream(model=PERSONA, input="Really?") as stream,
    ):
        kinds = [event.type for event in stream]
        done = stream.get_final_response()
    assert done.output_text == "Yes, really."
    assert [item.type for item in done.output] == ["reasoning", "message"]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_item.added") == 2
    assert "response.reasoning_summary_text.delta" in kinds


def test_functions_of_a_response_are_called_by_the_client(home: Path) -> None:
    answers = Rounds(calls(README), says("It says hello."), calls(README), says("Hello."))
    with serving(home, answers) as one:
        client = one.openai()
        first = client.responses.create(model=PERSONA, input="What does it say?", tools=[FLAT])
        (call,) = first.output
        assert call.type == "function_call"
        told: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "hello"}
        second = client.responses.create(
            model=PERSONA, input=[told], tools=[FLAT], previous_response_id=first.id
        )
        assert second.output_text == "It says hello."
        # Without the id the client sends all of it again, as agent programs do.
        asked: Any = [user("And the other one?")]
        with client.responses.stream(model=PERSONA, input=asked, tools=[FLAT]) as stream:
            third = stream.get_final_response()
        again: Any = [*asked, *(item.model_dump() for item in third.output), told]
        fourth = client.responses.create(model=PERSONA, input=again, tools=[FLAT], store=False)
        assert fourth.output_text == "Hello."
        assert len(one.sessions()) == 2
        assert one.verify()


def test_a_tool_that_takes_one_text_comes_back_as_one(home: Path) -> None:
    patch = ("p1", "apply_patch", {"input": "*** Begin Patch"})
    custom: Any = {"type": "custom", "name": "apply_patch", "description": "Patches."}
    searching: Any = {"type": "web_search"}
    with serving(home, Rounds(calls(patch), says("Done."))) as one:
        client = one.openai()
        first = client.responses.create(model=PERSONA, input="Patch it.", tools=[custom, searching])
        (call,) = first.output
        assert call.type == "custom_tool_call"
        assert call.input == "*** Begin Patch"
        told: Any = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "ok"}
        second = client.responses.create(
            model=PERSONA, input=[told], tools=[custom], previous_response_id=first.id
        )
    assert second.output_text == "Done."


def test_a_request_as_agent_programs_send_it_is_one_conversation(home: Path) -> None:
    """Instructions and surroundings as items, tools in a namespace, nothing stored elsewhere."""
    spaced = {"type": "namespace", "name": "agents", "description": "Agents.", "tools": [FLAT]}
    message = {"type": "message", "role": "user"}
    begun: Any = [
        {**message, "role": "developer", "content": [{"type": "input_text", "text": "Be terse."}]},
        {**message, "content": [{"type": "input_text", "text": "<environment>bash</environment>"}]},
        {**message, "content": [{"type": "input_text", "text": "Run it."}]},
    ]
    more: Any = {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01a1e4e6",
        "tools": [spaced, {"type": "web_search", "external_web_access": False}],
        "reasoning": {"summary": "auto"},
        "stream": True,
    }
    call = ("n1", "agents/Read", {"path": "a"})
    with serving(home, Rounds(calls(call), says("It ran."), says("Yes."))) as one:

        def ask(items: list[Any]) -> list[Any]:
            body = {"model": PERSONA, "input": items, **more}
            text = one.post("/v1/responses", body).text
            events = [json.loads(line[6:]) for line in text.splitlines() if line[:6] == "data: "]
            return events[-1]["response"]["output"]

        (first,) = ask(begun)
        assert (first["type"], first["namespace"], first["name"]) == (
            "function_call",
            "agents",
            "Read",
        )
        told = {"type": "function_call_output", "call_id": first["call_id"], "output": "done"}
        (second,) = ask([*begun, first, told])
        again = {**message, "content": [{"type": "input_text", "text": "Really?"}]}
        ask([*begun, first, told, second, again])
        (words,) = one.sessions().values()
        assert one.verify()
    assert words == [
        "<environment>bash</environment>\n\nRun it.",
        "",
        "",
        "It ran.",
        "Really?",
        "Yes.",
    ]
    assert "Be terse." in json.dumps(one.provider.messages(2)[-1])


def test_a_socket_is_refused_at_once_with_an_error_that_programs_go_on_from(one: Served) -> None:
    refused = one.get(
        "/v1/responses",
        connection="Upgrade",
        upgrade="websocket",
        sec_websocket_version="13",
        sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==",
    )
    assert refused.status_code == 426
    assert "error" in refused.json()
    assert one.get("/v1/responses").status_code == 405
