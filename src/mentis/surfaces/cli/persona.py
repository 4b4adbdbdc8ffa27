"""`mentis persona`: who lives in a home, and what each of them keeps about itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, get_args

import click

from mentis.errors import MentisError
from mentis.values.persona_draft import DraftKind

from .files import read_stream
from .groups import RenamedGroup
from .options import (
    given_text,
    home_option,
    home_path,
    persona_option,
    route_option,
    session_option,
)
from .output import say, show_error
from .pages import fetched, page_of, page_options, rest_note
from .persona_commits import checkout, commit, diff, log
from .persona_export import export
from .persona_new import new
from .report import (
    Note,
    Report,
    Text,
    TextDiff,
    json_wanted,
    print_report,
    prints_report,
    show_notes,
)
from .tables import TextTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mentis.library.memory.files import MemoryFile, MemoryFileWrite
    from mentis.prompts.personas import AcceptedRevision, Personas
    from mentis.values.persona_draft import PersonaDraft
    from mentis.values.persona_update import PersonaUpdate

KINDS: tuple[DraftKind, ...] = get_args(DraftKind)
FILES = click.Choice(["memory", "soul", "relationship"])
file_argument = click.argument("name", type=FILES, metavar="memory|soul|relationship")


def open_personas() -> Personas:
    from mentis.prompts.personas import Personas

    return Personas.open(home_path())


@click.group(cls=RenamedGroup)
def persona() -> None:
    """See and create personas, and edit their memory files."""


@persona.command("list", epilog="For example: mentis persona list --json")
@page_options
@home_option
@prints_report
def list_personas(*, limit: int | None, after: str) -> Report:
    """List the personas of the home, in the order of their ids."""
    with open_personas() as personas:
        rows, more = page_of(personas.rows(after=after, count=fetched(limit)), limit)
    columns = ("id", "name", "type", "language", "problem")
    marked = [{**row, "id": f"{row['id']}{' (default)' if row['default'] else ''}"} for row in rows]
    table = TextTable(columns, [tuple(str(row[column]) for column in columns) for row in marked])
    return Report(rows, (table, rest_note(str(rows[-1]["id"])) if more else ()))


@persona.command(epilog="For example: mentis persona use bob")
@click.argument("persona_id", metavar="ID")
@home_option
@prints_report
def use(persona_id: str) -> Report:
    """Make one of several personas the default: taken wherever --persona names no other.

    It is the setting `persona`; `mentis settings unset persona` goes back.
    """
    with open_personas() as personas:
        change = personas.use(persona_id)
        default = personas.default

    def text() -> Iterator[Text]:
        yield Note(f"{persona_id} is the default persona of this home")
        if default != persona_id:
            yield Note(f"{change.overridden_by} says otherwise here: {default or 'none'}")

    return Report({"id": default}, text())


@persona.command(epilog="For example: mentis persona show ada")
@click.argument("persona_id", metavar="ID", required=False)
@home_option
@prints_report
def show(persona_id: str | None) -> Report:
    """Show one persona as its file describes it."""
    with open_personas() as personas:
        chosen = personas.pick(persona_id)
        found, path = personas.read(chosen), personas.path(chosen)
    return Report(found, (Note(str(path)), path.read_text(encoding="utf-8").rstrip("\n")))


for _command in (new, export, commit, log, diff, checkout):
    persona.add_command(_command)


@persona.command(epilog='For example: mentis persona autofill core_trait "stubborn" --accept')
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("wish", metavar="WORDS", required=False, default="")
@click.option("--accept", is_flag=True, help="Put it into persona.toml without asking.")
@click.option(
    "--draft", type=click.File("rb"), help="Use this draft (from --json) instead of asking again."
)
@persona_option
@route_option
@home_option
@prints_report
def autofill(  # one parameter an option
    kind: DraftKind,
    wish: str,
    *,
    accept: bool,
    draft: BinaryIO | None,
    persona: str | None,
    route: str,
) -> None:
    """Have the model draft a field of a persona; accept it or not.

    A draft changes nothing. At a terminal you are asked whether to put it into persona.toml;
    elsewhere --accept does it, or --draft FILE later, with a draft that you kept and maybe changed.
    """
    from mentis.codec.forms import from_json
    from mentis.prompts.persona_file import draft_text
    from mentis.values.persona_draft import PersonaDraft

    if draft is not None:
        made = from_json(PersonaDraft, read_stream(draft))
        accept = True
        if made.kind != kind:
            raise click.UsageError(f"that is a draft of {made.kind}, not of {kind}")
    else:
        made = drafted_field(kind, wish, persona, route)
    print_report(Report(made, draft_text(made)))
    if not accept and sys.stdin.isatty() and not json_wanted():
        accept = click.confirm("put it into persona.toml?")
    if not accept:
        say(
            "nothing was written; --accept puts it into persona.toml, or --draft FILE what you keep"
        )
        return
    with open_personas() as personas:
        path = personas.accept_draft(personas.pick(persona), made)
    say(f"{path}: it says so now; take it out there to go back")


def drafted_field(kind: DraftKind, wish: str, persona: str | None, route: str) -> PersonaDraft:
    """A draft of one field by the model; nothing is written."""
    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        return talk.wait_for(lambda: talk.agent.autofill(kind, wish))


@persona.command(epilog='For example: mentis persona files memory --text "- Likes tea."')
@click.argument("name", type=FILES, required=False, metavar="[memory|soul|relationship]")
@click.option("--text", metavar="TEXT", help="Write this into the file.")
@click.option("--from-file", type=click.File(encoding="utf-8"), help="Take the text from a file.")
@click.option("--truncate", is_flag=True, help="Cut what goes over the limit, and show the cut.")
@click.option("--force", is_flag=True, help="Even if more than half of the file goes.")
@click.option("-m", "--words", default="", metavar="TEXT", help="Why: kept with the revision.")
@persona_option
@home_option
@prints_report
def files(  # one parameter an option
    name: str | None,
    *,
    text: str | None,
    from_file: TextIO | None,
    truncate: bool,
    force: bool,
    words: str,
    persona: str | None,
) -> Report:
    """Show or write the files a persona keeps about itself.

    Without a name, all three are listed; with one, its text is printed; with --text or
    --from-file, it is written, as a revision that can be undone.
    """
    wanted = given_text(text, from_file)
    if name is None and wanted is not None:
        raise click.UsageError("name the file to write")
    with open_personas() as personas:
        memory = personas.memory(personas.pick(persona))
        if name is None:
            return _files_report(memory.files())
        if wanted is None:
            return _file_report(memory.read(name))
        written = memory.write(name, wanted, words=words, force=force, truncate=truncate)
        return _write_report(written)


def _files_report(files: Sequence[MemoryFile]) -> Report:

    rows = [
        (
            file.name,
            "empty" if file.empty else "filled",
            f"{file.chars} of {file.limit}",
            str(file.number),
        )
        for file in files
    ]
    table = TextTable(("file", "state", "characters", "revision"), rows, right=("revision",))
    return Report(files, (Note(f"in {Path(files[0].path).parent}"), table))


def _file_report(file: MemoryFile) -> Report:

    return Report(file, (Note(file.path), file.text.rstrip("\n")))


def _write_report(written: MemoryFileWrite) -> Report:

    def text() -> Iterator[Text]:
        what = f"revision {written.number}" if written.changed else "nothing changed"
        yield Note(f"{written.name}: {what}, {written.chars} characters")
        if written.cut:
            yield Note(f"cut off ({len(written.cut)} characters):\n{written.cut}")

    return Report(written, text())


@persona.command(epilog="For example: mentis persona update --session main")
@persona_option
@route_option
@session_option
@home_option
@prints_report
def update(*, persona: str | None, route: str, session: str) -> Report | None:
    """Let a persona bring its memory files up to date from a conversation.

    In `mentis chat` it runs by itself, as often as `persona_update.frequency` says. What it changes
    is a revision each: `mentis persona review` shows them. Exit code 1 when it failed.
    """
    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        made = talk.wait_for(lambda: talk.agent.update_memory(session=session))
    if made is None:
        return None
    return Report(made, update_lines(made), code=0 if made.success else 1)


def show_update(made: PersonaUpdate | MentisError) -> None:
    """An update that was made in the background, or why there is none."""
    if isinstance(made, MentisError):
        show_error(made)
    else:
        show_notes(update_lines(made))


def update_lines(made: PersonaUpdate) -> Iterator[Text]:
    """What an update came to."""
    for change in made.written:
        mark = ", in review: it was made from outside text" if change.review else ""
        yield Note(f"{change.name}.md: revision {change.revision}{mark}")
    for refused in made.refused:
        yield Note(f"not done: {refused}")
    if made.cut:
        yield Note(
            f"{made.cut} characters of a message that is longer than the context were not read"
        )
    read = f"read {made.messages} messages, {made.waiting} wait for the next update"
    if made.success:
        yield Note(f"memory update: {read}, {len(made.written)} files changed [entry {made.entry}]")
    else:
        yield Note(f"memory update failed: {made.message} [{made.failure}, entry {made.entry}]")


@persona.command(epilog='For example: mentis persona review memory --accept -m "all true"')
@click.argument("name", type=FILES, required=False, metavar="[memory|soul|relationship]")
@click.option("--accept", is_flag=True, help="Vouch for the file as it stands; it is recorded.")
@click.option("-m", "--reason", default="", metavar="TEXT", help="With --accept: why.")
@persona_option
@home_option
@prints_report
def review(name: str | None, *, accept: bool, reason: str, persona: str | None) -> Report:
    """Show changes of the memory files that you have not accepted or undone.

    What was made from outside text is marked, and counts as untrusted until it is accepted;
    `mentis persona undo` takes the last change of a file back. With memory.review = "manual" no
    prompt has a change before it is accepted.
    """
    if accept and name is None:
        raise click.UsageError("name the file to accept")
    with open_personas() as personas:
        chosen = personas.pick(persona)
        if accept and name is not None:
            return _accepted_report(personas.accept(chosen, name, reason=reason))
        memory = personas.memory(chosen)
        names = (name,) if name else ("memory", "soul", "relationship")
        found = [change for each in names for change in memory.pending_changes(each)]

    def text() -> Iterator[Text]:
        for change in found:
            mark = " [from outside text]" if change.review else ""
            yield Note(f"{change.name}.md, revision {change.number}, {change.time}{mark}")
            yield change.diff
        if not found:
            yield Note("nothing is in review")

    return Report(found, text())


def _accepted_report(made: AcceptedRevision) -> Report:

    return Report(
        made, Note(f"{made.name}.md: revision {made.accepted} is accepted [entry {made.entry}]")
    )


@persona.command(epilog='For example: mentis persona promote seraphina -m "I read it"')
@click.argument("persona_id", metavar="ID")
@click.option("-m", "--reason", default="", metavar="TEXT", help="Why: it is recorded.")
@home_option
@prints_report
def promote(persona_id: str, *, reason: str) -> Report:
    """Vouch for an imported persona: its words count as your own from then on.

    Read it first: `mentis persona show ID`, and the blocks that `mentis prompts list` names for it.
    """
    with open_personas() as personas:
        made = personas.promote(persona_id, reason=reason)
    blocks = f", with {', '.join(made.blocks)}" if made.blocks else ""
    return Report(made, Note(f"{made.persona} is promoted{blocks} [entry {made.entry}]"))


@persona.command(epilog="For example: mentis persona greeting 2 --persona seraphina")
@click.argument("number", type=int, required=False)
@persona_option
@home_option
@prints_report
def greeting(number: int | None, *, persona: str | None) -> Report:
    """Show the greetings of a persona, or choose the one that conversations begin with.

    Number 0 is in force. The one you choose changes places with it.
    """
    with open_personas() as personas:
        chosen = personas.pick(persona)
        rows = (
            personas.greetings(chosen)
            if number is None
            else personas.choose_greeting(chosen, number)
        )
    shown = [(str(one.number), one.text) for one in rows]
    return Report(rows, TextTable(("number", "greeting"), shown, right=("number",)))


@persona.command(epilog="For example: mentis persona history memory")
@file_argument
@click.option("--diff", "as_diff", is_flag=True, help="Show what the last revision changed.")
@persona_option
@home_option
@prints_report
def history(name: str, persona: str | None, *, as_diff: bool) -> Report:
    """List every revision of a memory file, or what the last one changed."""
    with open_personas() as personas:
        memory = personas.memory(personas.pick(persona))
        revisions = memory.history(name)
        difference = memory.diff(name) if as_diff else ""
    if as_diff:
        shown = TextDiff(difference) if difference else "no difference"
        return Report({"name": name, "diff": difference}, shown)
    rows = [(str(r.number), r.time, str(len(r.content)), r.words) for r in revisions]
    columns = ("revision", "time", "characters", "reason")
    return Report(revisions, TextTable(columns, rows, right=("revision", "characters")))


@persona.command(epilog="For example: mentis persona undo memory")
@file_argument
@persona_option
@home_option
@prints_report
def undo(name: str, persona: str | None) -> Report:
    """Take back the last change of a memory file."""
    with open_personas() as personas:
        return _write_report(personas.memory(personas.pick(persona)).undo(name))


@persona.command(epilog="For example: mentis persona reset memory")
@file_argument
@persona_option
@home_option
@prints_report
def reset(name: str, persona: str | None) -> Report:
    """Put the empty template in place of a memory file. It can be undone."""
    with open_personas() as personas:
        return _write_report(personas.memory(personas.pick(persona)).reset(name))
