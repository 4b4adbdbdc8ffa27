"""The embedded model as a provider: a blocking engine in a worker thread, events as they come."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import cast

import anyio
from anyio import from_thread, to_thread

from mentis.errors import EngineFailed, MentisError, RouteError
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .catalogue import CATALOGUE, Weights
from .engine import Engine, EngineKey, load_engine, release_engines
from .gguf_files import find_added
from .weights import find_weights


def _unheard(_: str) -> None:
    """Nobody wants to know that a model is being loaded."""


class EmbeddedProvider:
    """Runs `route.model` (a name from the catalogue or a path to a GGUF file) in this process.

    The model is loaded at the first call; `on_loading` is told, in the words a person reads.
    """

    def __init__(
        self,
        on_loading: Callable[[str], None] | None = None,
        *,
        catalogue: Mapping[str, Weights] = CATALOGUE,
    ) -> None:
        self._on_loading = on_loading or _unheard
        self._catalogue = catalogue

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        engine = await self._engine(route)
        call = _Call(engine, _body(rendering), route)
        failure: BaseException | None = None
        with closing(call):
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(call.run)
                    try:
                        yield call
                    finally:
                        call.stop()
            except BaseExceptionGroup as group:
                # `run` keeps its failure for the reader: what is in here is the reader's own.
                failure = group.exceptions[0]
        if failure is not None:
            raise failure

    async def aclose(self) -> None:
        """Let go of the models; one that nobody else in the process uses is freed."""
        await to_thread.run_sync(release_engines, self)

    async def _engine(self, route: Route) -> Engine:
        shape = EngineKey(self._path(route), route.context_tokens, route.threads)
        tell = partial(self._on_loading, f"loading {route.model}")
        before = partial(from_thread.run_sync, tell)
        return await to_thread.run_sync(load_engine, shape, self, before)

    def _path(self, route: Route) -> Path:
        weights = self._catalogue.get(route.model)
        if weights is not None and route.context_tokens > weights.context:
            raise RouteError(
                f"route {route.name!r} asks for a context of {route.context_tokens} tokens, "
                f"and {weights.name} has {weights.context}",
                hint=f"set routes.{route.name}.context_tokens to {weights.context} or less",
            )
        return path_of(route.model, catalogue=self._catalogue)


class _Call:
    """One answer on its way: the worker thread puts events in, whoever iterates takes them out."""

    def __init__(self, engine: Engine, body: str, route: Route) -> None:
        self._engine = engine
        self._body = body
        self._route = route
        self._send, self._receive = anyio.create_memory_object_stream[str](math.inf)
        self._stopped = threading.Event()
        self._failure: MentisError | None = None

    def close(self) -> None:
        self._send.close()
        self._receive.close()

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            if self._failure is None:
                raise StopAsyncIteration from None
        raise self._failure

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> None:
        with self._send:
            try:
                await to_thread.run_sync(
                    self._engine.chat, self._body, self._take, self._stopped.is_set
                )
            except MentisError as failure:
                self._failure = failure

    def _take(self, event: str) -> bool:
        """Called by the engine, in its thread. The engine swallows what is raised here."""
        if self._stopped.is_set():
            return True
        if '"prompt_progress":' in event:  # asked for only to be called between prompt steps
            return False
        if event.startswith('{"error":'):
            self._failure = _failure(event, self._route)
            return True
        from_thread.run_sync(self._send.send_nowait, event)
        return self._stopped.is_set()


def path_of(model: str, *, catalogue: Mapping[str, Weights] = CATALOGUE) -> Path:
    """The file of a packaged model, of one that was added, or the file that is named."""
    if model in catalogue and catalogue[model].purpose != "writing":
        raise RouteError(
            f"{model!r} turns text into vectors and cannot answer",
            hint="mentis models list shows what each model is for",
            model=model,
        )
    if model not in catalogue and (added := find_added(model)) is not None:
        return added
    if model in catalogue or not _is_path(model):
        return find_weights(model, catalogue=catalogue)  # raises: did you mean
    return Path(os.path.expanduser(model)).absolute()  # noqa: PTH111  # never raises


def _is_path(model: str) -> bool:
    return "/" in model or "\\" in model or model.endswith(".gguf") or Path(model).is_file()


def _body(rendering: Rendering) -> str:
    extra = {"cache_prompt": True, "return_progress": True}
    return json.dumps({**rendering.payload, **extra}, ensure_ascii=False, allow_nan=False)


def _failure(event: str, route: Route) -> EngineFailed:
    error = cast("dict[str, object]", json.loads(event)["error"])
    if error.get("type") != "exceed_context_size_error":
        return EngineFailed(
            f"the embedded model did not take the request: {error.get('message')}",
            route=route.name,
            type=error.get("type"),
        )
    needed, room = error.get("n_prompt_tokens"), error.get("n_ctx")
    return EngineFailed(
        f"the prompt has {needed} tokens, and the context of {route.model} holds {room}",
        hint=f"raise routes.{route.name}.context_tokens, or make the prompt shorter",
        route=route.name,
        n_prompt_tokens=needed,
        n_ctx=room,
    )
