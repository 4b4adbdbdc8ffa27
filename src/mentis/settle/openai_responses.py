"""Reads Responses events, one at a time, into deltas and at the end into a Reply.

Items are told apart by their place in the output: their ids change within some streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from mentis.values.reply import CallDelta, Delta, ReasoningDelta, Reply, Stop, TextDelta

from .counts import usage_in
from .diagnosis import responses_diagnosis
from .draft import DONE, Frank, Piece, ReplyDraft
from .expected import NOTHING_EXPECTED, Expectation
from .lenient import number_in, object_in, objects_in, text_in

WIRE = "openai-responses"
_STATUS: dict[str, Stop] = {
    "completed": "end",
    "complete": "end",
    "cancelled": "cut_off",
    "failed": "error",
}
_INCOMPLETE: dict[str, Stop] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}
_UNFINISHED = ("queued", "in_progress")
_ARGUMENTS = (
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
)
_REFUSAL = "the model refused; its words are the text"
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_GAP = "\n\n"
_Kind: TypeAlias = Literal["text", "reasoning", "call", "media"]


class ResponsesReader(Frank):
    """Feed it every event in order, then finish it. It works for whole bodies too."""

    def __init__(self, expected: Expectation = NOTHING_EXPECTED) -> None:
        self._draft = ReplyDraft(WIRE, expected)
        self._items: dict[int, Piece] = {}
        self._calls: dict[int, int] = {}

    def feed(self, event: str) -> tuple[Delta, ...]:
        if event == DONE:
            if self._items:
                self._draft.end_unstated()
            return ()
        body = self._draft.take(event)
        if body is None:
            return ()
        kind = body.get("type")
        if kind == "response.output_text.delta":
            return self._text(self._place(body), body.get("delta"))
        if kind in _ARGUMENTS:
            return self._argue(self._place(body), body.get("delta"))
        if kind in _THOUGHTS:
            return self._think(self._place(body), body.get("delta"))
        return self._other(kind, body, event)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        self._draft.pieces = [self._items[place] for place in sorted(self._items)]
        return self._draft.reply(interrupted=interrupted)

    def _other(self, kind: object, body: Mapping[str, object], event: str) -> tuple[Delta, ...]:
        match kind:
            case "response.output_item.added":
                return self._added(self._place(body), object_in(body.get("item")))
            case "response.output_item.done":
                return self._done(self._place(body), object_in(body.get("item")))
            case "response.reasoning_summary_part.added" if body.get("summary_index"):
                return self._think(self._place(body), _GAP)
            case "response.refusal.delta":
                self._draft.note("refusal", _REFUSAL)
                return self._text(self._place(body), body.get("delta"))
            case _:
                return self._whole(kind, body, event)

    def _whole(self, kind: object, body: Mapping[str, object], event: str) -> tuple[Delta, ...]:
        """Events about the whole response, a whole body, or an error that came instead."""
        if kind is None and ("output" in body or "status" in body):
            deltas = self._response(body, event)
            if (status := text_in(body.get("status"))) in _UNFINISHED:
                message = f"the response is {status!r} at the provider, and no answer yet"
                self._draft.problem("unfinished-response", message)
                self._draft.end("error")
            return deltas
        if kind is None and "error" not in body and "detail" in body:
            self._draft.fail(body["detail"], event)
            return ()
        if kind == "error" or (kind is None and "error" in body):
            self._draft.fail(body.get("error") or dict(body), event)
            return ()
        return self._response(object_in(body.get("response")), event)

    def _response(self, response: Mapping[str, object], event: str) -> tuple[Delta, ...]:
        """What the events about the whole response say: at the end, how it went."""
        if not response:
            return ()
        self._draft.take_identity(response.get("model"), response.get("id"))
        usage = usage_in(response.get("usage"), "input_tokens", "output_tokens")
        self._draft.usage = usage or self._draft.usage
        said = responses_diagnosis(response.get("prompt_cache_diagnostics"))
        self._draft.diagnosis = said or self._draft.diagnosis
        deltas: tuple[Delta, ...] = ()
        for place, item in enumerate(objects_in(response.get("output"))):
            if place not in self._items:  # told only now
                deltas += self._done(place, item)
        self._end(response, event)
        return deltas

    def _end(self, response: Mapping[str, object], event: str) -> None:
        status = text_in(response.get("status"))
        if not status or status in _UNFINISHED:
            return
        if status == "failed":
            self._draft.fail(response.get("error"), event)
        elif status in _STATUS:
            self._draft.end(_STATUS[status])
        else:
            reason = text_in(object_in(response.get("incomplete_details")).get("reason"))
            if reason in _INCOMPLETE:
                self._draft.end(_INCOMPLETE[reason])
            else:
                self._draft.end_unknown(reason or status)

    def _place(self, body: Mapping[str, object]) -> int:
        return number_in(body.get("output_index"), 0)

    def _added(self, place: int, item: Mapping[str, object]) -> tuple[Delta, ...]:
        piece = self._items[place] = Piece(_kind(item))
        if piece.kind != "call":
            return ()
        piece.id, piece.name = text_in(item.get("call_id")), text_in(item.get("name"))
        number = self._calls[place] = len(self._calls)
        given = item.get("arguments") or item.get("input")
        return (CallDelta(number, piece.name), *self._argue(place, given))

    def _done(self, place: int, item: Mapping[str, object]) -> tuple[Delta, ...]:
        """The item as it finally is. What was not streamed before is told now."""
        bare = {**item, "arguments": "", "input": ""}
        deltas = () if place in self._items else self._added(place, bare)
        piece = self._items[place]
        deltas += self._rest(place, piece, _text_of(item))
        if piece.kind == "call":
            piece.id = text_in(item.get("call_id")) or piece.id
            piece.name = text_in(item.get("name")) or piece.name
        self._look_at(piece, item)
        piece.state = _state(item)
        piece.closed = item.get("status") != "incomplete"
        return deltas

    def _look_at(self, piece: Piece, item: Mapping[str, object]) -> None:
        """What an item is beside its words."""
        match item.get("type"):
            case "message":
                if any(part.get("refusal") for part in objects_in(item.get("content"))):
                    self._draft.note("refusal", _REFUSAL)
            case "custom_tool_call":
                self._draft.note("custom-call", f"{piece.name!r} was called in words of its own")
            case "image_generation_call":
                mime = f"image/{text_in(item.get('output_format')) or 'png'}"
                if result := text_in(item.get("result")):
                    made = self._draft.media(mime, result)
                    piece.name, piece.payload = mime, made.payload if made else None
            case _:
                pass

    def _rest(self, place: int, piece: Piece, final: str) -> tuple[Delta, ...]:
        told = "".join(piece.texts)
        if not final or told == final:
            return ()
        piece.texts[:] = [final]
        if not final.startswith(told):
            self._draft.note("restated", "the finished item differs from its pieces; it counts")
            return ()
        rest = final[len(told) :]
        match piece.kind:
            case "call":
                return (CallDelta(self._calls[place], "", rest),)
            case "reasoning":
                return (ReasoningDelta(rest),)
            case _:
                return (TextDelta(rest),)

    def _text(self, place: int, text: object) -> tuple[Delta, ...]:
        if type(text) is not str or not text:
            return ()
        piece = self._items.get(place)
        if piece is None:
            piece = self._items[place] = Piece("text")
        piece.texts.append(text)
        return (TextDelta(text),)

    def _think(self, place: int, text: object) -> tuple[Delta, ...]:
        if type(text) is not str or not text:
            return ()
        self._items.setdefault(place, Piece("reasoning")).texts.append(text)
        return (ReasoningDelta(text),)

    def _argue(self, place: int, text: object) -> tuple[Delta, ...]:
        if type(text) is not str or not text:
            return ()
        self._items.setdefault(place, Piece("call")).texts.append(text)
        number = self._calls.setdefault(place, len(self._calls))
        return (CallDelta(number, "", text),)


def _kind(item: Mapping[str, object]) -> _Kind:
    kinds: dict[str, _Kind] = {
        "message": "text",
        "function_call": "call",
        "custom_tool_call": "call",
        "image_generation_call": "media",
    }
    return kinds.get(text_in(item.get("type")), "reasoning")


def _text_of(item: Mapping[str, object]) -> str:
    match item.get("type"):
        case "message":
            parts = objects_in(item.get("content"))
            return "".join(text_in(p.get("text")) or text_in(p.get("refusal")) for p in parts)
        case "function_call":
            return text_in(item.get("arguments"))
        case "custom_tool_call":
            return text_in(item.get("input"))
        case "reasoning":
            parts = objects_in(item.get("summary")) or objects_in(item.get("content"))
            return _GAP.join(text_in(part.get("text")) for part in parts)
        case _:
            return ""


def _state(item: Mapping[str, object]) -> dict[str, object]:
    """What has to be sent back beside the words; an item of another kind goes back whole."""
    match item.get("type"):
        case "message":
            kept = ("type", "id", "phase")
        case "function_call" | "custom_tool_call":
            kept = ("type", "id")
        case "image_generation_call":
            return {}
        case "reasoning":
            kept = ("type", "id", "summary", "encrypted_content")
        case _:
            return dict(item)
    return {name: item[name] for name in kept if item.get(name) is not None}
