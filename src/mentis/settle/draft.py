"""A reply while it is being read: its pieces in their order, and what is wrong with them.

Readers of every wire format write into one; how a piece becomes text, an action or an error is
decided here, once for all of them. What a format's events mean is not known here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, cast

from mentis.values.json import JsonObject
from mentis.values.part import MediaPart, Part, ProviderState, ReasoningPart, TextPart
from mentis.values.reply import CacheDiagnosis, Delta, Reply, ReplyProblem, Stop, Usage

from .arguments import is_recordable
from .calls import SettledCalls, settle_call
from .expected import Expectation
from .lenient import (
    all_printable,
    decode_at_start,
    decode_marked,
    mark_doubled,
    object_in,
    objects_in,
    printable,
    text_in,
)

# The arguments of a call as an object that is not empty: only there a key may stand twice unseen.
_GIVEN = re.compile(r'"(?:arguments|args|input)"\s*:\s*\{\s*"')
# The bare mark by which a stream says that it is over.
DONE = "[DONE]"
_BROKEN: tuple[Stop, ...] = ("cut_off", "interrupted", "error")


@dataclass(slots=True)
class Piece:
    """A run of text, a thought, a call or a picture. `state` goes back to its issuer as it came.

    `texts` are the arguments, in a call. `closed`: its format has said that it is complete.
    """

    kind: Literal["text", "reasoning", "call", "media"]
    texts: list[str] = field(default_factory=list[str])
    state: dict[str, object] = field(default_factory=dict[str, object])
    id: str = ""
    name: str = ""
    payload: object = None
    closed: bool = False


class Frank(ABC):
    """A reader that tells everything as it comes and holds nothing back."""

    @abstractmethod
    def feed(self, event: str) -> tuple[Delta, ...]: ...

    def take(self, event: str) -> None:
        self.feed(event)

    def rest(self) -> tuple[Delta, ...]:
        return ()


class ReplyDraft:
    """What has been read so far.

    `calls` stands in every event that may hold the arguments of a call as an object.
    """

    def __init__(self, wire: str, expected: Expectation, *, calls: str | None = None) -> None:
        self.wire = wire
        self._calls = calls
        self.expected = expected
        self.pieces: list[Piece] = []
        self.usage: Usage | None = None
        self.diagnosis: CacheDiagnosis | None = None
        self.stop: Stop | None = None
        self.model = ""
        self.id = ""
        self.raw: list[str] = []
        self._problems: list[ReplyProblem] = []
        self._notes: dict[ReplyProblem, None] = {}

    def take(self, event: str) -> Mapping[str, object] | None:
        """The JSON object in an event; None, and a problem, when there is none."""
        self.raw.append(event)
        try:
            calls = self._calls is not None and self._calls in event and _GIVEN.search(event)
            body, end = decode_marked(event) if calls else decode_at_start(event)
            if end == len(event) and isinstance(body, dict):
                return body  # pyright: ignore[reportUnknownVariableType]  # JSON has such keys only
        except (ValueError, RecursionError):
            pass  # it may begin with a blank; what is really wrong is said below
        return self._take_slowly(event)

    def _take_slowly(self, event: str) -> Mapping[str, object] | None:
        try:
            body: object = json.loads(event, object_pairs_hook=mark_doubled)
        except (ValueError, RecursionError) as error:
            self.problem("bad-event", f"not JSON: {error}", event)
            return None
        if not isinstance(body, dict):
            self.problem("bad-event", "not a JSON object", event)
            return None
        return cast("Mapping[str, object]", body)

    def problem(self, code: str, message: str, raw: str = "") -> None:
        self._problems.append(ReplyProblem(code, printable(message), printable(raw)))

    def note(self, code: str, message: str, raw: str = "") -> None:
        """Something unusual that was dealt with; said once."""
        self._notes[ReplyProblem(code, printable(message), printable(raw))] = None

    def fail(self, error: object, event: str) -> None:
        """An error inside an answer that began well ends it, whatever comes after."""
        said = text_in(object_in(error).get("message")) or text_in(error)
        if not said:  # a list of what was wrong with each field
            said = "; ".join(text_in(one.get("msg")) for one in objects_in(error))
        self.problem("provider-error", said or "the provider sent an error", event)
        self.stop = "error"

    def end(self, stop: Stop) -> None:
        if self.stop != "error":
            self.stop = stop

    def end_unstated(self) -> None:
        """It is over, and nobody said why: what came is all of it."""
        if self.stop is None:
            self.note("no-stop-reason", "the answer came to its end without a reason")
            self.end("end")

    def end_unknown(self, reason: str) -> None:
        self.problem("unknown-stop", f"stop reason {reason!r}", reason)
        self.end("other")

    def open(self, kind: Literal["text", "reasoning", "call", "media"]) -> Piece:
        piece = Piece(kind)
        self.pieces.append(piece)
        return piece

    def media(self, mime: str, text: str) -> Piece | None:
        """What came as base64; None, and a problem, where it is none."""
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            self.problem("bad-media", f"a part that is not base64: {error}")
            return None
        return Piece("media", name=mime, payload=data)

    def take_identity(self, model: object, reply_id: object) -> None:
        """The model and the id of the reply, where an event tells them."""
        if type(model) is str and model:
            self.model = model
        if type(reply_id) is str and reply_id:
            self.id = reply_id

    def reply(self, *, interrupted: bool) -> Reply:
        stop = self.stop or ("interrupted" if interrupted else "cut_off")
        made = _Made(self, stop)
        for number, piece in enumerate(self.pieces):
            made.add(piece, number)
        if stop == "end" and made.actions:
            stop = "tool_use"  # some formats have one reason for both
        return Reply(
            text="".join(made.texts),
            stop=stop,
            actions=tuple(made.actions),
            errors=(*self._problems, *made.problems),
            usage=self.usage,
            reasoning="".join(made.thoughts),
            model=printable(self.model),
            raw=all_printable(self.raw),
            parts=tuple(made.parts),
            notes=(*self._notes, *made.notes),
            diagnosis=self.diagnosis,
        )

    def made_id(self, number: int) -> str:
        """An id for a call that came without one: the same each time this reply is read."""
        seed = self.id or "\n".join(self.raw)
        return f"call_{sha256(seed.encode('utf-8', 'replace')).hexdigest()[:12]}_{number}"


class _Made(SettledCalls):
    """What the pieces of a draft came to."""

    def __init__(self, draft: ReplyDraft, stop: Stop) -> None:
        super().__init__()
        self._draft = draft
        self._stop = stop
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self._ids: set[str] = set()

    def add(self, piece: Piece, number: int) -> None:
        if piece.kind == "call":
            self._add_call(piece, number)
            return
        state = self._state(piece)
        if piece.kind == "media":
            if isinstance(piece.payload, bytes):  # else it never came
                self.parts.append(_media(piece, piece.payload, state))
            return
        text = self._whole("".join(piece.texts), piece.kind)
        if not text and state is None:
            return
        part: Part = TextPart(text, state)
        if piece.kind == "reasoning":
            part = ReasoningPart(text, state)
        self.parts.append(part)
        (self.thoughts if piece.kind == "reasoning" else self.texts).append(text)

    def _add_call(self, piece: Piece, number: int) -> None:
        name = printable(self._draft.expected.own(piece.name))
        call_id = self._call_id(piece, number, name)
        payload = "".join(piece.texts) if piece.payload is None else piece.payload
        unfinished = not piece.closed and (
            self._stop in _BROKEN or (self._stop == "length" and payload == "")
        )
        state = self._state(piece)
        settle_call(
            self,
            self._draft.expected,
            call_id=call_id,
            name=name,
            payload=payload,
            state=state,
            unfinished=unfinished,
        )

    def _call_id(self, piece: Piece, number: int, name: str) -> str:
        """Its own, unless it has none or another call of this reply has the same."""
        own = printable(piece.id)
        if own and own not in self._ids:
            self._ids.add(own)
            return own
        made = self._draft.made_id(number)
        why = f"has the id {own!r} of another call" if own else "came without an id"
        self.note("made-call-id", f"the call of {name!r} {why}", call_id=made)
        return made

    def _state(self, piece: Piece) -> ProviderState | None:
        if not piece.state:
            return None
        if not is_recordable(piece.state):
            self.problem("bad-state", "state of the provider that cannot be kept was dropped")
            return None
        model = self._draft.expected.model or printable(self._draft.model)
        return ProviderState(self._draft.wire, model, cast("JsonObject", piece.state))

    def _whole(self, text: str, what: str) -> str:
        """Halves of a character that came in two pieces are joined; a half alone is replaced."""
        if text.isascii():
            return text
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if "\ufffd" in joined and "\ufffd" not in text:
            self.problem("bad-text", f"half a character in the {what} was replaced")
        return joined


def _media(piece: Piece, data: bytes, state: ProviderState | None) -> MediaPart:
    kinds: dict[str, Literal["image", "audio"]] = {"image": "image", "audio": "audio"}
    mime = printable(piece.name)
    return MediaPart(kinds.get(mime.partition("/")[0], "document"), mime, data, state=state)
