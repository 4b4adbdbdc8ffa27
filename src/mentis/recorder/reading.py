"""Reads a copied call: its format, its prompt, its answer. What cannot be read is left as it is.

From here on there are no secrets in it: what is read was redacted before.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from mentis.ask.payload_tools import offered_in
from mentis.call.recorded_events import events_of
from mentis.facts.ability import Wire
from mentis.facts.side_calls import SidePrompt, side_kind, side_kind_at, side_kind_named
from mentis.net.redact import MARK, is_plain, redact_forms, secret_forms
from mentis.record.call_bodies import BodyBlock, KnownBlocks, split_body
from mentis.render.compare import is_body
from mentis.settle.joining import joined_pieces, joined_stream
from mentis.settle.readers import read_all, reader_for
from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

from .call_copy import BodyCopy, CallCopy, Headers
from .ollama_answers import chat_events
from .packing import unpack
from .prompts import last_texts, system_texts
from .wires import model_at, wire_at

# The headers whose words are kept; of others, only that they were there.
_SHOWN = frozenset(
    {
        "accept",
        "anthropic-beta",
        "anthropic-version",
        "content-encoding",
        "content-type",
        "conversation_id",
        "openai-beta",
        "originator",
        "request-id",
        "retry-after",
        "session-id",
        "session_id",
        "thread-id",
        "thread_id",
        "user-agent",
        "version",
        "x-app",
        "x-client-request-id",
        "x-request-id",
        "x-session-id",
        "x-claude-code-agent-id",
        "x-claude-code-parent-agent-id",
        "x-claude-code-session-id",
        "x-codex-parent-thread-id",
        "x-openai-subagent",
        "x-parent-session-id",
    }
)
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_SECRET_HEADERS = frozenset(
    {"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "set-cookie"}
)
# How the names of parameters end that are keys: api_key, x-goog-api-key, access_token, sig.
_SECRET_QUERY = ("key", "token", "secret", "password", "auth", "sig", "signature")
_SCHEME = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)
_LONG_WRITES = re.compile(r'"ephemeral_1h_input_tokens"\s*:\s*(\d+)')
_MOST_KEYS = 4
_ID = re.compile(r'"id"\s*:\s*"((?:resp|msg|chatcmpl|gen)[-_][^"]{1,120})"')


@dataclass(frozen=True, slots=True)
class ReadBody:
    """`content` is unpacked and without secrets; None where it is not kept, and `left_out` says
    why. `length` is that of the body as it went by. `redacted`: a secret was taken out of it.
    """

    length: int
    content: bytes | None = None
    blocks: tuple[BodyBlock, ...] | None = None
    left_out: str = ""
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ReadCall:
    """`payload` is empty where the call is no question to a model. `reply_id` is the provider's
    name of the answer; `long_writes` of the tokens written into a cache are kept for an hour.
    `side` is the kind of a call beside a conversation (`side_title`), "" for any other. `original`
    is what the program said, where something else was sent, and `said` its payload; `reason` why it
    ended early. Not every server that speaks as OpenAI does `tells_cache`, how much it found there.
    """

    copy: CallCopy
    path: str
    request: ReadBody
    answer: ReadBody
    headers: Mapping[str, str]
    answer_headers: Mapping[str, str]
    wire: Wire | None = None
    payload: JsonObject = field(default_factory=dict[str, object])
    model: str = ""
    reply: Reply | None = None
    reply_id: str = ""
    long_writes: int = 0
    side: str = ""
    original: ReadBody | None = None
    said: JsonObject = field(default_factory=dict[str, object])
    tells_cache: bool = True
    reason: str = ""
    known: KnownBlocks = field(default_factory=KnownBlocks)


@dataclass(slots=True)
class KnownBodies:
    """What earlier calls were read to, for each of the last keys they were made with: it was
    looked through for those, and no others.
    """

    _books: OrderedDict[tuple[str, ...], KnownBlocks] = field(
        default_factory=OrderedDict[tuple[str, ...], KnownBlocks]
    )

    def of(self, hidden: tuple[str, ...]) -> KnownBlocks:
        known = self._books.setdefault(hidden, KnownBlocks())
        self._books.move_to_end(hidden)
        if len(self._books) > _MOST_KEYS:
            self._books.popitem(last=False)
        return known


_SILENT_WIRES = ("openai-chat", "openai-responses", "ollama")
# Where a message may be a bare text, and the list that it stands for.
_BARE_TEXTS: Mapping[Wire, tuple[str, str]] = {
    "openai-responses": ("input", "input"),
    "ollama": ("prompt", "messages"),
}
_CACHED = re.compile(r'"(?:cached_tokens|prompt_cache_hit_tokens)"')


def read_call(copy: CallCopy, secrets: Iterable[str], books: KnownBodies | None = None) -> ReadCall:
    hidden = secret_forms((*secrets, *_own_secrets(copy)))
    known = (books or KnownBodies()).of(hidden)
    request, payload = _request_body(copy, copy.request, hidden, known)
    wire = _wire(copy)
    answer, told = _answer_body(copy, hidden, wire)
    original, said = None, None
    if copy.original is not None:
        original, said = _request_body(copy, copy.original, hidden, known)
    payload = with_listed_input(payload, wire) if payload and wire else payload
    if wire is None or not (copy.source or is_body(payload, wire)):
        wire, payload = None, None
    payload = json_object(payload)
    model = str(payload.get("model") or model_at(copy.path))
    asked = wire is not None and copy.status == 200 and bool(told)
    long_writes = long_writes_in(told) if asked else 0
    reply = read_answer(told, wire, payload, model, known=known) if asked and wire else None
    if wire and reply is not None and _says_secret(reply, hidden):
        answer, told = _joined_answer(answer, told, wire, hidden)
        reply = read_answer(told, wire, payload, model, known=known)
        if _says_secret(reply, hidden):
            answer = ReadBody(answer.length, left_out="a secret lies in several of its events")
    reply_id = _ID.search(told) if asked else None
    headers = _shown(copy.headers, hidden)
    return ReadCall(
        copy,
        _plain(_without_keys(copy.path), hidden),
        request,
        answer,
        headers,
        _shown(copy.answer_headers, hidden),
        wire=wire,
        payload=payload,
        model=model,
        reply=reply,
        reply_id=reply_id[1] if reply_id else "",
        long_writes=long_writes,
        side=_side(copy, headers, payload, wire),
        original=original,
        said=with_listed_input(said, wire) if said and wire else {},
        reason=_plain(copy.reason, hidden),  # errors repeat what they were about
        tells_cache=tells_cache(told, wire),
        known=known,
    )


def long_writes_in(told: str) -> int:
    """How many of the tokens that an answer wrote into a cache are kept for an hour."""
    return max(map(int, _LONG_WRITES.findall(told)), default=0)


def tells_cache(told: str, wire: Wire | None) -> bool:
    """Whether an answer says how much of the prompt was found in a cache."""
    return wire not in _SILENT_WIRES or bool(_CACHED.search(told))


def _plain(text: str, hidden: Iterable[str]) -> str:
    """Without secrets, and without what is shaped like one."""
    return redact_forms(text.encode("utf-8", "replace"), hidden).decode()


def _wire(copy: CallCopy) -> Wire | None:
    if copy.source is not None:
        return copy.source.wire
    asks = copy.method == "POST" or copy.over == "websocket"
    return wire_at(copy.path) if asks else None


def _side(
    copy: CallCopy, headers: Mapping[str, str], payload: JsonObject, wire: Wire | None
) -> str:
    if wire is None:
        return side_kind_at(copy.path)
    if named := side_kind_named(headers.get("x-openai-subagent", "")):
        return named
    options = json_object(payload.get("options"))  # Ollama's
    limits = (options.get("num_predict"), *(payload.get(name) for name in _LIMITS))
    limit = next((one for one in limits if isinstance(one, int)), None)
    words, told = last_texts(payload, wire), system_texts(payload, wire)
    return side_kind(SidePrompt(words, told, bool(payload.get("tools")), limit))


def with_listed_input(payload: JsonObject, wire: Wire) -> JsonObject:
    """Responses, and Ollama where it completes a prompt, take a message that is a bare text; it is
    looked at as the one it stands for.
    """
    field, listed = _BARE_TEXTS.get(wire, ("", ""))
    said = payload.get(field)
    if not isinstance(said, str) or isinstance(payload.get(listed), list):
        return payload
    return {**payload, listed: [{"role": "user", "content": said}]}


def read_answer(
    said: str, wire: Wire, payload: JsonObject, model: str, *, known: KnownBlocks | None = None
) -> Reply:
    """A whole answer, streamed or not, in its own format."""
    tools = (known or KnownBlocks()).remember("tools", payload.get("tools"), _offered)
    if wire == "ollama":
        reader = reader_for("openai-chat", tools=tools, model=model)
        return read_all(reader, joined_pieces(chat_events(events_of(said, wire)), "openai-chat"))
    reader = reader_for(wire, tools=tools, model=model)
    return read_all(reader, joined_pieces(events_of(said, wire), wire))


def _offered(tools: object) -> tuple[ToolDeclaration, ...] | None:
    return offered_in({"tools": tools})


def _request_body(
    copy: CallCopy, body: BodyCopy, hidden: tuple[str, ...], known: KnownBlocks
) -> tuple[ReadBody, JsonObject | None]:
    """What stood in the call before was looked through then: only the rest may hold a secret."""
    plain = _unpacked(body, copy.headers, copy.request.limit)
    if isinstance(plain, ReadBody):
        return plain, None
    try:
        split = split_body(plain.decode(), known)
    except UnicodeDecodeError:
        return _redacted(body, plain, hidden), None
    if is_plain("".join(block.text for block, _ in split.fresh), hidden):
        known.learn(split)
        return ReadBody(body.length, plain, split.blocks), split.payload
    return _split(_redacted(body, plain, hidden))


def _answer_body(
    copy: CallCopy, hidden: tuple[str, ...], wire: Wire | None
) -> tuple[ReadBody, str]:
    """With its text, the words joined: most of a stream is what stands around them each time."""
    plain = _unpacked(copy.answer, copy.answer_headers, copy.request.limit)
    if isinstance(plain, ReadBody):
        return plain, ""
    text = plain.decode("utf-8", "replace")
    told = joined_stream(text, wire) if wire else text
    read = ReadBody(copy.answer.length, plain)
    if not is_plain(told, hidden):
        read = _redacted(copy.answer, plain, hidden)
        text = (read.content or b"").decode("utf-8", "replace")
        told = joined_stream(text, wire) if wire else text
    return _split(read)[0], told


def _says_secret(reply: Reply, hidden: tuple[str, ...]) -> bool:
    """Whether one shows in what an answer comes to that showed in none of its events."""
    given = (json.dumps(dict(one.payload), ensure_ascii=False) for one in reply.actions)
    said = "\n".join((reply.text, reply.reasoning, *given))
    return not is_plain(said, hidden) and _plain(said, hidden) != said


def _joined_answer(
    answer: ReadBody, told: str, wire: Wire, hidden: tuple[str, ...]
) -> tuple[ReadBody, str]:
    """With the words of neighbouring events joined, in which a secret is found."""
    events = joined_pieces(events_of(told, wire), wire)
    text = _plain("".join(f"data: {event}\n\n" for event in events), hidden)
    return _split(ReadBody(answer.length, text.encode(), redacted=True))[0], text


def _unpacked(copy: BodyCopy, headers: Headers, limit: int) -> bytes | ReadBody:
    """The bytes as they were packed; a body without content where they are not kept."""
    if not copy.whole:
        return ReadBody(copy.length, left_out=copy.why)
    packing = _header(headers, "content-encoding").lower()
    plain = unpack(copy.content(), packing, limit)
    if plain is None:
        # What cannot be read cannot be redacted either, and no secret may reach the disk.
        return ReadBody(copy.length, left_out=f"packed as {packing!r}, which is not read")
    return plain


def _redacted(copy: BodyCopy, plain: bytes, hidden: tuple[str, ...]) -> ReadBody:
    content = redact_forms(plain, hidden)
    return ReadBody(copy.length, content, redacted=content != plain)


def _split(read: ReadBody) -> tuple[ReadBody, JsonObject | None]:
    try:
        split = split_body((read.content or b"").decode())
    except UnicodeDecodeError:
        return read, None
    return replace(read, blocks=split.blocks), split.payload


def _own_secrets(copy: CallCopy) -> Iterator[str]:
    """The keys that this call itself carries: wherever they turn up, they are not kept."""
    for name, value in (*_texts(copy.headers), *_texts(copy.answer_headers)):
        if name in _SECRET_HEADERS:
            yield value
            yield _SCHEME.sub("", value).strip()
    for name, value in parse_qsl(urlsplit(copy.path).query):
        if name.lower().endswith(_SECRET_QUERY):
            yield value


def _without_keys(path: str) -> str:
    """Also where a key is too short to be struck out by itself."""
    bare, _, query = path.partition("?")
    if not query:
        return bare
    parts = (part.partition("=") for part in query.split("&"))
    kept = (
        f"{n}={MARK}" if v and unquote(n).lower().endswith(_SECRET_QUERY) else f"{n}{s}{v}"
        for n, s, v in parts
    )
    return f"{bare}?{'&'.join(kept)}"


def _shown(headers: Headers, hidden: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _texts(headers):
        safe = name in _SHOWN or name.startswith("x-stainless-")
        found[name] = _plain_header(value, hidden) if safe else ""
    return found


@lru_cache(maxsize=1024)
def _plain_header(value: str, hidden: tuple[str, ...]) -> str:
    """Every call of a program has nearly the same ones."""
    return _plain(value, hidden)


def _texts(headers: Headers) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        yield name.decode("latin-1").lower(), value.decode("latin-1")


def _header(headers: Headers, wanted: str) -> str:
    return next((value for name, value in _texts(headers) if name == wanted), "")
