"""The paths of `mentis serve` and what is behind each."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, cast

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mentis.errors import BadInput, RequestRefused
from mentis.ports.embedder import Embedder
from mentis.stores.files.home import is_id
from mentis.values.json import JsonObject
from mentis.web.agents import AgentPool
from mentis.web.application import Door, Endpoint, token_of
from mentis.web.problems import ProblemForm, WebProblem
from mentis.web.streams import EVENTS, LINES, Emit, Streamed, while_there

from .answering import Answering, AnswerPiece
from .anthropic_messages import MessageEvents, messages_problem, read_messages, write_messages
from .fields import as_list, as_text, read_json, text_in
from .ollama import VERSION, OllamaLines, moment, ollama_problem, read_ollama, write_ollama
from .openai_chat import ChatPieces, openai_problem, read_chat, write_chat
from .openai_responses import ResponseEvents, read_responses, write_responses
from .requests import AnswerHead, ClientRequest, ServedAnswer

# How errors are written, by the beginning of a path.
FORMS: Mapping[str, ProblemForm] = {
    "/v1/": openai_problem,
    "/v1/messages": messages_problem,
    "/api/": ollama_problem,
}
SESSION_HEADER = "x-session-id"
_FOREIGN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
_ODD = re.compile(r"[^a-z0-9_]+")
_MOST_WORDS = 24
_SMALL_BYTES = 32_768  # what takes less time to read than to be given to another thread
_UPGRADE = 426  # agent programs that try a WebSocket first go on with HTTP at once
OpenEmbedder: TypeAlias = Callable[[], Embedder | None]


class PieceWriter(Protocol):
    """Writes one answer of one protocol in pieces."""

    def begin(self) -> bytes: ...
    def reasoning(self, text: str) -> bytes: ...
    def text(self, text: str) -> bytes: ...
    def end(self, answer: ServedAnswer) -> bytes: ...
    def fail(self, problem: WebProblem) -> bytes: ...


@dataclass(frozen=True, slots=True)
class ClientProtocol:
    """One protocol: how it is read, and how an answer is written whole and in pieces."""

    read: Callable[[JsonObject], ClientRequest]
    whole: Callable[[ServedAnswer, ClientRequest], JsonObject]
    pieces: Callable[[AnswerHead, ClientRequest], PieceWriter]
    media_type: str = EVENTS


CHAT = ClientProtocol(read_chat, lambda answer, _request: write_chat(answer), ChatPieces)
RESPONSES = ClientProtocol(read_responses, write_responses, ResponseEvents)
MESSAGES = ClientProtocol(read_messages, write_messages, MessageEvents)
OLLAMA = ClientProtocol(read_ollama, write_ollama, OllamaLines, LINES)


def doors(answering: Answering, embedder: OpenEmbedder) -> list[Door]:
    """All of them."""
    models, pool = _models(answering.pool), answering.pool
    return [
        Door("/v1/chat/completions", _answers(answering, CHAT), "chat", ("POST",)),
        Door("/v1/responses", _answers(answering, RESPONSES), "chat", ("POST",)),
        Door("/v1/responses", _no_socket, "chat", ("GET",)),
        Door("/v1/messages", _answers(answering, MESSAGES), "chat", ("POST",)),
        Door("/v1/messages/count_tokens", _count(answering), "chat", ("POST",)),
        Door("/v1/models", models, "read"),
        Door("/api/v1/models", models, "read"),
        Door("/v1/models/{model:path}", _model(pool), "read"),
        Door("/v1/embeddings", _embeddings(embedder), "chat", ("POST",)),
        Door("/api/version", _version, "read"),
        Door("/api/tags", _tags(pool), "read"),
        Door("/api/show", _show(pool), "read", ("POST",)),
        Door("/api/chat", _answers(answering, OLLAMA), "chat", ("POST",)),
    ]


# Answers


def _answers(answering: Answering, wire: ClientProtocol) -> Endpoint:
    async def answer(request: Request) -> Response:
        token = token_of(request)
        asked = await _read(request, wire.read)
        if not asked.stream:
            whole = await while_there(
                request, lambda: answering.answer(asked, token, _unheard, _unheard)
            )
            return JSONResponse(wire.whole(whole, asked))
        writers: list[PieceWriter] = []

        async def work(emit: Emit) -> None:
            begun = False

            def tell(piece: AnswerPiece) -> None:
                nonlocal begun
                if not begun:
                    begun = True
                    _emit(emit, writers[0].begin())
                written = writers[0].reasoning if piece.thought else writers[0].text
                _emit(emit, written(piece.text))

            def on_head(head: AnswerHead) -> None:
                writers.append(wire.pieces(head, asked))

            answered = await answering.answer(asked, token, on_head, tell)
            if not begun:
                _emit(emit, writers[0].begin())
            _emit(emit, writers[0].end(answered))

        def fail(problem: WebProblem) -> bytes:
            return writers[0].fail(problem)

        return Streamed(work, fail=fail, media_type=wire.media_type)

    return answer


async def _read(request: Request, read: Callable[[JsonObject], ClientRequest]) -> ClientRequest:
    body = await request.body()
    if len(body) <= _SMALL_BYTES:
        asked = read(read_json(body))
    else:
        asked = await to_thread.run_sync(lambda: read(read_json(body)))
    named = request.headers.get(SESSION_HEADER, "")
    return replace(asked, session=_session_named(named)) if named else asked


def _session_named(given: str) -> str:
    """The session that a header names. Ids that a program makes up itself, as opencode does, may
    have letters and marks that a name has not: each stands for a name of its own.
    """
    if is_id(given) or not _FOREIGN_ID.fullmatch(given):
        return given
    words = _ODD.sub("-", given.lower())[:_MOST_WORDS].strip("-")
    return f"{words}-{hashlib.sha256(given.encode()).hexdigest()[:12]}"


def _emit(emit: Emit, piece: bytes) -> None:
    if piece:
        emit(piece)


def _unheard(_piece: object) -> None:
    """The answer is sent whole."""


async def _no_socket(request: Request) -> Response:
    upgrade = request.headers.get("upgrade", "").lower() == "websocket"
    raise RequestRefused(
        "answers come over HTTP here, and not over a WebSocket",
        hint="send a POST",
        status=_UPGRADE if upgrade else 405,
    )


def _count(answering: Answering) -> Endpoint:
    async def count(request: Request) -> Response:
        asked = await _read(request, read_messages)
        tokens = await answering.count_tokens(asked, token_of(request))
        return JSONResponse({"input_tokens": tokens})

    return count


# Models


def _models(pool: AgentPool) -> Endpoint:
    async def models(request: Request) -> Response:
        found = await pool.personas(token_of(request))
        data = [_told(persona) for persona in found]
        ends = {"first_id": found[0], "last_id": found[-1]} if found else {}
        return JSONResponse({"object": "list", "data": data, "has_more": False, **ends})

    return models


def _model(pool: AgentPool) -> Endpoint:
    async def model(request: Request) -> Response:
        named = await pool.named(request.path_params["model"], token_of(request))
        agent = await pool.agent(named.persona)
        told = _told(request.path_params["model"])
        return JSONResponse({**told, "context_window": agent.route.context_tokens})

    return model


def _told(name: str) -> dict[str, object]:
    """In the words of both protocols that have this path."""
    now = _STARTED
    return {
        "id": name,
        "object": "model",
        "created": now,
        "owned_by": "mentis",
        "type": "model",
        "display_name": name,
        "created_at": moment(now),
    }


_STARTED = int(time.time())


async def _version(_request: Request) -> Response:
    return JSONResponse({"version": VERSION})


def _tags(pool: AgentPool) -> Endpoint:
    async def tags(request: Request) -> Response:
        found = await pool.personas(token_of(request))
        return JSONResponse({"models": [_tag(persona) for persona in found]})

    return tags


def _tag(persona: str) -> dict[str, object]:
    return {
        "name": persona,
        "model": persona,
        "modified_at": moment(_STARTED),
        "size": 0,
        "digest": "",
        "details": {"family": "mentis", "families": ["mentis"], "format": "mentis"},
    }


def _show(pool: AgentPool) -> Endpoint:
    async def show(request: Request) -> Response:
        body = read_json(await request.body())
        asked = str(body.get("model") or body.get("name") or "").removesuffix(":latest")
        named = await pool.named(asked, token_of(request))
        agent = await pool.agent(named.persona)
        details = _tag(named.persona)["details"]
        info = {
            "general.architecture": "mentis",
            "mentis.context_length": agent.route.context_tokens,
        }
        able = ["completion", "tools", "vision"]
        return JSONResponse({"details": details, "model_info": info, "capabilities": able})

    return show


# Embeddings


def _embeddings(open_embedder: OpenEmbedder) -> Endpoint:
    opened: list[Embedder | None] = []

    async def embed(request: Request) -> Response:
        body = read_json(await request.body())
        texts = _texts(body.get("input"))
        if not opened:
            opened.append(await to_thread.run_sync(open_embedder))
        embedder = opened[0]
        if embedder is None:
            raise RequestRefused(
                "this home has no embedder",
                hint="set recall.embedder to auto",
                status=404,
                openai_code="model_not_found",
            )
        work: Callable[[], Awaitable[list[list[float]]]] = lambda: embedder.embed(texts)  # noqa: E731
        vectors = await while_there(request, work)
        packed = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": n, "embedding": _packed(one) if packed else one}
            for n, one in enumerate(vectors)
        ]
        used = sum(len(text) for text in texts) // 4
        usage = {"prompt_tokens": used, "total_tokens": used}
        model = text_in(body, "model")
        return JSONResponse({"object": "list", "data": data, "model": model, "usage": usage})

    return embed


def _texts(found: object) -> list[str]:
    if isinstance(found, str):
        return [as_text(found, "input")]
    listed = as_list(found, "input")
    if not listed or not all(isinstance(one, str) for one in listed):
        raise BadInput("input is neither a text nor a list of texts", hint="tokens are not taken")
    return [as_text(one, "input") for one in cast("list[str]", listed)]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
