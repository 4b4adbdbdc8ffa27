"""`mentis demo`: one real turn from blocks to a verified record, every claim checked."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from mentis.errors import RouteError
from mentis.values.reply import Delta, TextDelta
from mentis.values.source_map import SourceRange
from mentis.values.stability import Stability

from .blocks import block_lines
from .demo_acts import show_acts
from .demo_record import show_recorded_program
from .output import STOPPED, emit
from .report import Note, Report, json_wanted, prints_report, show
from .tables import TextTable

if TYPE_CHECKING:
    from .talk import Talk

QUESTIONS = ("Hello Ada! Who are you, in one sentence?", "What do you like to talk about?")
_TAMPERED = 0


@dataclass(slots=True)
class Checks:
    """The claims the demo makes. Each one is looked at, not assumed."""

    quiet: bool = False
    results: list[tuple[str, bool, str]] = field(default_factory=list[tuple[str, bool, str]])

    def claim(self, what: str, holds: bool, seen: str = "") -> None:
        self.results.append((what, holds, seen))
        if not self.quiet:
            told = f"  ({seen})" if seen else ""
            emit(f"  {'ok    ' if holds else 'FAILED'}  {what}{told}")

    def part(self, title: str) -> None:
        if not self.quiet:
            emit(f"\n{len(title) * '-'}\n{title}\n{len(title) * '-'}")

    @property
    def failures(self) -> int:
        return sum(not holds for _, holds, _ in self.results)


@click.command(epilog="For example: mentis demo --keep my-home && mentis --home my-home chat")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Make the home there and keep it; by default it is temporary.",
)
@prints_report
def demo(keep: Path | None) -> Report:
    """Show one real turn, end to end, and check every claim.

    A home is made with a shipped persona; its blocks are listed, composed and rendered; the
    embedded model answers, uses a tool, and then thinks by itself; the record is verified; then a
    copy of it is tampered with, and verification names the entry. Finally, a program that knows
    nothing of Mentis asks the same model, and its calls are recorded and explained. Exit code 1
    when any claim does not hold.
    """
    from mentis.home.create import create_home

    from .talk import open_talk

    checks = Checks(quiet=json_wanted())
    with _folder(keep) as folder:
        home = create_home(folder)
        with open_talk(home) as talk:
            _require_embedded(talk)
            route = talk.agent.route
            _show_prompt(talk, checks)
            _ask(talk, checks)
            _show_record(talk, checks)
        _show_seal(home, checks)
        show_acts(home, checks)
        _tamper(home, checks)
        show_recorded_program(home, route, checks)
    rows = [{"claim": what, "holds": ok, "seen": seen} for what, ok, seen in checks.results]
    held = f"\n{len(rows) - checks.failures} of {len(rows)} claims hold."
    after = f"The home is in {keep}." if keep else "Next: mentis init && mentis chat"
    return Report(
        {"failed": checks.failures, "claims": rows},
        (held, Note(after)),
        code=1 if checks.failures else 0,
    )


@contextmanager
def _folder(keep: Path | None) -> Generator[Path, None, None]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="mentis-demo-") as temporary:
        before = os.environ.get("MENTIS_CONFIG")
        os.environ["MENTIS_CONFIG"] = f"{temporary}/keys"  # they go with the home
        try:
            yield Path(temporary) / "demo"
        finally:
            os.environ.pop("MENTIS_CONFIG")
            if before is not None:
                os.environ["MENTIS_CONFIG"] = before


def _require_embedded(talk: Talk) -> None:
    """A prepared answer would prove nothing."""
    backend = talk.agent.route.backend
    if backend != "embedded":
        raise RouteError(
            f"the demo runs on the embedded model, and the default route is {backend!r}",
            hint="unset the MENTIS_ROUTES__DEFAULT__ variables",
        )


def _show_prompt(talk: Talk, checks: Checks) -> None:
    checks.part("1. What the model will be told, block by block")
    composed = talk.agent.compose(QUESTIONS[0])
    request, trace = composed.request, composed.trace
    if not checks.quiet:
        show(block_lines(trace))
    first = request.system_instruction[0]
    checks.claim(
        "every block is in or out for a stated reason", all(b.reason for b in trace.blocks)
    )
    checks.claim(
        "the constitution comes first",
        first.trust == "constitution",
        first.block,
    )
    fleeting = [span for span in request.system_instruction if span.stability is Stability.TURN]
    checks.claim("what changes every turn stays out of the lasting part", not fleeting)

    checks.part("2. The exact bytes that will be sent")
    rendering = talk.agent.render(QUESTIONS[0])
    body = rendering.body()
    pieces = [piece for piece in rendering.source_map() if piece.pointer == "/messages/0/content"]
    if not checks.quiet:
        emit(f"  {len(body)} bytes, {rendering.digest}")
        emit(f"  {body[:72].decode('utf-8', 'ignore')} ...")
    told_bytes = sum(piece.end - piece.start for piece in pieces)
    checks.claim(
        "every byte of the system message is traced to a block",
        bool(pieces) and _gapless(pieces) and all(_known(piece) for piece in pieces),
        f"{told_bytes} bytes in {len(pieces)} spans",
    )


def _known(piece: SourceRange) -> bool:
    return bool(piece.span.block) or piece.span.source == "layout"


def _gapless(pieces: list[SourceRange]) -> bool:
    return all(before.end == after.start for before, after in pairwise(pieces))


def _ask(talk: Talk, checks: Checks) -> None:
    checks.part("3. A real answer from the model on this machine")
    usage = None
    for question in QUESTIONS:
        heard = _Heard(quiet=checks.quiet)
        heard.write(f"you> {question}\n")
        result = talk.ask(question, session="main", on_delta=heard)
        reply, usage = result.reply, result.reply.usage
        heard.write("\n")
        if talk.exit_code(result) == STOPPED:
            raise KeyboardInterrupt  # who shows it wants it to end, not to go on with half of it
        checks.claim(
            "the answer came in pieces, to its end or its limit",
            heard.pieces > 1 and reply.stop in ("end", "length"),
            f"{heard.pieces} pieces, stop: {reply.stop}",
        )
    checks.claim(
        "the second turn reused the prefix of the first",
        usage is not None and usage.cache_read > 0,
        f"{usage.cache_read} of {usage.input} tokens" if usage else "no usage reported",
    )


@dataclass(slots=True)
class _Heard:
    """Prints an answer as it comes, and counts its pieces."""

    quiet: bool
    pieces: int = 0

    def __call__(self, delta: Delta) -> None:
        if isinstance(delta, TextDelta):
            # The name comes with the first word: a line about loading may come before it.
            self.write(delta.text if self.pieces else f"ada> {delta.text}")
            self.pieces += 1

    def write(self, text: str) -> None:
        if not self.quiet:
            click.echo(text, nl=False)


def _show_record(talk: Talk, checks: Checks) -> None:
    checks.part("4. The record")
    entries = talk.agent.entries()
    if not checks.quiet:
        last = entries[-1]
        rows = [(name, str(value)) for name, value in _flat(last.body)]
        rows = [("index", str(last.index)), ("time", last.time), ("hash", last.hash), *rows]
        show(TextTable(("field", "value"), rows))
    checks.claim("each turn left one entry", len(entries) == len(QUESTIONS), f"{len(entries)}")
    linked = all(late.prev == early.hash for early, late in pairwise(entries))
    checks.claim("each entry carries the hash of the one before", linked)
    verdict = talk.agent.verify()
    checks.claim("the record verifies", verdict.intact and verdict.entries == len(entries))


def _show_seal(home: Path, checks: Checks) -> None:
    from mentis.record.record import open_record

    with open_record(home, readonly=True) as record:
        kept = record.require_sealing().folder.kept_checkpoint(record.agent)
    seen = kept.standing.size if kept else 0
    if kept and not checks.quiet:
        emit("\n".join(f"  | {line}" for line in kept.note.splitlines()))
    checks.claim(
        "a signed checkpoint of all of it is kept outside the home",
        seen == len(QUESTIONS),
        f"{seen} entries",
    )


def _flat(body: object, prefix: str = "") -> Generator[tuple[str, object], None, None]:
    if not isinstance(body, Mapping):
        yield prefix, body
        return
    for name, value in cast("Mapping[str, object]", body).items():
        yield from _flat(value, f"{prefix}.{name}" if prefix else name)


def _tamper(home: Path, checks: Checks) -> None:
    """Change one word in a copy of the ledger, as somebody with the file could."""
    from mentis.record.verify_home import verify_home

    checks.part("7. Somebody rewrites the record")
    with tempfile.TemporaryDirectory(prefix="mentis-demo-") as folder:
        copy = Path(folder) / "mentis.db"
        _copy_changed(home / "mentis.db", copy)
        (verdict,) = verify_home(home, ledger=copy)
    named = {finding.index for finding in verdict.findings}
    for finding in verdict.findings if not checks.quiet else ():
        emit(f"  entry {finding.index}, {finding.column}: {finding.message}")
    checks.claim(
        "verification of the changed copy fails and names the entry",
        named == {_TAMPERED},
        f"named: {', '.join(map(str, sorted(named))) or 'none'}",
    )
    (verdict,) = verify_home(home)
    checks.claim("the original still verifies", verdict.intact)


def _copy_changed(original: Path, copy: Path) -> None:
    with closing(sqlite3.connect(original)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        changed = target.execute(
            "UPDATE ledger SET body = replace(body, '\"embedded\"', '\"elsewhere\"') WHERE idx = ?",
            (_TAMPERED,),
        )
        if changed.rowcount != 1:
            raise RouteError("the demo could not tamper with its copy of the ledger")
        target.commit()
