"""`mentis persona`: who lives in a home, and what each of them keeps about itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, TextIO, get_args

import click

from mentis.values.persona_draft import DraftKind

from .files import read_stream
from .options import (
    given_text,
    home_option,
    home_path,
    persona_option,
    route_option,
    session_option,
)
from .output import emit, emit_json, json_option, say, table

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


@click.group()
def persona() -> None:
    """See and make personas, and keep their memory files."""


@persona.command("list", epilog="For example: mentis persona list --json")
@home_option
@json_option
def list_personas(*, as_json: bool) -> None:
    """List the personas of the home."""
    with open_personas() as personas:
        rows = personas.rows()
    if as_json:
        emit_json(rows)
        return
    columns = ("id", "name", "type", "language", "problem")
    table(columns, [tuple(row[column] for column in columns) for row in rows])


@persona.command(epilog="For example: mentis persona show ada")
@click.argument("persona_id", metavar="ID", required=False)
@home_option
@json_option
def show(persona_id: str | None, *, as_json: bool) -> None:
    """Show one persona as its file describes it."""
    from mentis.codec.forms import to_object

    with open_personas() as personas:
        chosen = personas.pick(persona_id)
        found, path = personas.read(chosen), personas.path(chosen)
    if as_json:
        emit_json(to_object(found))
    else:
        say(str(path))
        emit(path.read_text(encoding="utf-8").rstrip("\n"))


@persona.command(epilog="For example: mentis persona new bob --name Bob")
@click.argument("persona_id", metavar="ID")
@click.option("--name", metavar="TEXT", help="What it is called; by default its id.")
@click.option("--from", "source", default="ada", show_default=True, help="Which persona to copy.")
@home_option
@json_option
def new(persona_id: str, name: str | None, source: str, *, as_json: bool) -> None:
    """Make a persona from another one of the home, or from a shipped one."""
    with open_personas() as personas:
        path = personas.create(persona_id, name=name or persona_id.capitalize(), source=source)
    if as_json:
        emit_json({"id": persona_id, "path": str(path)})
    else:
        say(f"Made {path}")


@persona.command(epilog='For example: mentis persona autofill core_trait "stubborn" --accept')
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("wish", metavar="WORDS", required=False, default="")
@click.option("--accept", is_flag=True, help="Put it into persona.toml without asking.")
@click.option("--draft", type=click.File("rb"), help="A draft (--json) instead of asking anew.")
@persona_option
@route_option
@home_option
@json_option
def autofill(  # one parameter an option
    kind: DraftKind,
    wish: str,
    *,
    accept: bool,
    draft: BinaryIO | None,
    persona: str | None,
    route: str,
    as_json: bool,
) -> None:
    """Have the model draft a field of a persona out of a few words, and accept it or not.

    A draft changes nothing. At a terminal you are asked whether to put it into persona.toml;
    elsewhere --accept does it, or --draft FILE later, with a draft that you kept and maybe changed.
    """
    from mentis.codec.forms import from_json, to_object
    from mentis.prompts.persona_file import draft_text
    from mentis.values.persona_draft import PersonaDraft

    if draft is not None:
        made = from_json(PersonaDraft, read_stream(draft))
        accept = True
        if made.kind != kind:
            raise click.UsageError(f"that is a draft of {made.kind}, not of {kind}")
    else:
        made = _drafted(kind, wish, persona, route)
    if as_json:
        emit_json(to_object(made))
    else:
        emit(draft_text(made))
    if not accept and sys.stdin.isatty() and not as_json:
        accept = click.confirm("put it into persona.toml?")
    if not accept:
        say(
            "nothing was written; --accept puts it into persona.toml, or --draft FILE what you keep"
        )
        return
    with open_personas() as personas:
        path = personas.accept_draft(personas.pick(persona), made)
    say(f"{path}: it says so now; take it out there to go back")


def _drafted(kind: DraftKind, wish: str, persona: str | None, route: str) -> PersonaDraft:
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
@json_option
def files(  # one parameter an option
    name: str | None,
    *,
    text: str | None,
    from_file: TextIO | None,
    truncate: bool,
    force: bool,
    words: str,
    persona: str | None,
    as_json: bool,
) -> None:
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
            _list_files(memory.files(), as_json=as_json)
        elif wanted is None:
            _print_file(memory.read(name), as_json=as_json)
        else:
            written = memory.write(name, wanted, words=words, force=force, truncate=truncate)
            _tell(written, as_json=as_json)


def _list_files(files: Sequence[MemoryFile], *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json([to_object(file) for file in files])
        return
    rows = [
        (
            file.name,
            "empty" if file.empty else "filled",
            f"{file.chars} of {file.limit}",
            str(file.number),
            file.path,
        )
        for file in files
    ]
    table(("file", "state", "characters", "revision", "path"), rows, right=("revision",))


def _print_file(file: MemoryFile, *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json(to_object(file))
        return
    say(file.path)
    emit(file.text.rstrip("\n"))


def _tell(written: MemoryFileWrite, *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json(to_object(written))
        return
    what = f"revision {written.number}" if written.changed else "nothing changed"
    say(f"{written.name}: {what}, {written.chars} characters")
    if written.cut:
        say(f"cut off ({len(written.cut)} characters):\n{written.cut}")


@persona.command(epilog="For example: mentis persona update --session main")
@persona_option
@route_option
@session_option
@home_option
@json_option
def update(*, persona: str | None, route: str, session: str, as_json: bool) -> int:
    """Let a persona bring its memory files up to date from a conversation.

    It goes by itself in `mentis chat`, as `persona_update.frequency` says. What it changes is a
    revision each: `mentis persona review` shows them. Exit code 1 when it failed.
    """
    from mentis.codec.forms import to_object

    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        made = talk.wait_for(lambda: talk.agent.update_memory(session=session))
    if made is None:
        return 0
    if as_json:
        emit_json(to_object(made))
    else:
        say_update(made)
    return 0 if made.success else 1


def say_update(made: PersonaUpdate) -> None:
    """What an update came to."""
    for change in made.written:
        mark = ", in review: it was made from outside text" if change.review else ""
        say(f"{change.name}.md: revision {change.revision}{mark}")
    for refused in made.refused:
        say(f"not done: {refused}")
    if made.cut:
        say(f"{made.cut} characters of a message that is longer than the context were not read")
    read = f"read {made.messages} messages, {made.waiting} wait for the next update"
    if made.success:
        say(f"memory update: {read}, {len(made.written)} files changed [entry {made.entry}]")
    else:
        say(f"memory update failed: {made.message} [{made.failure}, entry {made.entry}]")


@persona.command(epilog='For example: mentis persona review memory --accept -m "all true"')
@click.argument("name", type=FILES, required=False, metavar="[memory|soul|relationship]")
@click.option("--accept", is_flag=True, help="Vouch for the file as it stands; it is recorded.")
@click.option("-m", "--reason", default="", metavar="TEXT", help="With --accept: why.")
@persona_option
@home_option
@json_option
def review(
    name: str | None, *, accept: bool, reason: str, persona: str | None, as_json: bool
) -> None:
    """Show what the persona changed in its memory files and you have not accepted or undone.

    What was made from outside text is told apart, and counts as untrusted until it is accepted;
    `mentis persona undo` takes the last change of a file back. With memory.review = "manual" no
    prompt has a change before it is accepted.
    """
    from mentis.codec.forms import to_object

    if accept and name is None:
        raise click.UsageError("name the file to accept")
    with open_personas() as personas:
        chosen = personas.pick(persona)
        if accept and name is not None:
            _tell_accepted(personas.accept(chosen, name, reason=reason), as_json=as_json)
            return
        memory = personas.memory(chosen)
        names = (name,) if name else ("memory", "soul", "relationship")
        found = [change for each in names for change in memory.pending_changes(each)]
    if as_json:
        emit_json([to_object(change) for change in found])
        return
    for change in found:
        mark = " [from outside text]" if change.review else ""
        say(f"{change.name}.md, revision {change.number}, {change.time}{mark}")
        emit(change.diff)
    if not found:
        say("nothing is in review")


def _tell_accepted(made: AcceptedRevision, *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json(to_object(made))
    else:
        say(f"{made.name}.md: revision {made.accepted} is accepted [entry {made.entry}]")


@persona.command(epilog="For example: mentis persona history memory")
@file_argument
@click.option("--diff", "as_diff", is_flag=True, help="Show what the last revision changed.")
@persona_option
@home_option
@json_option
def history(name: str, persona: str | None, *, as_diff: bool, as_json: bool) -> None:
    """List every revision of a memory file, or what the last one changed."""
    from mentis.codec.forms import to_object

    with open_personas() as personas:
        memory = personas.memory(personas.pick(persona))
        revisions = memory.history(name)
        difference = memory.diff(name) if as_diff else ""
    if as_diff and as_json:
        emit_json({"name": name, "diff": difference})
    elif as_diff:
        emit(difference.rstrip("\n") or "no difference")
    elif as_json:
        emit_json([to_object(revision) for revision in revisions])
    else:
        rows = [(str(r.number), r.time, str(len(r.content)), r.words) for r in revisions]
        table(("revision", "time", "characters", "words"), rows, right=("revision", "characters"))


@persona.command(epilog="For example: mentis persona undo memory")
@file_argument
@persona_option
@home_option
@json_option
def undo(name: str, persona: str | None, *, as_json: bool) -> None:
    """Take back the last change of a memory file."""
    with open_personas() as personas:
        _tell(personas.memory(personas.pick(persona)).undo(name), as_json=as_json)


@persona.command(epilog="For example: mentis persona reset memory")
@file_argument
@persona_option
@home_option
@json_option
def reset(name: str, persona: str | None, *, as_json: bool) -> None:
    """Put the empty template in place of a memory file. It can be undone."""
    with open_personas() as personas:
        _tell(personas.memory(personas.pick(persona)).reset(name), as_json=as_json)
