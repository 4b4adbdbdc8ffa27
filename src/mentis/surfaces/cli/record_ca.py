"""`mentis record ca`: the certificate authority of `mentis record --forward`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import click

from .groups import RenamedGroup
from .output import say
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.recorder.authority import LocalAuthority

_MEANING = (
    "Programs that were told to trust it take an answer of whoever has its key for one of"
    " these hosts; it is worth nothing for any other. Nothing on this machine trusts it but"
    " programs that `mentis record --forward` starts, or that you give it to."
)


class RecordGroup(RenamedGroup):
    """`mentis record PROGRAM` starts a program; only `ca` right behind it is a command of ours
    (`mentis record -- ca` is a program again).
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  # click's own
    ) -> click.Context:
        found = self.commands.get(args[0]) if args else None
        if found is None:
            return super().make_context(info_name, args, parent, **extra)
        return found.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


@click.group(cls=RenamedGroup)
def ca() -> None:
    """See and remove the certificate authority of `mentis record --forward`.

    It is made on first use, and lies in your configuration folder, outside every home.
    """


@ca.command(epilog="For example: mentis record ca show")
@prints_report
def show() -> Report:
    """Show where it is, its fingerprint, and what it can do."""
    from mentis.recorder.authority import authority_folder, find_authority

    folder = authority_folder(os.environ)
    found = find_authority(folder)
    if found is None:
        return Report(None, Note(f"there is none in {folder}: mentis record --forward makes it"))
    facts = {
        "certificate": str(found.file),
        "fingerprint": found.fingerprint,
        "expires": found.expires.isoformat(timespec="seconds"),
        "hosts": sorted(found.hosts),
    }
    told = [
        f"{name}: {fact if isinstance(fact, str) else ', '.join(fact)}"
        for name, fact in facts.items()
    ]
    return Report(facts, (told, Note(_MEANING)))


@ca.command(epilog="For example: mentis record ca remove")
@prints_report
def remove() -> Report:
    """Remove its key and its certificate, with every bundle they are in.

    A program that was given the certificate trusts nobody through it any more: the key is gone.
    """
    from mentis.recorder.authority import authority_folder, remove_authority

    folder = authority_folder(os.environ)
    removed = remove_authority(folder)

    def text() -> Iterator[Text]:
        if removed:
            yield Note(f"removed: {', '.join(str(file) for file in removed)}")
        else:
            yield Note(f"there was none in {folder}")

    return Report({"removed": [str(file) for file in removed]}, text())


def opened_authority(hosts: Collection[str]) -> LocalAuthority:
    """The authority for these hosts; that it was made is said, with all that it means."""
    from mentis.recorder.authority import authority_folder, open_authority

    authority, made = open_authority(authority_folder(os.environ), hosts)
    if made:
        say(f"a certificate authority was made: {authority.file}")
        say(f"  SHA-256 {authority.fingerprint}, until {authority.expires:%Y-%m-%d}")
        say(f"  it speaks for: {', '.join(sorted(authority.hosts))}")
        say(f"  {_MEANING}")
        say("  see it: mentis record ca show; take it away: mentis record ca remove")
    return authority
