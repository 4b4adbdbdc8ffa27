"""A provider that answers, and scores an answer it is given by one rule: what is told is likely."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mentis.values.rendering import Rendering
from mentis.values.route import Route

LIKELY, UNLIKELY = -0.1, -5.0


class Judge:
    """Says the next of its answers, and when they are used up `again`, or what `again` makes of the
    prompt. A token is likely where the prompt has it.
    """

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.sent: list[dict[str, Any]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        body = json.loads(rendering.body())
        self.sent.append(body)
        if "grammar" in body:
            yield _once(self._scored(body))
        elif self._answers:
            yield _once(_said(self._answers.pop(0)))
        else:
            known = "Bruno" in prompt_of(body)
            yield _once(_said("Your dog is called Bruno." if known else "I do not know."))

    def _scored(self, body: dict[str, Any]) -> dict[str, object]:
        told, tokens = prompt_of(body), self._tokens(body["grammar"])
        content = [
            {
                "id": number,
                "token": token,
                "bytes": list(token.encode()),
                "logprob": LIKELY if token.strip(" .") in told else UNLIKELY,
            }
            for number, token in tokens
        ]
        choice = {"message": {"content": ""}, "logprobs": {"content": content}}
        return {"choices": [{**choice, "finish_reason": "stop"}], "usage": _used(told)}

    def _tokens(self, grammar: str) -> list[tuple[int, str]]:
        body = grammar.partition("start: ")[2]
        if body.startswith('"'):
            self.known = dict(enumerate(re.findall(r"\s*\S+", json.loads(body))))
            return [*self.known.items(), (9999, "")]
        return [(int(one), self.known[int(one)]) for one in re.findall(r"<\[(\d+)\]>", body)]


def prompt_of(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def _said(text: str) -> dict[str, object]:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": _used(text)}


def _used(text: str) -> dict[str, object]:
    cached = {"cached_tokens": 10}
    return {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": cached}


async def _once(event: dict[str, object]) -> AsyncIterator[str]:
    yield json.dumps(event)
