"""Lesson of a refusal: which option or ability a provider says that its model does not have, or how
many tokens it holds.

Only what was sent can be refused, and only what the provider says in so many words is believed:
a lesson takes something away from this route.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mentis.errors import MentisError, ProviderRefused
from mentis.facts.abilities import abilities
from mentis.render.options import options_sent
from mentis.values.learned import CONTEXT, LearnedFact
from mentis.values.part import MediaPart
from mentis.values.request import PromptRequest

from .attempt import RouteAttempt

_STATUSES = (400, 404, 415, 422)
_REFUSED = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|extra inputs? (?:are|is) not permitted"
    r"|unknown (?:parameter|name|field|argument|property)|not permitted|not allowed|deprecated"
    r"|unexpected (?:keyword|parameter|field)|cannot be (?:set|used|specified) (?:with|for)",
    re.IGNORECASE,
)
_NO_IMAGES = re.compile(
    r"(?:not|n't) support[^.]{0,40}\b(?:images?|vision|multimodal)"
    r"|\b(?:images?|image_url|vision)\b[^.]{0,40}"
    r"(?:not (?:supported|allowed|permitted)|unsupported)"
    r"|no endpoints found that support image|unknown variant `?image_url"
    r"|not a multimodal model|at most 0 image",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(?:not|n't) support[^.]{0,30}\b(?:tools?\b(?! choice)|function call)"
    r"|\b(?:tools?|tool use|tool calling|function calling)\b"
    r" (?:is|are) (?:not supported|unsupported)"
    r"|no endpoints found that support tool|tool choice requires --|tools param requires --",
    re.IGNORECASE,
)
_NO_FORM = re.compile(
    r"\b(?:response_?format|text\.format|output_(?:config|format)|response_?(?:mime_?type|json_?schema)"
    r"|json_?schema|structured outputs?)\b",
    re.IGNORECASE,
)
# llama.cpp, OpenAI and vLLM, LM Studio, Anthropic, in this order.
_ROOM = re.compile(
    r"available context size \((\d+)|maximum context length is (\d+)"
    r"|context length of only (\d+)|tokens > (\d+) maximum",
    re.IGNORECASE,
)
_LEAST_ROOM = 256
_NO_FORCE = re.compile(r"\btool_choice\b", re.IGNORECASE)


def lesson_of(failure: MentisError, attempt: RouteAttempt) -> LearnedFact | None:
    """None where it says nothing that another call could do without."""
    if not isinstance(failure, ProviderRefused) or failure.facts.get("about") == "content":
        return None
    if failure.facts.get("status") not in _STATUSES:
        return None
    said = failure.message.partition(": the server answered ")[2] or failure.message
    return next(_lessons(said, str(failure.facts.get("param") or ""), attempt), None)


def _lessons(said: str, param: str, attempt: RouteAttempt) -> Iterator[LearnedFact]:
    payload, able = attempt.rendering.payload, abilities(attempt.route)
    room = _ROOM.search(said)
    if room is not None:
        tokens = int(next(filter(None, room.groups())))
        if _LEAST_ROOM <= tokens < attempt.route.context_tokens:
            yield LearnedFact(CONTEXT, tokens, said)
    if "max_tokens" in payload and "max_completion_tokens" in said:
        yield LearnedFact("limit_key", "max_completion_tokens", said)
    if _REFUSED.search(said):
        named = f"{param} {said}"
        sent = options_sent(payload, attempt.route)
        found = [(_place(name, named), option) for name, option in sent.items()]
        for _, option in sorted(one for one in found if one[0] >= 0):
            yield LearnedFact("refuses", option, said)
        if "tool_choice" in payload and able.forced_tool_choice and _NO_FORCE.search(named):
            yield LearnedFact("forced_tool_choice", value=False, said=said)
        if _has_form(attempt) and _NO_FORM.search(named):
            yield LearnedFact("structured_output", "never", said)
    if "tools" in payload and able.native_tools and _NO_TOOLS.search(said):
        yield LearnedFact("native_tools", value=False, said=said)
    if able.vision and _has_image(attempt.composed.request) and _NO_IMAGES.search(said):
        yield LearnedFact("vision", value=False, said=said)


def _place(name: str, said: str) -> int:
    found = re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", said)
    return -1 if found is None else found.start()


def _has_form(attempt: RouteAttempt) -> bool:
    """Whether the words were sent a schema, and no tool that gives the answer."""
    return attempt.composed.request.output is not None and not attempt.rendering.output_tool


def _has_image(request: PromptRequest) -> bool:
    told = (part for turn in request.conversation_history for part in turn.parts)
    parts = (*request.attachments, *(part for part in told if isinstance(part, MediaPart)))
    return any(part.kind == "image" for part in parts)
