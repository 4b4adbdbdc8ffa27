"""`mentis status list|latest|stats|check|health`: looking, which changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from .drafts import judgement_lines, open_service
from .files import read_bytes
from .health_show import health_lines
from .options import MAX_INDEX, Number, home_option, home_path, persona_option
from .output import emit, json_option, say
from .report import Report, Text, prints_report
from .window_show import verdict_word

if TYPE_CHECKING:
    from mentis.status.statuses import Statuses
    from mentis.values.entry import Entry

_HASH = 16
windows_option = click.option("--windows", is_flag=True, help="Only entries that carry a window.")


@click.command("list", epilog="For example: mentis status list --windows --json")
@windows_option
@persona_option
@home_option
@json_option
def list_(*, windows: bool, persona: str | None, as_json: bool) -> int:
    """List every entry, oldest first."""
    with open_service(persona, readonly=True) as statuses:
        entries = statuses.entries()
        chosen = (e for e in entries if not windows or statuses.window(e) is not None)
        _show(statuses, chosen, as_json=as_json)
    return 0


@click.command(epilog="For example: mentis status latest --count 1 --windows --json")
@click.option(
    "--count", type=Number(0, MAX_INDEX), default=5, show_default=True, help="How many; 0 for none."
)
@windows_option
@persona_option
@home_option
@json_option
def latest(*, count: int, windows: bool, persona: str | None, as_json: bool) -> int:
    """Show the last entries, oldest first."""
    with open_service(persona, readonly=True) as statuses:
        _show(statuses, statuses.latest(count, windows=windows), as_json=as_json)
    return 0


def _show(statuses: Statuses, entries: Iterable[Entry], *, as_json: bool) -> None:
    if not as_json:
        for entry in entries:
            emit(_line(statuses, entry))
        return
    emit("[", end="")
    for piece in _pieces(statuses, entries):
        emit(piece, end="")
    emit("]")


def _pieces(statuses: Statuses, entries: Iterable[Entry]) -> Iterator[str]:
    """A list of any length, one entry in memory at a time."""
    before = "\n"
    for entry in entries:
        yield before + json.dumps(statuses.entry_data(entry), ensure_ascii=False, indent=2)
        before = ",\n"
    if before != "\n":
        yield "\n"


def _line(statuses: Statuses, entry: Entry) -> str:
    window = statuses.window(entry) or {}
    words = " ".join(str(window.get(name, "")) for name in ("window_type", "cycle", "goal")).strip()
    words = " ".join(filter(None, (words, verdict_word(entry))))
    time, source = entry.time, entry.source
    if (place := statuses.origin(entry)) is not None:
        # When and by whom it was recorded there; the header says when it came here.
        time, source = place.timestamp or time, place.source or source
        words = words if place.verified else f"[unverified] {words}"
    line = f"{entry.index}  {time}  {entry.hash[:_HASH]}  {entry.kind}  {source}"
    return " ".join(f"{line}  {words}".split("\n")).rstrip()


@click.command(epilog="For example: mentis status stats --json")
@persona_option
@home_option
@prints_report
def stats(*, persona: str | None) -> Report:
    """Count the entries by source and kind."""
    with open_service(persona, readonly=True) as statuses:
        found = statuses.stats()

    def text() -> Iterator[Text]:
        yield f"agent:   {found.agent}"
        yield f"total:   {found.total_entries} ({found.windows} with a window)"
        yield f"oldest:  {found.oldest_timestamp or '-'}"
        yield f"newest:  {found.newest_timestamp or '-'}"
        if found.imported:
            doubt = f", {found.unverified} of them unverified" if found.unverified else ""
            yield f"import:  {found.imported} with the times and sources they had{doubt}"
        for name, count in found.sources.items():
            yield f"source:  {name} {count}"
        for name, count in found.kinds.items():
            yield f"kind:    {name} {count}"
        size = "" if found.file_size_bytes is None else f", {found.file_size_bytes} bytes"
        yield f"store:   {found.store}{size}"

    return Report(found, text())


@click.command(epilog="For example: mentis status check draft.json")
@click.argument("file", metavar="FILE")
@click.option("--response", is_flag=True, help="FILE is a whole answer that opens with a window.")
@persona_option
@home_option
@prints_report
def check(file: str, *, response: bool, persona: str | None) -> Report:
    """Judge a draft as if it were added now.

    FILE, or - for standard input. Nothing is written. Exit code 1 when a rule blocks it.
    """
    from mentis.codec.forms import to_object

    data = read_bytes(file)
    with open_service(persona, readonly=True) as statuses:
        judged = statuses.check(data, response=response)

    return Report(
        {"blocked": judged.blocked, **to_object(judged)},
        judgement_lines(judged),
        code=1 if judged.blocked else 0,
    )


@click.command(epilog="For example: mentis status health --json")
@persona_option
@home_option
@prints_report
def health(*, persona: str | None) -> Report:
    """Go through a checklist: what is fine, what needs attention, what fails, what to do.

    RED: nothing can be recorded, or a breach waits for its recovery. YELLOW: something fails, waits
    or is unsure. It costs the same in a home of any size. Then come the ways into the record: A
    watcher, B this command line, C the save tool of `mentis mcp`, D its monitor. Exit code 1 when
    nothing can be recorded. A stage of the tick that keeps failing is told as an alarm, and so is
    a memory update that failed.
    """
    from mentis.app.home_health import health_data, read_health

    with open_service(persona) as statuses:
        found = read_health(statuses, home_path(), persona)
    for note in found.notes:
        say(note)
    return Report(health_data(found), health_lines(found), 0 if found.health.persists else 1)


@click.command(epilog="For example: mentis status context --json")
@persona_option
@home_option
@prints_report
def context(*, persona: str | None) -> Report:
    """Show what every window should carry.

    `persistent_context` and `project_awareness`, from the files of these names in status/PERSONA.
    Without a file of the project it is what Mentis knows of it. An agent that opens its answers
    with windows is told both; MCP clients read them as resources.
    """
    with open_service(persona, readonly=True) as statuses:
        told = {
            "persistent_context": statuses.context("persistent_context"),
            "project_awareness": statuses.context("project_awareness"),
        }
    return Report(
        told, (f"{name}: {json.dumps(found, ensure_ascii=False)}" for name, found in told.items())
    )
