"""`mentis sense`: give an agent that lives something to sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .options import given_text, home_option, home_path, persona_option
from .output import emit, emit_json, json_option, printable, say

if TYPE_CHECKING:
    from typing import TextIO

    from mentis.loop.inbox import Inbox


@click.group()
def sense() -> None:
    """Give an agent something to sense, and see what waits for it."""


@sense.command(epilog='For example: mentis sense add "It rains."')
@click.argument("text", required=False)
@click.option(
    "--file", type=click.File("r", encoding="utf-8"), help="Take a file; - is standard input."
)
@click.option("--kind", default="input", show_default=True, metavar="NAME", help="What it is.")
@persona_option
@home_option
@json_option
def add(
    text: str | None, *, file: TextIO | None, kind: str, persona: str | None, as_json: bool
) -> None:
    """Put something into the agent's folder: the next tick of `mentis run` takes it.

    It is written whole or not at all, and stays until a tick that is recorded has taken it.
    """
    if (text is None) == (file is None):
        raise UsageError("give either a text or --file", hint='mentis sense add "It rains."')
    said = given_text(text, file) or ""
    payload: dict[str, object] = {"text": said}
    if file is not None and file.name != "<stdin>":
        payload["name"] = printable(Path(file.name).name)
    path = _inbox(persona).add({"kind": kind, "payload": payload, "endpoint": "cli"})
    if as_json:
        emit_json({"waiting": path.name})
    else:
        say(f"it waits as {path.name}")


@sense.command("list")
@persona_option
@home_option
@json_option
def list_(*, persona: str | None, as_json: bool) -> None:
    """Show what waits for the agent, the oldest first."""
    waiting = _inbox(persona).waiting()
    if as_json:
        emit_json([{"name": name, "content": content} for name, content in waiting])
        return
    for name, content in waiting:
        emit(f"{printable(name)}  {printable(_shown(content))}")
    if not waiting:
        say("nothing waits")


@sense.command()
@persona_option
@home_option
@json_option
def aside(*, persona: str | None, as_json: bool) -> None:
    """Show the senses that no tick could take, and why; the oldest first.

    A sense, or what an act brought, is set aside after `run.tries` ticks that failed with it, once
    one without it has worked; or at once where it cannot be written.
    """
    from mentis.codec.forms import to_object
    from mentis.loop.aside import open_asides

    with open_asides(home_path(), persona=persona) as asides:
        found = asides.all()
    if as_json:
        emit_json([to_object(one) for one in found])
        return
    for one in found:
        told = f"{one.time}  {one.id}  {one.kind}  {one.failures} ticks failed: {one.reason}"
        emit(printable(told))
    say("mentis sense again ID, or drop ID" if found else "nothing was set aside")


@sense.command()
@click.argument("name", metavar="ID")
@persona_option
@home_option
@json_option
def again(name: str, *, persona: str | None, as_json: bool) -> None:
    """Give the agent a sense once more that was set aside.

    It comes as it was: whoever vouched for it then, nobody more now, also with `run --owner`.
    """
    from mentis.loop.aside import open_asides

    with open_asides(home_path(), persona=persona) as asides:
        found = asides.find(name)
        path = _inbox(persona).add(asides.again(found))
        asides.remove(found, "again")
    if as_json:
        emit_json({"waiting": path.name})
    else:
        say(f"it waits as {path.name}")


@sense.command()
@click.argument("name", metavar="ID")
@persona_option
@home_option
@json_option
def drop(name: str, *, persona: str | None, as_json: bool) -> None:
    """Throw a sense away that was set aside; the record still says that it was there."""
    from mentis.loop.aside import open_asides

    with open_asides(home_path(), persona=persona) as asides:
        found = asides.find(name)
        asides.remove(found, "dropped")
    if as_json:
        emit_json({"dropped": found.id})
    else:
        say(f"{printable(found.id)} is gone")


def _shown(content: str) -> str:
    try:
        found: object = json.loads(content)["payload"]["text"]
    except (ValueError, KeyError, TypeError):
        found = content
    return str(found)[:80]


def _inbox(persona: str | None) -> Inbox:
    from mentis.loop.inbox import Inbox

    return Inbox.open(home_path(), persona=persona)
