"""Reads generateContent answers: streamed events, an array of them, or one whole body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mentis.values.reply import CallDelta, Delta, ReasoningDelta, Reply, Stop, TextDelta, Usage

from .arguments import said_again
from .draft import Frank, Piece, ReplyDraft
from .expected import NOTHING_EXPECTED, Expectation
from .lenient import count_in, list_in, mark_doubled, object_in, text_in

WIRE = "gemini"
_STOPS: dict[str, Stop] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "MODEL_ARMOR",
        ),
        "filtered",
    ),
}
_MALFORMED = (
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
)
_COUNTS = {
    "promptTokenCount": "prompt_token_count",
    "toolUsePromptTokenCount": "tool_use_prompt_token_count",
    "candidatesTokenCount": "candidates_token_count",
    "thoughtsTokenCount": "thoughts_token_count",
    "cachedContentTokenCount": "cached_content_token_count",
}


class GeminiReader(Frank):
    """Feed it every event in order, then finish it."""

    def __init__(self, expected: Expectation = NOTHING_EXPECTED) -> None:
        self._draft = ReplyDraft(WIRE, expected, calls="unction")
        self._counts: dict[str, object] = {}
        self._used: Mapping[str, object] = {}
        self._calls = 0
        self._streamed: list[Mapping[str, object]] = []  # a call that comes in pieces

    def feed(self, event: str) -> tuple[Delta, ...]:
        if event[:1] != "{" and event.lstrip()[:1] in ("[", ",", "]"):
            return self._array(event)
        body = self._draft.take(event)
        return () if body is None else self._body(body, event)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        self._draft.usage = _usage(self._counts)
        self._end_streamed()
        return self._draft.reply(interrupted=interrupted)

    def _array(self, event: str) -> tuple[Delta, ...]:
        """Without `alt=sse` the answer is one array; it may come whole or item by item."""
        inside = event.strip().removeprefix("[").removeprefix(",").strip()
        items = _items(event) or _items(f"[{inside}]") or _items(f"[{inside}")
        if items is None:
            if inside in ("", "]", ","):
                self._draft.raw.append(event)
            else:
                self._draft.take(event)
            return ()
        self._draft.raw.append(event)
        deltas: tuple[Delta, ...] = ()
        for item in items:
            deltas += self._body(object_in(item), event)
        return deltas

    def _body(self, body: Mapping[str, object], event: str) -> tuple[Delta, ...]:
        if "error" in body:
            self._draft.fail(body["error"], event)
            return ()
        if "detail" in body and "candidates" not in body:
            self._draft.fail(body["detail"], event)
            return ()
        if not self._draft.model:
            self._draft.take_identity(
                _either(body, "modelVersion", "model_version"),
                _either(body, "responseId", "response_id"),
            )
        if usage := body.get("usageMetadata") or body.get("usage_metadata"):
            self._use(usage)
        if feedback := body.get("promptFeedback") or body.get("prompt_feedback"):
            self._blocked(object_in(feedback))
        candidates = list_in(body.get("candidates"))
        if not candidates:
            return ()
        if len(candidates) > 1:
            self._draft.note("other-choice", "the provider sent further answers; the first counts")
        return self._candidate(object_in(candidates[0]))

    def _blocked(self, feedback: Mapping[str, object]) -> None:
        if reason := text_in(_either(feedback, "blockReason", "block_reason")):
            self._draft.problem("blocked-prompt", f"the provider blocked the prompt: {reason}")
            self._draft.end("filtered")

    def _candidate(self, candidate: Mapping[str, object]) -> tuple[Delta, ...]:
        parts = list_in(object_in(candidate.get("content")).get("parts"))
        if len(parts) == 1:  # as in most events
            deltas = self._part(object_in(parts[0]))
        else:
            deltas = tuple(delta for part in parts for delta in self._part(object_in(part)))
        if reason := candidate.get("finishReason") or candidate.get("finish_reason"):
            self._end(text_in(reason), candidate)
        return deltas

    def _part(self, part: Mapping[str, object]) -> tuple[Delta, ...]:
        text = part.get("text")
        if type(text) is str and len(part) == 1:
            pieces = self._draft.pieces
            if text and pieces and (last := pieces[-1]).kind == "text" and not last.state:
                last.texts.append(text)  # it goes on, as most do
                return (TextDelta(text),)
            return self._text(text, "", thought=False)
        signature = text_in(_either(part, "thoughtSignature", "thought_signature"))
        if type(text) is str:
            return self._text(text, signature, thought=part.get("thought") is True)
        if (call := _either(part, "functionCall", "function_call")) is not None:
            return self._call(object_in(call), signature)
        if (media := _either(part, "inlineData", "inline_data")) is not None:
            self._media(object_in(media), signature)
        elif part:
            # Code the provider ran itself and the like go back exactly as they came.
            self._draft.open("reasoning").state.update(part)
        return ()

    def _text(self, text: str, signature: str, *, thought: bool) -> tuple[Delta, ...]:
        """Pieces of one kind are one part, but a part that is signed stays by itself."""
        kind = "reasoning" if thought else "text"
        pieces = self._draft.pieces
        last = pieces[-1] if pieces else None
        if last is None or last.kind != kind or last.state or signature:
            if not text and not signature:
                return ()
            last = self._draft.open(kind)
            _sign(last, signature)
        if not text:
            return ()
        last.texts.append(text)
        return (ReasoningDelta(text) if thought else TextDelta(text),)

    def _call(self, call: Mapping[str, object], signature: str) -> tuple[Delta, ...]:
        name, arguments = text_in(call.get("name")), call.get("args")
        goes_on = _either(call, "willContinue", "will_continue") is True
        if goes_on or _either(call, "partialArgs", "partial_args") is not None:
            if name:
                self._end_streamed()
            self._streamed.append(call)
            return ()
        if self._streamed and not name:  # the empty one that ends it
            self._end_streamed()
            return ()
        piece = self._draft.open("call")
        piece.id, piece.name, piece.closed = text_in(call.get("id")), name, True
        piece.payload = {} if arguments is None else arguments
        _sign(piece, signature)
        if piece.id:
            piece.state["id"] = piece.id
        number, self._calls = self._calls, self._calls + 1
        return (CallDelta(number, name, said_again(piece.payload)),)

    def _end_streamed(self) -> None:
        """A call that came in pieces is told as one error: its arguments are not put together."""
        if not self._streamed:
            return
        name = text_in(self._streamed[0].get("name"))
        message = f"arguments of {name!r} came in pieces, which this reader does not take"
        raw = "\n".join(json.dumps(dict(call)) for call in self._streamed)
        self._draft.problem("bad-arguments", message, raw)
        self._streamed = []

    def _media(self, media: Mapping[str, object], signature: str) -> None:
        mime = text_in(_either(media, "mimeType", "mime_type"))
        piece = self._draft.media(mime, text_in(media.get("data")))
        if piece is not None:
            _sign(piece, signature)
            self._draft.pieces.append(piece)

    def _end(self, reason: str, candidate: Mapping[str, object]) -> None:
        said = text_in(_either(candidate, "finishMessage", "finish_message"))
        if reason in _MALFORMED:
            self._draft.problem("malformed-call", f"{reason}: {said or 'no details'}", said)
            self._draft.end("other")
        elif reason in _STOPS:
            self._draft.end(_STOPS[reason])
            if said:
                self._draft.note("stop-message", said)
        elif reason and reason != "FINISH_REASON_UNSPECIFIED":
            self._draft.end_unknown(reason)

    def _use(self, usage: object) -> None:
        """Told again in every event; a count that later ones leave out stays as it was."""
        counts = object_in(usage)
        if counts == self._used:  # most events repeat what the one before them said
            return
        self._used = counts
        if None in counts.values():
            counts = {name: count for name, count in counts.items() if count is not None}
        self._counts.update(counts)


def _usage(counts: Mapping[str, object]) -> Usage | None:
    if not counts:
        return None
    prompt, tools, candidates, thoughts, cached = (
        count_in(_either(counts, camel, snake)) for camel, snake in _COUNTS.items()
    )
    return Usage(
        input=prompt + tools,
        output=candidates + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )


def _either(body: Mapping[str, object], camel: str, snake: str) -> object:
    value = body.get(camel)
    return body.get(snake) if value is None else value


def _sign(piece: Piece, signature: str) -> None:
    if signature:
        piece.state["thoughtSignature"] = signature


def _items(text: str) -> list[object] | None:
    try:
        parsed: object = json.loads(text, object_pairs_hook=mark_doubled)
    except (ValueError, RecursionError):
        return None
    return cast("list[object]", parsed) if isinstance(parsed, list) else None
