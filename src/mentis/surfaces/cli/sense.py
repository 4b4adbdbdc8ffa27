"""`mentis sense`: give an agent that lives something to sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .groups import RenamedGroup
from .options import given_text, home_option, home_path, persona_option
from .output import printable
from .report import Note, Report, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from typing import TextIO

    from mentis.loop.inbox import Inbox


@click.group(cls=RenamedGroup, names={"aside": "failed", "again": "retry"})
def sense() -> None:
    """Queue something for an agent to sense, and manage the queue."""


@sense.command(epilog='For example: mentis sense add "It rains."')
@click.argument("text", required=False)
@click.option(
    "--file", type=click.File("r", encoding="utf-8"), help="Take a file; - is standard input."
)
@click.option("--kind", default="input", show_default=True, metavar="NAME", help="What it is.")
@persona_option
@home_option
@prints_report
def add(text: str | None, *, file: TextIO | None, kind: str, persona: str | None) -> Report:
    """Queue something for the agent: the next tick of `mentis run` takes it.

    It is written whole or not at all, and stays until a recorded tick has taken it.
    """
    if (text is None) == (file is None):
        raise UsageError("give either a text or --file", hint='mentis sense add "It rains."')
    said = given_text(text, file) or ""
    payload: dict[str, object] = {"text": said}
    if file is not None and file.name != "<stdin>":
        payload["name"] = printable(Path(file.name).name)
    path = _inbox(persona).add({"kind": kind, "payload": payload, "endpoint": "cli"})
    return _queued(path)


@sense.command("list", epilog="For example: mentis sense list")
@persona_option
@home_option
@prints_report
def list_(*, persona: str | None) -> Report:
    """List what is queued for the agent, oldest first."""
    waiting = _inbox(persona).waiting()
    rows = [(printable(name), printable(_shown(content))) for name, content in waiting]
    return Report(
        [{"name": name, "content": content} for name, content in waiting],
        TextTable(("name", "text"), rows) if rows else Note("the queue is empty"),
    )


@sense.command(epilog="For example: mentis sense failed")
@persona_option
@home_option
@prints_report
def failed(*, persona: str | None) -> Report:
    """List the senses that no tick could take, and why; oldest first.

    A sense, or a result of an act, has failed after `run.tries` ticks that failed with it, once one
    without it has worked; or at once where it cannot be written.
    """
    from mentis.loop.aside import open_asides

    with open_asides(home_path(), persona=persona) as asides:
        found = asides.all()
    rows = [(one.id, one.time, one.kind, str(one.failures), one.reason) for one in found]
    columns = ("id", "time", "kind", "failed ticks", "reason")
    text = (TextTable(columns, rows), Note("mentis sense retry ID, or mentis sense drop ID"))
    return Report(found, text if found else Note("no sense has failed"))


@sense.command(epilog="For example: mentis sense retry ID")
@click.argument("name", metavar="ID")
@persona_option
@home_option
@prints_report
def retry(name: str, *, persona: str | None) -> Report:
    """Queue a failed sense once more.

    It comes with the trust that it had, also with `run --owner`.
    """
    from mentis.loop.aside import open_asides

    with open_asides(home_path(), persona=persona) as asides:
        found = asides.find(name)
        path = _inbox(persona).add(asides.again(found))
        asides.remove(found, "again")
    return _queued(path)


@sense.command(epilog="For example: mentis sense drop ID")
@click.argument("name", metavar="ID")
@persona_option
@home_option
@prints_report
def drop(name: str, *, persona: str | None) -> Report:
    """Discard a failed sense; the record still says that it was there."""
    from mentis.loop.aside import open_asides

    with open_asides(home_path(), persona=persona) as asides:
        found = asides.find(name)
        asides.remove(found, "dropped")
    return Report({"dropped": found.id}, Note(f"{printable(found.id)} is gone"))


def _queued(path: Path) -> Report:
    """`waiting` is the older name of `queued`."""
    return Report({"queued": path.name, "waiting": path.name}, Note(f"queued as {path.name}"))


def _shown(content: str) -> str:
    try:
        found: object = json.loads(content)["payload"]["text"]
    except (ValueError, KeyError, TypeError):
        found = content
    return str(found)[:80]


def _inbox(persona: str | None) -> Inbox:
    from mentis.loop.inbox import Inbox

    return Inbox.open(home_path(), persona=persona)
