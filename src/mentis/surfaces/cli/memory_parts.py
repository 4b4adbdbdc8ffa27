"""Shared by the commands of `mentis memory`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from mentis.values.memory_kind import INSTRUCTION_KINDS, MemoryKind
from mentis.values.trust import Trust

from .options import home_option, home_path, persona_option
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.memories.memories import Memories
    from mentis.values.cognition import Memory
    from mentis.values.memories import MemoryDraft, MemoryFilter
    from mentis.values.trace import Degradation

F = TypeVar("F", bound=Callable[..., Any])
KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
WRITTEN = click.Choice([kind for kind in KINDS if kind not in INSTRUCTION_KINDS])
VOUCHED = ("owner", "self", "reference")
TRUSTS = click.Choice([*VOUCHED, "untrusted"])
_SHORT = 120


def common(command: Callable[..., Report | None]) -> Callable[..., int]:
    """The options of every command here."""
    return persona_option(home_option(prints_report(command)))


def said_options(command: F) -> F:
    """What can be said about a memory when it is made."""
    options = (
        click.option("--kind", type=WRITTEN, default="fact", show_default=True, help="What it is."),
        click.option(
            "--scope", default="", metavar="NAME", help="Where it applies; empty means everywhere."
        ),
        click.option("--tag", "tags", multiple=True, metavar="WORD", help="A tag; repeatable."),
        click.option(
            "--confidence",
            type=float,
            metavar="NUMBER",
            default=1.0,
            show_default=True,
            help="How sure, 0 to 1.",
        ),
        click.option(
            "--trust",
            type=TRUSTS,
            default="owner",
            show_default=True,
            help="Who vouches for it: `untrusted` for text from outside, which is screened.",
        ),
        click.option("--source", default="cli", show_default=True, help="Where it comes from."),
        click.option("--session", default="", metavar="NAME", help="The conversation it is of."),
        click.option("--from", "valid_from", default="", metavar="TIME", help="Valid from then."),
        click.option(
            "--until", "valid_until", default="", metavar="TIME", help="Valid until then."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def filter_options(command: F) -> F:
    """What may be found."""
    options = (
        click.option(
            "--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only this kind."
        ),
        click.option("--scope", "scopes", multiple=True, metavar="NAME", help="Only this scope."),
        click.option("--tag", "tags", multiple=True, metavar="WORD", help="Only with this tag."),
        click.option("--source", "sources", multiple=True, help="Only from this source."),
        click.option("--session", default="", metavar="NAME", help="Only of this conversation."),
        click.option(
            "--trust",
            type=TRUSTS,
            default="untrusted",
            show_default=True,
            help="The least trust that is enough.",
        ),
        click.option("--since", default="", metavar="TIME", help="Made then or later."),
        click.option("--until", default="", metavar="TIME", help="Made then or earlier."),
        click.option("--private", is_flag=True, help="Include thoughts and diary."),
        click.option("--superseded", is_flag=True, help="Include what was superseded."),
        click.option("--expired", is_flag=True, help="Include what is not valid now."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def open_own(persona: str | None) -> Memories:
    from mentis.memories.memories import open_memories

    return open_memories(home_path(), persona)


def draft_of(text: str, said: dict[str, object]) -> MemoryDraft:
    from mentis.values.memories import MemoryDraft

    given: dict[str, Any] = {**said, "trust": Trust(str(said["trust"]))}
    return MemoryDraft(text, **given)


def filter_of(given: dict[str, object]) -> MemoryFilter:
    from mentis.memories.draft import read_time
    from mentis.values.memories import MemoryFilter

    told: dict[str, Any] = {**given, "trust": Trust(str(given["trust"]))}
    for name in ("since", "until"):
        told[name] = read_time(str(given[name]))
    return MemoryFilter(**told)


def memories_table(memories: Sequence[Memory]) -> Iterator[Text]:
    rows = [
        (m.id, m.kind, m.worth.value, m.scope, ", ".join(m.tags), m.time[:10], short(m.text))
        for m in memories
    ]
    yield TextTable(("id", "kind", "trust", "scope", "tags", "created", "text"), rows)


def degraded_lines(degraded: Iterable[Degradation]) -> Iterator[Text]:
    for step in degraded:
        yield Note(f"{step.part}: {step.reason}")


def short(text: str) -> str:
    """For a table; what was cut is seen to be cut, and `--json` has all of it."""
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
