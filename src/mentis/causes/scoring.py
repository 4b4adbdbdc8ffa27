"""Log-probability of a given answer: the question as each kind of server takes it, and its reply.

Three ways are known, and the fact `answer_scores` of a route says which. `llguidance` and `gbnf`:
llama.cpp writes the answer under a grammar that allows nothing else, and tells the probability
that each token had without the grammar. `prompt`: vLLM reads the answer as the beginning of its
own, and tells the probabilities of the tokens it read.

Which tokens the answer is cut into is settled once, with everything in the prompt; after that the
tokens themselves are asked for, so that falls are compared token by token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mentis.errors import ReplyError
from mentis.facts.ability import AnswerScores
from mentis.values.json import JsonObject
from mentis.values.rendering import Rendering
from mentis.values.value import Value

# What binds an answer, and what streams it: the first contradicts the grammar, the second would
# only cut what is wanted whole.
_LEFT = ("response_format", "stream", "stream_options", "stop", "max_completion_tokens")
_SPARE = 64  # more tokens than an answer has characters are never needed; some end it


@dataclass(frozen=True, slots=True)
class ScoredToken(Value):
    """A token of the answer with its own log-probability. `id` -1: its server tells none."""

    text: str
    logprob: float
    id: int = -1


def scoring_rendering(
    rendering: Rendering, answer: str, how: AnswerScores, tokens: Sequence[ScoredToken] = ()
) -> Rendering:
    """The same prompt, sent to have this answer scored; by these tokens, where they are known."""
    payload = {name: told for name, told in rendering.payload.items() if name not in _LEFT}
    payload |= {"stream": False, "temperature": 0}
    if how == "prompt":
        messages = cast("list[object]", payload["messages"])
        payload["messages"] = [*messages, {"role": "assistant", "content": answer}]
        payload |= {"add_generation_prompt": False, "continue_final_message": True}
        payload |= {"prompt_logprobs": 0, "max_tokens": 1}
    else:
        ids = [one.id for one in tokens]
        payload |= {"logprobs": True, "top_logprobs": 1, "grammar": _grammar(how, answer, ids)}
        payload["max_tokens"] = len(ids) or len(answer) + _SPARE
    return replace(rendering, payload=payload)


def _grammar(how: AnswerScores, answer: str, ids: Sequence[int]) -> str:
    """Of these tokens, or of this text. JSON's way to write a text is that of both grammars."""
    body = " ".join(f"<[{one}]>" for one in ids) or json.dumps(answer, ensure_ascii=False)
    return f"%llguidance {{}}\nstart: {body}" if how == "llguidance" else f"root ::= {body}"


def scored_tokens(events: Sequence[str], answer: str, how: AnswerScores) -> tuple[ScoredToken, ...]:
    """What a server said of the tokens of this answer. ReplyError where it is of another one."""
    try:
        told = [_object(json.loads(event)) for event in events]
        tokens = _read_tokens(told, answer) if how == "prompt" else _written_tokens(told, answer)
    except (ValueError, TypeError, KeyError, AttributeError):
        tokens = ()
    if tokens:
        return tokens
    raise ReplyError(
        "the server scored another answer than the recorded one, or none",
        hint="the fact answer_scores of its route says how it can score: correct it, or set it to"
        ' "" to compare new answers instead',
    )


def _written_tokens(events: Sequence[JsonObject], answer: str) -> tuple[ScoredToken, ...]:
    """Those that have bytes: what ends an answer has none. A letter may be two tokens."""
    tokens, written = list[ScoredToken](), b""
    for one in _written(events):
        data = bytes(cast("list[int]", one["bytes"]))
        written += data
        if data:
            logprob = float(cast("float", one["logprob"]))
            tokens.append(ScoredToken(data.decode(errors="replace"), logprob, _id(one)))
    return tuple(tokens) if written == answer.encode() else ()


def _written(events: Sequence[JsonObject]) -> Iterator[JsonObject]:
    for event in events:
        for choice in _objects(event.get("choices")):
            yield from _objects(_object(choice.get("logprobs") or {}).get("content"))


def _id(told: JsonObject) -> int:
    return cast("int", told.get("id", -1))


def _read_tokens(events: Sequence[JsonObject], answer: str) -> tuple[ScoredToken, ...]:
    """The last of those that were read: as many as spell the answer."""
    read: list[ScoredToken] = []
    for event in events:
        for place in cast("list[object]", event.get("prompt_logprobs") or []):
            for name, told in _object(place or {}).items():
                one = _object(told)
                logprob = float(cast("float", one["logprob"]))
                read.append(ScoredToken(str(one.get("decoded_token", "")), logprob, int(name)))
                break  # the token that was read stands first, and then likelier ones
    spelled = ""
    for number in range(len(read) - 1, -1, -1):
        spelled = read[number].text + spelled
        if len(spelled) >= len(answer):
            return tuple(read[number:]) if spelled.strip() == answer.strip() else ()
    return ()


def _object(told: object) -> JsonObject:
    if not isinstance(told, Mapping):
        raise TypeError(told)
    return cast("JsonObject", told)


def _objects(told: object) -> list[JsonObject]:
    return [_object(one) for one in cast("list[object]", told or [])]
