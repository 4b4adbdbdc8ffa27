"""`mentis status add|write|watch|import`: the ways in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.values.words import entries_of

from .drafts import MOST_HISTORY, open_service
from .files import read_bytes
from .logs import log_option
from .options import home_option, persona_option
from .output import emit, emit_line, json_option, say
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.ledger.channel.consumer import Consumer, Round
    from mentis.status.statuses import Statuses
    from mentis.values.entry import Entry
    from mentis.values.status import WindowResult


@click.command(epilog="For example: mentis status add --file draft.json --source editor")
@click.option("--file", required=True, metavar="FILE", help="The draft; - is standard input.")
@click.option("--source", default="manual", show_default=True, help="Where it comes from.")
@click.option("--delivery", metavar="ID", help="Given twice with the same draft, it is one entry.")
@persona_option
@home_option
@prints_report
def add(*, file: str, source: str, delivery: str | None, persona: str | None) -> Report:
    """Judge a window, stamp it and record it.

    Exit code 1 when a rule blocks it (it is kept in quarantine), or when the store is down: then
    it waits in the spool until `mentis status watch` finds the store back.
    """
    from mentis.codec.forms import to_object

    data = read_bytes(file)
    with open_service(persona) as statuses:
        added = statuses.add(data, source=source, delivery=delivery)

    return Report(
        {
            "line": added.line,
            "acknowledged": added.receipt.acknowledged,
            **to_object(added),
        },
        _lines(added),
        code=0 if added.entry is not None else 1,
    )


def _lines(added: WindowResult) -> Iterator[Text]:
    if added.health is not None:
        yield f"Spooled: {added.spooled}"
        yield Note(f"{added.health.status}: {added.health.reason}")
        return
    yield added.line
    if added.known:
        yield Note("note: this delivery was recorded before; nothing was added")
        return
    if not added.receipt.acknowledged:
        yield Note("YELLOW: whether it was kept is not sure; see `mentis verify`")
    if added.judgement is not None:
        for found in added.judgement.findings:
            yield Note(f"{found.level}: {found.rule} {found.where or '-'}: {found.what}")
        for found in added.judgement.kept:
            yield Note(f"kept, but: {found.rule} {found.where or '-'}: {found.what}; {found.hint}")
        for difference in added.judgement.differences:
            say(f"note: {difference}")


@click.command(epilog="For example: my-agent --status | mentis status write")
@click.argument("file", default="-", metavar="[FILE]")
@click.option("--slot", is_flag=True, help="Into the single slot; a draft that waits is replaced.")
@click.option("--delivery", metavar="ID", help="Given twice with the same draft, it is one entry.")
@persona_option
@home_option
@prints_report
def write(file: str, *, slot: bool, delivery: str | None, persona: str | None) -> Report:
    """Spool a draft for the watcher.

    FILE, or standard input. Once it is written a power loss does not lose it. It is judged when
    it is consumed; nothing else has to run.
    """
    if slot and delivery is not None:
        raise click.UsageError("The slot has no deliveries: leave out --slot or --delivery.")
    data = read_bytes(file)
    with open_service(persona) as statuses:
        path = statuses.write(data, slot=slot, delivery=delivery)
    return Report({"file": str(path), "delivery": None if slot else path.stem}, str(path))


@click.command(epilog="For example: mentis status watch --once")
@click.option("--once", is_flag=True, help="Consume what waits, and end.")
@log_option
@persona_option
@home_option
@json_option
def watch(*, once: bool, persona: str | None, as_json: bool) -> int:
    """Consume the drafts that come as files, until Ctrl-C.

    One process does so at a time: any other is told which one. Prints one line per entry. With
    --once, exit code 1 when a draft was refused or the store failed.
    """
    import anyio

    with open_service(persona) as statuses:
        consumer = statuses.watcher(on_added=partial(_print_added, as_json=as_json))
        told = _Told(as_json=as_json)
        if not as_json:
            slots = " and ".join(map(str, statuses.folder.slots))
            say(f"watching {statuses.folder.spool} and {slots}")
        anyio.run(_consume_once if once else _watch, statuses, consumer, told)
    return 1 if once and told.failed else 0


async def _consume_once(_statuses: Statuses, consumer: Consumer, told: _Told) -> None:
    import anyio

    from mentis.ledger.channel.watch import watch as watch_folder

    stop = anyio.Event()

    def end_round(done: Round) -> None:
        told.tell(done)
        stop.set()

    await watch_folder(consumer, stop=stop, on_round=end_round)


async def _watch(statuses: Statuses, consumer: Consumer, told: _Told) -> None:
    from mentis.ledger.channel.watch import watch_until_signal

    await watch_until_signal(consumer, every=statuses.scan_seconds, on_round=told.tell)


def _print_added(entry: Entry, line: str, *, as_json: bool) -> None:
    if as_json:
        emit_line({"line": line, "index": entry.index, "hash": entry.hash, "source": entry.source})
    else:
        emit(line)


class _Told:
    """Says what went wrong in a round; a store that stays down, or a file, is named once."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._fault: str = ""
        self._stuck: str = ""
        self._unlogged: str | None = None
        self.failed = False

    def tell(self, done: Round) -> None:
        for name, reason in done.refused.items():
            words = f"refused: {reason}\nin quarantine: {name}"
            self._say(words, {"refused": name, "reason": reason})
        for name in done.swept:
            self._say(f"note: swept {name}, which a killed writer had left", {"swept": name})
        fault = "" if done.fault is None else done.fault.message
        if fault != self._fault:
            words = f"RED: {fault}" if fault else "the store is back"
            self._say(words, {"fault": fault or None})
        self._fault = fault
        stuck = "\n".join(error.message for error in done.stuck.values())
        if stuck != self._stuck:
            told = {name: error.message for name, error in done.stuck.items()}
            self._say(f"stuck: {stuck}" if stuck else "nothing is stuck any more", {"stuck": told})
        self._stuck = stuck
        if done.unlogged not in (None, self._unlogged):
            self._say(f"note: {done.unlogged}", {"unlogged": done.unlogged})
        self._unlogged = done.unlogged
        self.failed = self.failed or bool(done.refused or fault or stuck)

    def _say(self, words: str, facts: dict[str, object]) -> None:
        if self._as_json:
            emit_line(facts)
        else:
            say(words)


