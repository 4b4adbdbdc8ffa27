"""The calls of Ollama's protocol that chat clients make: `/api/chat`, and what they probe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.part import ToolCallPart
from mentis.values.turn import Turn
from mentis.web.problems import WebProblem

from .fields import (
    as_list,
    as_object,
    as_text,
    call_part,
    declaration,
    maybe_object,
    media_of,
    merge_turns,
    options_of,
    result_part,
    text_in,
    text_part,
    words,
)
from .requests import AnswerHead, ClientRequest, Finish, ServedAnswer

VERSION = "0.12.0"  # of the protocol, for clients that look
_FINISH: Mapping[Finish, str] = {
    "stop": "stop",
    "length": "length",
    "calls": "stop",
    "filter": "stop",
}


def read_ollama(body: JsonObject) -> ClientRequest:
    told, turns = _messages(as_list(body.get("messages"), "messages"))
    options = maybe_object(body.get("options"))
    listed = [as_object(one, "tools") for one in as_list(body.get("tools") or [], "tools")]
    functions = [as_object(one.get("function"), "tools.function") for one in listed]
    return ClientRequest(
        model=text_in(body, "model").removesuffix(":latest"),
        turns=turns,
        instructions=told,
        tools=tuple(
            declaration(
                text_in(one, "name", "tools."), one.get("description"), one.get("parameters")
            )
            for one in functions
        ),
        options=options_of(
            {
                "temperature": options.get("temperature"),
                "top_p": options.get("top_p"),
                "top_k": options.get("top_k"),
                "min_p": options.get("min_p"),
                "seed": options.get("seed"),
                "stop": options.get("stop"),
                "max_tokens": _positive(options.get("num_predict")),
            }
        ),
        output=maybe_object(body.get("format")) or None,
        stream=body.get("stream") is not False,
        reasoning_wanted=body.get("think") is not False,
        nameless=True,
    )


def _positive(found: object) -> int | None:
    return found if isinstance(found, int) and found > 0 else None


def _messages(found: list[object]) -> tuple[str, tuple[Turn, ...]]:
    """Calls have no ids here: they are counted, and results are theirs in the same order."""
    told: list[str] = []
    turns: list[Turn] = []
    waiting: list[str] = []
    for number, one in enumerate(found):
        where = f"messages[{number}]"
        message = as_object(one, where)
        role, said = text_in(message, "role", f"{where}."), words(message.get("content"), where)
        match role:
            case "system":
                told.append(said)
            case "user":
                images = as_list(message.get("images") or [], where)
                media = [media_of(as_text(image, where), "", where) for image in images]
                turns.append(Turn("user", (*media, *text_part(said))))
            case "assistant":
                calls = _calls(message, where, number)
                waiting = [call.id for call in calls]
                turns.append(Turn("assistant", (*text_part(said), *calls)))
            case "tool":
                call = waiting.pop(0) if waiting else ""
                turns.append(Turn("user", (result_part(call, said),)))
            case _:
                raise BadInput(f"{where}: there is no role {role!r}", hint="user, assistant, ...")
    return "\n\n".join(text for text in told if text), merge_turns(turns)


def _calls(message: JsonObject, where: str, number: int) -> list[ToolCallPart]:
    calls: list[ToolCallPart] = []
    for place, one in enumerate(as_list(message.get("tool_calls") or [], where)):
        function = as_object(as_object(one, where).get("function"), where)
        name = text_in(function, "name", f"{where}.")
        calls.append(call_part(f"call_{number}_{place}", name, function.get("arguments")))
    return calls


def write_ollama(answer: ServedAnswer, request: ClientRequest) -> JsonObject:
    message: dict[str, object] = {"role": "assistant", "content": answer.text}
    if answer.reasoning and request.reasoning_wanted:
        message["thinking"] = answer.reasoning
    return _last(answer, message)


class OllamaLines:
    """Writes one answer as lines of JSON."""

    def __init__(self, head: AnswerHead, request: ClientRequest) -> None:
        self._head = head
        self._thinks = request.reasoning_wanted

    def begin(self) -> bytes:
        return b""

    def reasoning(self, text: str) -> bytes:
        return self._piece({"content": "", "thinking": text}) if self._thinks else b""

    def text(self, text: str) -> bytes:
        return self._piece({"content": text})

    def end(self, answer: ServedAnswer) -> bytes:
        return line(_last(answer, {"role": "assistant", "content": ""}))

    def fail(self, problem: WebProblem) -> bytes:
        return line({"error": problem.message})

    def _piece(self, said: JsonObject) -> bytes:
        message = {"role": "assistant", **said}
        return line({**_head(self._head), "message": message, "done": False})


def _last(answer: ServedAnswer, message: JsonObject) -> JsonObject:
    calls = [
        {"function": {"name": call.type, "arguments": dict(call.payload)}} for call in answer.calls
    ]
    return {
        **_head(answer.head),
        "message": {**message, **({"tool_calls": calls} if calls else {})},
        "done": True,
        "done_reason": _FINISH[answer.finish],
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": answer.usage.input,
        "prompt_eval_duration": 0,
        "eval_count": answer.usage.output,
        "eval_duration": 0,
    }


def _head(head: AnswerHead) -> dict[str, object]:
    return {"model": head.model, "created_at": moment(head.created)}


def moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def line(data: JsonObject) -> bytes:
    return f"{json.dumps(data, ensure_ascii=False)}\n".encode()


def ollama_problem(problem: WebProblem) -> tuple[str, bytes]:
    message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    return "application/json", json.dumps({"error": message}, ensure_ascii=False).encode()
