"""Reads Messages events, one at a time, into deltas and at the end into a Reply."""

from __future__ import annotations

from collections.abc import Mapping

from mentis.values.reply import CallDelta, Delta, ReasoningDelta, Reply, Stop, TextDelta, Usage

from .arguments import BadArguments, read_arguments, said_again
from .diagnosis import anthropic_diagnosis
from .draft import Frank, Piece, ReplyDraft
from .expected import NOTHING_EXPECTED, Expectation
from .lenient import count_in, list_in, number_in, object_in, objects_in, text_in

WIRE = "anthropic"
_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "refusal": "filtered",
    "pause_turn": "other",
    "compaction": "other",
}
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens_details",
)


class AnthropicReader(Frank):
    """Feed it every event in order, then finish it. It works for whole bodies too."""

    def __init__(self, expected: Expectation = NOTHING_EXPECTED) -> None:
        self._expected = expected
        self._draft = ReplyDraft(WIRE, expected, calls="tool_use")
        self._blocks: dict[int, Piece] = {}
        self._calls: dict[int, int] = {}
        self._counts: dict[str, object] = {}
        self._inputs: dict[int, list[str]] = {}  # of tools that the server itself uses
        self._begun = False
        self._over = False

    def feed(self, event: str) -> tuple[Delta, ...]:
        body = self._draft.take(event)
        if body is None:
            return ()
        kind = body.get("type")
        if kind == "content_block_delta" and not self._over:
            delta = body.get("delta")
            return self._delta(object_in(delta), body.get("index"))
        if kind == "error" or (kind is None and "error" in body):
            self._draft.fail(body.get("error"), event)
            return ()
        if kind is None and "detail" in body:
            self._draft.fail(body["detail"], event)
            return ()
        if kind == "message_start":
            return self._begin(object_in(body.get("message")), event)
        return () if self._over else self._other(kind, body)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        self._draft.pieces = [b for b in self._blocks.values() if id(b) not in self._inputs]
        if self._inputs:
            self._draft.note("cut-input", "the input of a server tool was cut short and left out")
        return self._draft.reply(interrupted=interrupted)

    def _other(self, kind: object, body: Mapping[str, object]) -> tuple[Delta, ...]:
        match kind:
            case "content_block_start":
                index = number_in(body.get("index"), len(self._blocks))
                return self._open(index, object_in(body.get("content_block")))
            case "content_block_stop":
                if piece := self._blocks.get(number_in(body.get("index"), -1)):
                    return self._close(piece)
            case "message_delta":
                self._end(object_in(body.get("delta")))
                self._use(body.get("usage"))
            case "message":
                return self._whole(body)
            case _:
                pass  # ping, message_stop, and what will be added one day
        return ()

    def _begin(self, message: Mapping[str, object], event: str) -> tuple[Delta, ...]:
        """A second message in one stream is never mixed into the first."""
        if self._begun:
            self._draft.problem("second-message", "a second message began in one stream", event)
            if self._draft.stop is not None:
                self._over = True
                return ()
            self._blocks.clear()
            self._calls.clear()
            self._counts.clear()
            self._inputs.clear()
        self._begun = True
        return self._whole(message)

    def _whole(self, message: Mapping[str, object]) -> tuple[Delta, ...]:
        self._draft.take_identity(message.get("model"), message.get("id"))
        self._use(message.get("usage"))
        self._draft.diagnosis = anthropic_diagnosis(message.get("diagnostics"))
        deltas: tuple[Delta, ...] = ()
        for index, block in enumerate(objects_in(message.get("content"))):
            deltas += self._open(index, block)
            deltas += self._close(self._blocks[index])
        self._end(message)
        return deltas

    def _open(self, index: int, block: Mapping[str, object]) -> tuple[Delta, ...]:
        match block.get("type"):
            case "text":
                piece = self._blocks[index] = Piece("text")
                if citations := list_in(block.get("citations")):
                    piece.state["citations"] = list(citations)
                return self._text(piece, text_in(block.get("text")))
            case "thinking":
                piece = self._blocks[index] = Piece("reasoning")
                self._sign(piece, block.get("signature"))
                return self._think(piece, text_in(block.get("thinking")))
            case "tool_use":
                return self._call(index, block)
            case _:
                # Redacted thinking and blocks of server tools go back exactly as they came.
                self._blocks[index] = Piece("reasoning", state=dict(block))
                return ()

    def _call(self, index: int, block: Mapping[str, object]) -> tuple[Delta, ...]:
        piece = self._blocks[index] = Piece("call")
        piece.id, piece.name = text_in(block.get("id")), text_in(block.get("name"))
        given = block.get("input")
        if given or (given is not None and not isinstance(given, dict)):
            piece.payload = given
        number = self._calls[id(piece)] = len(self._calls)
        return (CallDelta(number, piece.name),)

    def _delta(self, delta: Mapping[str, object], index: object) -> tuple[Delta, ...]:
        piece = self._blocks.get(index) if type(index) is int else None
        if piece is None:
            self._draft.problem("stray-delta", f"a piece of block {index!r}, which never began")
            return ()
        match delta.get("type"):
            case "text_delta":
                return self._text(piece, delta.get("text"))
            case "input_json_delta":
                return self._input(piece, delta.get("partial_json"))
            case "thinking_delta":
                return self._think(piece, delta.get("thinking"))
            case "signature_delta":
                self._sign(piece, delta.get("signature"))
            case "citations_delta":
                kept = list_in(piece.state.setdefault("citations", []))
                kept.append(delta.get("citation"))
            case kind:
                self._draft.note("unknown-delta", f"a piece of kind {kind!r} was passed over")
        return ()

    def _text(self, piece: Piece, text: object) -> tuple[Delta, ...]:
        if type(text) is not str or not text:
            return ()
        piece.texts.append(text)
        return (TextDelta(text),)

    def _think(self, piece: Piece, text: object) -> tuple[Delta, ...]:
        if type(text) is not str or not text:
            return ()
        piece.texts.append(text)
        return (ReasoningDelta(text),)

    def _input(self, piece: Piece, text: object) -> tuple[Delta, ...]:
        if type(text) is not str or not text:
            return ()
        if piece.kind != "call":  # a server tool: its input belongs to the block it came with
            self._inputs.setdefault(id(piece), []).append(text)
            return ()
        piece.payload = None
        piece.texts.append(text)
        return (CallDelta(self._calls[id(piece)], "", text),)

    def _close(self, piece: Piece) -> tuple[Delta, ...]:
        """Arguments that came with the block are told now, when it is known that they count."""
        first, piece.closed = not piece.closed, True
        if first and piece.kind == "call" and piece.payload is not None:
            return (CallDelta(self._calls[id(piece)], "", said_again(piece.payload)),)
        pieces = self._inputs.pop(id(piece), None)
        if pieces is None:
            return ()
        raw = "".join(pieces)
        try:
            piece.state["input"] = read_arguments(raw)
        except BadArguments as error:
            self._draft.problem("bad-arguments", f"input of a server tool: {error}", raw)
            piece.state.clear()  # its issuer would not take it back
        return ()

    def _sign(self, piece: Piece, signature: object) -> None:
        """Thinking without a signature is not replayed, so it has no state."""
        if text := text_in(signature):
            signed = f"{piece.state.get('signature', '')}{text}"
            piece.state.update(type="thinking", signature=signed)

    def _end(self, delta: Mapping[str, object]) -> None:
        reason = text_in(delta.get("stop_reason"))
        if not reason:
            return
        if reason not in _STOPS:
            self._draft.end_unknown(reason)
            return
        self._draft.end(_STOPS[reason])
        if _STOPS[reason] in ("other", "filtered"):
            details = object_in(delta.get("stop_details"))
            said = text_in(details.get("explanation")) or f"the provider stopped with {reason!r}"
            self._draft.note(reason.replace("_", "-"), said)

    def _use(self, usage: object) -> None:
        """Counts are totals so far; the later ones replace the earlier, and null replaces none."""
        counts = object_in(usage)
        self._counts |= {n: counts[n] for n in _COUNTS if counts.get(n) is not None}
        if not self._counts:
            return
        fresh, wrote, read = (
            count_in(self._counts.get(name))
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        details = object_in(self._counts.get("output_tokens_details"))
        self._draft.usage = Usage(
            input=fresh + wrote + read,
            output=count_in(self._counts.get("output_tokens")),
            cache_read=read,
            cache_write=wrote,
            reasoning=count_in(details.get("thinking_tokens")),
        )
