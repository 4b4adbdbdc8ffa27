"""One loaded model file. `xllamacpp` is known here and nowhere else.

An engine is shared by everybody in the process who wants the same file with the same room for
context; it is freed when the last of them has let go of it.
"""

from __future__ import annotations

import importlib
import os
import secrets
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast

from mentis.errors import EngineFailed, EngineMissing, WeightsMissing
from mentis.system.processors import load_average, usable_cpus

from .gguf import MAGIC, check_magic

# A callback that must be asked between two steps: True ends the answer.
Take = Callable[[str], bool]

# Between two steps through the prompt we can stop. Steps this small cost about 5 percent more
# than one big one (630 tokens, one run each).
_PROMPT_STEP = 64
# Room for the prefixes of other conversations; the engine's own default is 8 GiB.
PREFIX_MEBIBYTES = 256
_SOCKET_PATH_LIMIT = 100
_LOOPBACK = "127.0.0.1"
_HTTP_THREADS, _SILENT_SECONDS = 32, 10


class _Server(Protocol):
    @property
    def listening_address(self) -> str: ...

    def handle_chat_completions(self, body: str, take: Take) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineKey:
    """What makes two engines the same. 0 threads: as many as the machine has to spare."""

    path: Path
    context: int
    threads: int = 0


class Engine:
    """Takes one call at a time and keeps the KV prefix of the last one."""

    def __init__(self, shape: EngineKey) -> None:
        self._server: _Server | None = _start(shape)
        self._turn = threading.Lock()
        self.users: set[object] = set()

    def chat(self, body: str, take: Take, stopped: Callable[[], bool]) -> None:
        """Block until the answer is complete or `take` says stop; each event goes to `take`."""
        while not self._turn.acquire(timeout=0.05):
            if stopped():
                return
        try:
            if self._server is None:
                raise EngineFailed("the embedded model was closed while it was asked")
            self._server.handle_chat_completions(body, take)
        except (ValueError, RuntimeError) as error:
            raise EngineFailed(f"the embedded model did not take the request: {error}") from error
        finally:
            self._turn.release()

    def free(self) -> None:
        with self._turn:
            self._server = None


_loaded: dict[EngineKey, Engine] = {}
_loading = threading.Lock()


def load_engine(shape: EngineKey, user: object, before: Callable[[], None]) -> Engine:
    """The engine of that shape; `before` is called first when it really has to be loaded."""
    with _loading:
        if shape not in _loaded:
            check_gguf(shape.path)
            before()
            _loaded[shape] = Engine(shape)
        _loaded[shape].users.add(user)
        return _loaded[shape]


def release_engines(user: object) -> None:
    """Let go of all engines `user` had loaded, and free those that nobody else uses."""
    with _loading:
        for engine in _loaded.values():
            engine.users.discard(user)
        unused = [shape for shape, engine in _loaded.items() if not engine.users]
        freed = [_loaded.pop(shape) for shape in unused]
    for engine in freed:
        engine.free()


def check_gguf(path: Path) -> None:
    if not path.is_file():
        raise WeightsMissing(
            f"there is no model file at {path}",
            hint="give the path of a GGUF file, or a name from `mentis models list`",
            path=str(path),
        )
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise EngineFailed(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    check_magic(magic, path)


def choose_threads(asked: int, cpus: int, load: float) -> int:
    """One thread on a small or busy machine: two that spin on busy cores are slower than one."""
    if asked > 0:
        return asked
    if cpus <= 2 or load / cpus > 0.5:
        return 1
    return min(4, cpus // 2)


@contextmanager
def serve_engine(shape: EngineKey, *, port: int, key: str) -> Generator[str, None, None]:
    """The model over HTTP, on this machine only and for those who have the key; the address.

    Port 0 takes one that is free. It is another copy of the model than `load_engine` has.
    """
    check_gguf(shape.path)
    _check_port(port)
    library = _library()
    params = _params(library, shape)
    params.cors_origins = f"http://{_LOOPBACK}"
    params.hostnames, params.port, params.api_keys = [_LOOPBACK], port, [key]
    # One call streams while others ask whether it is there; whoever sends nothing is left, so that
    # no number of them keeps the others out for longer than that.
    params.n_threads_http, params.timeout_read = _HTTP_THREADS, _SILENT_SECONDS
    server = _server(library, params, shape)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


def _check_port(port: int) -> None:
    """The engine itself would say no more than that something is wrong."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise EngineFailed(
                f"port {port} cannot be listened on: {error}", hint="take another, or 0", port=port
            ) from error


def _start(shape: EngineKey) -> _Server:
    library = _library()
    # The engine insists on listening. On a socket whose folder is gone once it has started,
    # nobody can reach it; where that is not possible, the key keeps others out.
    with TemporaryDirectory(prefix="mentis-") as folder:
        params = _params(library, shape)
        place = f"{folder}/engine.sock"
        if os.name == "posix" and len(os.fsencode(place)) < _SOCKET_PATH_LIMIT:
            params.hostnames = [place]
        return _server(library, params, shape)


def _server(library: Any, params: Any, shape: EngineKey) -> _Server:  # noqa: ANN401  # compiled, without types
    try:
        return cast("_Server", library.Server(params))
    except (RuntimeError, ValueError, OverflowError, MemoryError, OSError) as error:
        raise EngineFailed(
            f"{shape.path} could not be loaded: {error}",
            hint="the file may be damaged, too new for this engine, or too big for the memory "
            f"with a context of {shape.context} tokens",
            path=str(shape.path),
        ) from error


def _library() -> Any:  # noqa: ANN401  # compiled, without types
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError as error:
        raise EngineMissing(
            "the embedded model needs the package xllamacpp, which is not installed",
            hint="pip install 'mentis[embedded]'",
        ) from error
    except ImportError as error:
        raise EngineFailed(f"xllamacpp is installed but does not load: {error}") from error


def _params(library: Any, shape: EngineKey) -> Any:  # noqa: ANN401  # compiled, without types
    threads = choose_threads(shape.threads, usable_cpus(), load_average())
    params = library.CommonParams()
    params.model.path = str(shape.path)
    params.model_alias = {shape.path.stem}  # else every event tells where the file lies
    params.n_ctx = shape.context
    params.fit_params = False  # it would change the context without a word
    params.n_parallel = 1
    params.n_batch = _PROMPT_STEP
    params.cache_ram_mib = PREFIX_MEBIBYTES
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup = False
    params.verbosity = -1
    params.n_threads_http = 1
    params.ui = params.endpoint_slots = False
    params.api_keys = [secrets.token_hex(32)]
    return params
