"""A model for a home: what this machine has, offered with one keypress, and the line it becomes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from .output import as_talk, say
from .report import Note, Text, show

if TYPE_CHECKING:
    from mentis.home.found_models import FoundModel, ModelSearch

MOST = 9  # one key each


def look_for_models() -> ModelSearch:
    import anyio

    from mentis.home.found_models import find_models

    return anyio.run(find_models)


def named_by_route(name: str) -> FoundModel:
    """The model that `--route` names; a server of this machine is asked about it."""
    import anyio

    from mentis.home.found_models import look_up_model

    return anyio.run(look_up_model, name)


def asks_here() -> bool:
    """Whether somebody at a terminal can see the question and press a key."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def pick_model(search: ModelSearch) -> FoundModel:
    """Ask which of those that were found answers; the embedded one where there is no other."""
    from mentis.home.found_models import EMBEDDED

    offered = search.models[:MOST]
    if not offered:
        return EMBEDDED
    show_offers(offered)
    say("  0  the embedded model, a test engine")
    while True:
        key = _pressed()
        if key in ("\r", "\n"):
            return offered[0]
        if key == "0":
            return EMBEDDED
        if key.isdecimal() and 0 < int(key) <= len(offered):
            return offered[int(key) - 1]
        say(f"There is no {key!r}: press 0 to {len(offered)}, or Enter for 1.")


def _pressed() -> str:
    click.echo(
        as_talk("Press the number of the one that answers; Enter takes 1: "), nl=False, err=True
    )
    key = click.getchar()
    say("1" if key in ("\r", "\n") else key)
    return key


def show_offers(offered: Sequence[FoundModel]) -> None:
    for number, one in enumerate(offered, start=1):
        say(f"  {number}  {one.title}")


def take_model(home: Path, model: FoundModel, search: ModelSearch | None = None) -> None:
    """Write the line, and say what one should know."""
    from mentis.home.found_models import choose_model

    change = choose_model(home, model)
    if change is None:
        tell_embedded(search)
        return
    say(f"{model.model} at {model.place} answers from now on. In mentis.toml, under [routes]:")
    say(f"  default = {line_of(model)}")
    for note in model.notes:
        say(f"  {note}")
    if change.overridden_by:
        say(f"  {change.overridden_by} is set in the environment, and counts instead")
    say(f"Does it answer? mentis --home {quote(str(home))} routes check")


def tell_embedded(search: ModelSearch | None = None) -> None:
    """The embedded model as what it is, and where better ones are expected."""
    from mentis.engines.catalogue import TEST_ENGINE

    say(f"{TEST_ENGINE[0].upper()}{TEST_ENGINE[1:]}. It speaks English only.")
    show(place_lines(search))


def place_lines(search: ModelSearch | None) -> Iterator[Text]:
    from mentis.engines.gguf_files import model_folders
    from mentis.facts.presets import PRESETS
    from mentis.home.found_models import server_places, usual_addresses

    yield Note("Better models can come from:")
    silent = search.silent if search else server_places(usual_addresses(os.environ))
    for place, start in silent:
        yield Note(f"  a server: {place} ({start})")
    keys = sorted({one.key_env for one in PRESETS.values() if one.model})
    yield Note(f"  a key in the environment: {', '.join(keys)}")
    folders = dict.fromkeys(one.place for one in (search.folders if search else model_folders()))
    yield Note(f"  a GGUF file: mentis models add FILE, or in a folder of {', '.join(folders)}")


def line_of(model: FoundModel) -> str:
    import json

    members = [f"{key} = {json.dumps(value)}" for key, value in model.route.items()]
    return "{ " + ", ".join(members) + " }"
