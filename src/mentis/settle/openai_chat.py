"""Reads Chat Completions events, one at a time, into deltas and at the end into a Reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mentis.values.reply import CallDelta, Delta, ReasoningDelta, Reply, Stop, TextDelta, Usage

from .arguments import said_again
from .counts import usage_in
from .draft import DONE, Frank, Piece, ReplyDraft
from .expected import NOTHING_EXPECTED, Expectation
from .lenient import list_in, number_in, object_in, objects_in, text_in

WIRE = "openai-chat"
_STOPS: dict[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "filtered",
}
# The names of a thought, each as some servers have it.
_THOUGHTS = ("reasoning_content", "reasoning")
# What is in the delta of nearly every event; anything more is looked at one by one.
_PLAIN = {"content", "role", "refusal"}


class ChatReader(Frank):
    """Feed it every event in order, then finish it. It works for whole bodies too."""

    def __init__(self, expected: Expectation = NOTHING_EXPECTED) -> None:
        self._draft = ReplyDraft(WIRE, expected, calls="tool_calls")
        self._thought: Piece | None = None
        self._said: Piece | None = None
        self._field = ""
        self._media: list[Piece] = []
        self._calls: list[Piece] = []
        self._at: dict[int, int] = {}

    def feed(self, event: str) -> tuple[Delta, ...]:
        if event == DONE:
            self._over()
            return ()
        body = self._draft.take(event)
        return () if body is None else self._read(body, event)

    def _read(self, body: Mapping[str, object], event: str) -> tuple[Delta, ...]:
        choices = body.get("choices")
        if "error" in body and (body["error"] is not None or choices is None):
            self._draft.fail(body["error"], event)
        elif choices is None and "detail" in body:
            self._draft.fail(body["detail"], event)
        if not self._draft.model:
            self._draft.take_identity(body.get("model"), body.get("id"))
        if body.get("usage") is not None or "x_groq" in body:
            self._draft.usage = _usage(body) or self._draft.usage
        some = list_in(choices)
        if not some:
            return ()
        deltas = self._choice(some[0], event)
        for choice in some[1:] if len(some) > 1 else ():
            deltas += self._choice(choice, event)
        if "message" in object_in(some[0]) and body.get("object") != "chat.completion.chunk":
            self._over()  # a whole body is whole, also where its reason is empty
        return deltas

    def take(self, event: str) -> None:
        """Nearly every event of an answer that began is one more piece of its text."""
        if self._said is None or not self._draft.model or event == DONE:
            self.feed(event)
        elif (body := self._draft.take(event)) is None:
            return
        elif (text := _only_text(body)) is None:
            self._read(body, event)
        else:
            self._said.texts.append(text)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        if self._thought is not None and self._field and not self._thought.state:
            self._thought.state["type"] = self._field
        order = [self._thought, self._said, *self._media, *self._calls]
        self._draft.pieces = [piece for piece in order if piece is not None]
        return self._draft.reply(interrupted=interrupted)

    def _over(self) -> None:
        """Said to be over; where nothing came at all, it never was an answer."""
        if self._thought or self._said or self._media or self._calls:
            self._draft.end_unstated()

    def _choice(self, value: object, event: str) -> tuple[Delta, ...]:
        choice = object_in(value)
        if choice.get("index"):
            self._draft.note("other-choice", "the provider sent further answers; the first counts")
            return ()
        delta = choice.get("delta") or choice.get("message")
        deltas: tuple[Delta, ...] = ()
        if piece := object_in(delta):
            deltas = self._delta(piece)
        elif "text" in choice:
            deltas = self._text(choice["text"])
        if reason := choice.get("finish_reason"):
            self._end(reason, choice, event)
        return deltas

    def _delta(self, delta: Mapping[str, object]) -> tuple[Delta, ...]:
        content = delta.get("content")
        if len(delta) == 1 and type(content) is str:
            return self._text(content)
        deltas: tuple[Delta, ...] = ()
        if not delta.keys() <= _PLAIN:
            deltas += self._reasoning(delta)
        deltas += self._text(content)
        if refusal := text_in(delta.get("refusal")):
            deltas += self._text(refusal)
            self._draft.note("refusal", "the model refused; its words are the text")
        if delta.keys() <= _PLAIN:
            return deltas
        self._pictures(delta.get("images"))
        if audio := object_in(delta.get("audio")):
            deltas += self._text(audio.get("transcript"))
            self._draft.note("audio", "the model spoke; its words are the text, its voice is lost")
        return deltas + self._called(delta)

    def _pictures(self, images: object) -> None:
        """Only those that came with the answer: nothing is fetched here."""
        for image in objects_in(images):
            url = text_in(object_in(image.get("image_url")).get("url"))
            head, found, data = url.partition(";base64,")
            if not found or not head.startswith("data:"):
                message = "the model made a picture and told only where it is"
                self._draft.note("image-address", message, url)
            elif piece := self._draft.media(head.removeprefix("data:"), data):
                self._media.append(piece)

    def _text(self, content: object) -> tuple[Delta, ...]:
        if type(content) is not str:
            return self._content_parts(content) if content else ()
        if not content:
            return ()
        if self._said is None:
            self._said = Piece("text")
        self._said.texts.append(content)
        return (TextDelta(content),)

    def _content_parts(self, content: object) -> tuple[Delta, ...]:
        """Some servers send a list where the format has a text."""
        deltas: tuple[Delta, ...] = ()
        for part in objects_in(content):
            deltas += self._text(text_in(part.get("text")))
            for thought in objects_in(part.get("thinking")):
                deltas += self._thinking(text_in(thought.get("text")))
        return deltas

    def _reasoning(self, delta: Mapping[str, object]) -> tuple[Delta, ...]:
        """Servers disagree on the name, and want it back under the one they used; details carry
        all that has to be sent back.
        """
        field = next((name for name in _THOUGHTS if text_in(delta.get(name))), "")
        self._field = self._field or field
        thought = text_in(delta.get(field))
        details = list_in(delta.get("reasoning_details"))
        if not thought:
            words = [item.get("text") or item.get("summary") for item in objects_in(details)]
            thought = "".join(map(text_in, words))
        deltas = self._thinking(thought)
        if details:
            self._thought = self._thought or Piece("reasoning")
            kept = list_in(self._thought.state.setdefault("reasoning_details", []))
            for detail in details:
                _keep_detail(kept, detail)
        return deltas

    def _thinking(self, thought: str) -> tuple[Delta, ...]:
        if not thought:
            return ()
        self._thought = self._thought or Piece("reasoning")
        self._thought.texts.append(thought)
        return (ReasoningDelta(thought),)

    def _called(self, delta: Mapping[str, object]) -> tuple[Delta, ...]:
        calls = objects_in(delta.get("tool_calls"))
        deltas = [self._call(call, position) for position, call in enumerate(calls)]
        legacy = object_in(delta.get("function_call"))
        if any(legacy.values()):  # some servers send an empty one in every piece
            deltas.append(self._call({"function": legacy}, -1))
        return tuple(deltas)

    def _call(self, piece: Mapping[str, object], position: int) -> CallDelta:
        index = number_in(piece.get("index"), position)
        function = object_in(piece.get("function"))
        name, call_id = text_in(function.get("name")), text_in(piece.get("id"))
        number = self._at.get(index, -1)
        if number < 0 or self._is_another(self._calls[number], name, call_id):
            number = self._at[index] = len(self._calls)
            self._calls.append(Piece("call"))
        call = self._calls[number]
        call.id = call.id or call_id
        fresh = name if name != call.name else ""  # some servers repeat it in every piece
        call.name += fresh
        return CallDelta(number, fresh, self._arguments(call, function.get("arguments")))

    def _is_another(self, call: Piece, name: str, call_id: str) -> bool:
        """Some servers give every call the same index; a new id and a name tell them apart."""
        return bool(name and call_id and call.id and call_id != call.id)

    def _arguments(self, call: Piece, arguments: object) -> str:
        if isinstance(arguments, dict):
            self._draft.note("arguments-form", "arguments came as an object, not as its text")
            arguments = said_again(cast("object", arguments))
        text = text_in(arguments)
        call.texts.append(text)
        return text

    def _end(self, reason: object, choice: Mapping[str, object], event: str) -> None:
        name = text_in(reason)
        if name == "error":
            if self._draft.stop != "error":
                self._draft.fail(choice.get("error"), event)
        elif name in _STOPS:
            self._draft.end(_STOPS[name])
        elif name:
            self._draft.end_unknown(name)


def _only_text(body: Mapping[str, object]) -> str | None:
    """The text of an event that says nothing besides."""
    choices = list_in(body.get("choices"))
    if len(choices) != 1 or body.get("usage") is not None or "error" in body or "x_groq" in body:
        return None
    choice = object_in(choices[0])
    delta = object_in(choice.get("delta"))
    text = delta.get("content")
    if len(delta) != 1 or choice.get("finish_reason") or choice.get("index"):
        return None
    return text if type(text) is str else None


def _keep_detail(kept: list[object], detail: object) -> None:
    """Pieces of one detail are joined: the issuer wants it back as it was thought."""
    last, now = object_in(kept[-1] if kept else None), object_in(detail)
    same = all(last.get(name) == now.get(name) for name in ("type", "index"))
    joined = next((n for n in ("text", "summary") if isinstance(now.get(n), str)), "")
    if not same or not joined or not isinstance(last.get(joined), str) or last.get("signature"):
        kept.append(detail)
        return
    words = f"{last[joined]}{now[joined]}"
    given = {name: part for name, part in now.items() if part is not None}
    kept[-1] = {**last, **given, joined: words}


def _usage(body: Mapping[str, object]) -> Usage | None:
    """One server tells the usage of a stream in a field of its own."""
    counts = body.get("usage") or object_in(body.get("x_groq")).get("usage")
    return usage_in(counts, "prompt_tokens", "completion_tokens")
