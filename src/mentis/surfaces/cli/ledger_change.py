"""The commands that change a ledger: erase, rotate, accept-rollback, repair, settle-clock."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from mentis.errors import UsageError
from mentis.values.words import entries_of

from .ledger_parts import entry_object, open_own
from .options import MAX_INDEX, Number, home_option, home_path, persona_option
from .output import as_talk
from .report import Note, Report, Text, prints_report

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command(epilog='For example: mentis ledger erase 12 --field window --reason "Art. 17"')
@click.argument("index", metavar="ENTRY", type=Number(0, MAX_INDEX))
@click.option("--field", "fields", multiple=True, metavar="NAME", help="Only this field.")
@click.option("--reason", required=True, help="Why; it is kept in the tombstone.")
@yes_option
@persona_option
@home_option
@prints_report
def erase(
    index: int,
    *,
    fields: tuple[str, ...],
    reason: str,
    yes: bool,
    persona: str | None,
) -> Report:
    """Remove values and their salts from an entry, for good.

    What stays is the commitment, which nobody can guess back, and a signed entry that says what was
    erased and why. The record still verifies. Without --field everything is erased but the
    delivery, by which the same draft is recognised when it comes again and is not recorded twice;
    `--field delivery` erases it, too. Erasing `window` also erases the digest of the draft and the
    judgement, which quotes it; what an act left beside its entry is erased as well, once the act
    has ended. Erasing a turn erases what was said in it: its place in the session stays, empty. If
    it was interrupted, the same command finishes it. It says so where the database may keep a copy
    that Mentis cannot remove (PostgreSQL does).
    """
    from mentis.record.record import fields_to_erase
    from mentis.record.record_data import erase_entry, erasure_data

    with open_own(persona) as record:
        entry = record.entry(index)
        named = fields_to_erase(entry, fields)
        said = record.turns_to_empty(entry, named)
        what = f"{', '.join(named)} of entry {index} ({entry.kind})"
        also = f" and {said}" if said and said.numbers else ""
        _confirm(f"erase {what}{also} for good?", yes=yes)
        done = erase_entry(record, entry, fields, reason=reason)

    def text() -> Iterator[Text]:
        yield f"erased {', '.join(named)} of entry {index}; entry {done.tombstone.index} says so"
        if not fields and done.left:
            known = "the same draft is known, should it come again"
            yield Note(f"its delivery {entry.delivery!r} stays: {known}")
        if said and said.numbers:
            others = "what others made of it (summaries, memories) is not looked through"
            yield Note(f"emptied {said}; {others}")
        for place in done.remains:
            yield Note(f"note: it may still be in {place}")

    return Report(erasure_data(done), text())


@click.command(epilog="For example: mentis ledger rotate --keep 10000")
@click.option("--keep", type=Number(min=1), metavar="N", help="The last N entries stay.")
@click.option("--before", metavar="INDEX|TIME", help="Everything older goes into a segment.")
@click.option("--expire", is_flag=True, help="Delete segments older than the policy keeps them.")
@yes_option
@persona_option
@home_option
@prints_report
def rotate(
    *,
    keep: int | None,
    before: str | None,
    expire: bool,
    yes: bool,
    persona: str | None,
) -> Report:
    """Move old entries out of the database into a sealed file that proves itself.

    Their hashes stay, so every proof can still be made, and verification reads the file. With
    --expire, files older than `ledger.keep_segments_days` are deleted, and an entry says which.
    """
    if [keep is not None, before is not None, expire].count(True) != 1:
        raise UsageError("what is to go?", hint="give one of --keep, --before, --expire")
    if expire:
        return _expire(persona, yes=yes)
    from mentis.record import rotation
    from mentis.record.record_data import rotation_data

    with open_own(persona) as record:
        if keep is not None:
            index = rotation.index_to_keep(record, keep)
        else:
            index = rotation.index_before(record, before or "")
        done = rotation.rotate(record, index)
    sealed = f"entries {done.first} to {done.last} are sealed there"
    text = (str(done.path), Note(f"{sealed} and no longer in the database"))
    return Report(rotation_data(done), text)


def _expire(persona: str | None, *, yes: bool) -> Report:
    from mentis.record.record_data import expiry_data
    from mentis.record.rotation import expire

    with open_own(persona) as record:
        days = record.settings.model.ledger.keep_segments_days
        _confirm(f"delete the segments that are older than {days} days for good?", yes=yes)
        done = expire(record)
    files = [str(path) for path in done.files]

    def text() -> Iterator[Text]:
        yield from files
        yield Note(f"entry {done.entry.index} says so" if done.entry else "no segment is that old")

    return Report(expiry_data(done), text())


@click.command(
    "accept-rollback", epilog='For example: mentis ledger accept-rollback --reason "..."'
)
@click.option("--reason", required=True, help="What happened; it is kept in the entry.")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Give up also the checkpoints in this file, as far as they no longer fit.",
)
@click.option("--without-anchors", is_flag=True, help="Go on although an anchor cannot be asked.")
@yes_option
@persona_option
@home_option
@prints_report
def accept_rollback(
    *,
    reason: str,
    checkpoints: tuple[Path, ...],
    without_anchors: bool,
    yes: bool,
    persona: str | None,
) -> Report:
    """Continue with a ledger that is shorter than its last checkpoint, or differs from it.

    That decision is itself a signed entry, and verification reports it from then on. It names each
    checkpoint that is given up, or the entries that are missing between others; a checkpoint that
    turns up later is named with --checkpoint. Segments of what is given up are kept beside the
    others as `given-up-...`.
    """
    from mentis.record import rollback as record_rollback

    count = record_rollback.entries_left(home_path(), persona)
    _confirm(f"go on from {entries_of(count)}, and give up what is missing?", yes=yes)
    with record_rollback.open_rolled_back(home_path(), persona) as record:
        done = record_rollback.accept_rollback(
            record, reason=reason, checkpoints=checkpoints, without_anchors=without_anchors
        )
    told = {"unread": list(done.unread), "aside": [str(path) for path in done.aside]}

    def text() -> Iterator[Text]:
        yield f"entry {done.entry.index} says that a rollback was accepted: {reason}"
        for fault in done.unread:
            yield Note(f"note: {fault}; the checkpoints it knows are not given up")
        for path in done.aside:
            yield Note(f"note: {path} holds entries that are given up, and is no segment any more")

    return Report({**entry_object(done.entry), **told}, text())


@click.command(epilog="For example: mentis ledger repair")
@persona_option
@home_option
@prints_report
def repair(*, persona: str | None) -> Report:
    """Report damage, and append an entry that points at it. Nothing is ever rewritten.

    The database is asked for damage, too. News of acts that no entry bears out is taken away, once
    that is recorded. A ledger that was rolled back is only reported: accept
    that first. Exit code 1 when anything is wrong.
    """
    from mentis.record.record_data import repair_data

    with open_own(persona) as record:
        done = record.repair()
    wrong = bool(done.entry or done.refusal)

    def text() -> Iterator[Text]:
        for line in done.database:
            yield f"database: {line}"
        for finding in done.verdict.findings:
            yield f"entry {finding.index}, {finding.column}: {finding.message} ({finding.attack})"
        if done.verdict.more:
            yield f"and {done.verdict.more} more"
        if done.taken:
            yield Note(f"taken away: what was said to have come of {', '.join(done.taken)}")
        if done.refusal:
            yield done.refusal
            yield Note(
                "hint: restore it, or go on with `mentis ledger accept-rollback --reason ...`"
            )
        yield Note(_summary(done.entry.index if done.entry else None, wrong=wrong))

    return Report(repair_data(done), text(), code=1 if wrong else 0)


@click.command("settle-clock", epilog='For example: mentis ledger settle-clock --reason "NTP"')
@click.option("--reason", required=True, help="What happened; it is kept in the entry.")
@persona_option
@home_option
@prints_report
def settle_clock(*, reason: str, persona: str | None) -> Report:
    """Say that the clock of this machine is right, after it has jumped.

    Until then, or for a day, daily limits apply to each time that the clock has shown. From this
    entry on they follow the clock as it is: what happened before counts at its measured time, and
    what was recorded by a clock that was ahead, and cannot be measured, no longer counts.
    """
    from mentis.record.clock_entries import settle_clock as settle
    from mentis.record.clock_entries import settled_clock_data
    from mentis.values.measured import jump_words

    with open_own(persona) as record:
        done = settle(record, reason=reason)

    def text() -> Iterator[Text]:
        for jump in done.jumps:
            yield jump_words(jump)
        yield Note(f"entry {done.entry.index} says that the clock is right")

    return Report(settled_clock_data(done), text())


def _summary(index: int | None, *, wrong: bool) -> str:
    if index is not None:
        return f"entry {index} points at it; what is damaged stays as it is: restore a backup"
    return "nothing was appended" if wrong else "nothing is wrong"


def _confirm(question: str, *, yes: bool) -> None:
    """A person at a terminal is asked; anything else has to say --yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("this is not asked without a terminal", hint="say --yes if you mean it")
    if not click.confirm(as_talk(question), err=True):
        raise click.Abort