@click.command("import", epilog="For example: mentis status import status_window_history.json")
@click.argument("file", metavar="FILE")
@click.option("--legacy", is_flag=True, help="Take entries that do not verify, as unverified.")
@persona_option
@home_option
@prints_report
def import_(file: str, *, legacy: bool, persona: str | None) -> Report:
    """Import a history file of the origin.

    The file, or the bare list of its entries. Every entry is verified bit for bit first, and
    nothing is imported if one does not hold; with --legacy it is, and marked. What was imported
    before is left out. Lists and counts show the times and sources the entries had.
    """
    data = read_bytes(file, most=MOST_HISTORY)
    with open_service(persona) as statuses:
        done = statuses.import_history(data, legacy=legacy)

    def text() -> Iterator[Text]:
        known = f"{done.known} known already (total: {done.total})"
        yield f"Imported: {entries_of(done.added)}, {known}"
        if done.unverified:
            yield Note(
                f"note: {entries_of(done.unverified)} could not be verified and are marked so"
            )
        if done.begins_after is not None:
            yield Note(
                f"note: the history begins after {done.begins_after}, which it does not hold"
            )

    return Report(done, text())


@click.command("export", epilog="For example: mentis status export status_window_history.json")
@click.argument("file", metavar="FILE")
@persona_option
@home_option
@prints_report
def export_(file: str, *, persona: str | None) -> Report | None:
    """Write every window as a history file of the origin; - is standard output.

    Imported windows stand there as they were. Those recorded here are linked and hashed anew by the
    origin's recipe, so that its checker accepts the file; `metadata` says which entry each is.
    """
    from mentis.disk.atomic import write_atomic

    with open_service(persona, readonly=True) as statuses:
        data, count = statuses.export_history()
    if file == "-":
        emit(data.decode())
        return None
    write_atomic(Path(file), data)
    return Report({"file": file, "entries": count}, f"Exported: {entries_of(count)}")
