"""Operations on personas, and on the files that they keep about themselves."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from anyio import to_thread
from pydantic import Field

from mentis.app.home_import import (
    HomeImport,
    HomeImportPlan,
    import_file,
    plan_file_import,
    undo_import,
)
from mentis.app.persona_commits import PersonaCommits, open_persona_commits
from mentis.app.persona_export import PersonaFormat, export_persona
from mentis.codec.forms import to_object
from mentis.disk.inside import inside
from mentis.library.memory.files import MemoryChange, MemoryFile, MemoryFileWrite, PersonaMemory
from mentis.prompts.personas import AcceptedRevision, GreetingRow, PersonaPromotion, Personas
from mentis.settings.change import open_settings
from mentis.settings.persona import UpdateFrequency
from mentis.values.cognition import Revision
from mentis.values.persona import ExampleExchange, Expression, Persona, Trait
from mentis.values.persona_commit import PersonaCommit, PersonaRestore
from mentis.values.persona_draft import DraftKind, PersonaDraft

from .conversations import agent_on
from .missing import fits, is_there
from .operation import (
    ApiCall,
    Example,
    FileAnswer,
    Given,
    ListPage,
    OperationTable,
    PageQuery,
    ReasonGiven,
)
from .paging import page_of
from .shapes import (
    DefaultPersonaAnswer,
    DiffAnswer,
    MemoryUpdatesAnswer,
    NewPersonaAnswer,
    PersonaRow,
    listed,
)

table = OperationTable("personas", "Personas, and the files that they keep about themselves.")
_PERSONA = "/personas/{persona}"
_FILE = f"{_PERSONA}/files/{{file}}"
_WORDS = "Why: kept with the revision."


class PersonaFieldsGiven(Given):
    """Fields of a persona.toml: docs/concepts/personas.md explains each."""

    example: ClassVar[Example] = {"greeting": "Ahoy.", "traits": [{"name": "Stubborn"}]}

    type: str | None = Field(None, description="AI, human, or your own words.")
    age: int | None = None
    gender: str | None = None
    language: str | None = Field(None, description="The one it answers in.")
    languages: list[str] | None = Field(None, description="All it speaks; the first is used.")
    background: str | None = Field(None, description="Where it comes from.")
    traits: list[Trait] | None = None
    knowledge: list[Trait] | None = None
    expression: list[Expression] | None = Field(None, description="Ways of speaking.")
    scenarios: list[Trait] | None = Field(None, description="Scenes it is in.")
    greeting: str | None = Field(None, description="Its first words in every conversation.")
    greetings: list[str] | None = Field(None, description="Others to choose from.")
    dialogue: list[ExampleExchange] | None = Field(None, description="Examples of a talk.")


class PersonaNew(Given):
    """A persona of your own."""

    example: ClassVar[Example] = {"id": "bob", "fields": {"greeting": "Ahoy."}}

    id: str = Field(min_length=1, max_length=64, pattern="^[a-z0-9][a-z0-9_-]{0,63}$")
    name: str = Field("", description="What it is called; by default its id.")
    source: str = Field("ada", description="Which persona to copy; empty: none.")
    fields: PersonaFieldsGiven | None = Field(None, description="In the place of what was copied.")


class DefaultPersonaGiven(Given):
    """The persona to take where none is named."""

    example: ClassVar[Example] = {"id": "ada"}

    id: str = Field(min_length=1, max_length=64, pattern="^[a-z0-9][a-z0-9_-]{0,63}$")


class DraftWish(Given):
    """A field to be drafted."""

    example: ClassVar[Example] = {"kind": "core_trait", "wish": "stubborn"}

    kind: DraftKind
    wish: str = Field("", description="A few words on what it is to be like.")
    route: str = Field("", description="The route to ask; empty: the one that is served.")


class DraftGiven(Given):
    """A draft that you keep, maybe changed."""

    example: ClassVar[Example] = {"draft": {"kind": "core_trait", "name": "stubborn"}}

    draft: PersonaDraft


class FileGiven(Given):
    """The new text of a memory file."""

    example: ClassVar[Example] = {"text": "- Likes tea."}

    text: str
    truncate: bool = Field(False, description="Cut what goes over the limit.")
    force: bool = Field(False, description="Even if more than half of the file goes.")
    words: str = Field("", description=_WORDS)


class MemoryUpdatesGiven(Given):
    """How memory files are used."""

    example: ClassVar[Example] = {"frequency": "rare"}

    enabled: bool | None = Field(
        None, description="Whether personas are told them, and write them."
    )
    frequency: UpdateFrequency | None = Field(
        None, description="How much of the window has to be new before they are updated."
    )


class GreetingGiven(Given):
    """The number of the greeting to begin with."""

    example: ClassVar[Example] = {"number": 1}

    number: int = Field(ge=1)


class ImportFileQuery(Given):
    """What the file was called, and the id of the new persona."""

    example: ClassVar[Example] = {"file": "card.json"}

    file: str = Field("import", max_length=200, description="The name of the file.")
    persona: str = Field("", max_length=64, description="The id; empty: made of its name.")
    only: str = Field(
        "", max_length=4000, description="Titles or ids of conversations, a line each; empty: all."
    )


class CommitGiven(Given):
    """What the commit is, and whether the memories belong to it."""

    example: ClassVar[Example] = {"message": "as we began"}

    message: str = Field(min_length=1, max_length=2000)
    memories: bool = False


class CommitDiffQuery(Given):
    """The two commits; without the newer one, how the persona stands now."""

    example: ClassVar[Example] = {"older": 1}

    older: int | None = Field(None, ge=1)
    newer: int | None = Field(None, ge=1)


class CommitRestoreGiven(Given):
    """The commit to go back to."""

    example: ClassVar[Example] = {"number": 1}

    number: int = Field(ge=1)


@contextmanager
def _commits(call: ApiCall) -> Generator[PersonaCommits]:
    with open_persona_commits(call.home, call.persona, parts=call.desk.parts) as commits:
        yield commits


@contextmanager
def _opened(call: ApiCall) -> Generator[Personas]:
    with Personas.open(call.home, parts=call.desk.parts) as personas:
        yield personas


@contextmanager
def _memory_of(call: ApiCall) -> Generator[tuple[PersonaMemory, str]]:
    with _opened(call) as personas:
        memory = personas.memory(call.persona)
        with is_there():
            memory.read(call.path["file"])
        yield memory, call.path["file"]


@table.get("/personas", listed(PersonaRow, "PersonaPage"), guests=True, commands=("persona list",))
async def list_personas(call: ApiCall, query: PageQuery) -> ListPage:
    """List the personas of the home that this token may talk to."""

    known = await call.desk.pool.personas(call.token)

    def look() -> ListPage:
        with _opened(call) as personas:
            ids = [one for one in personas.ids() if one in known]
            row = partial(personas.row, default=personas.default)
            return page_of(ids, query, str, row, is_sorted=True)

    return await to_thread.run_sync(look)


@table.get(_PERSONA, Persona, commands=("persona show",))
def show_persona(call: ApiCall) -> dict[str, object]:
    """Show one persona as its file describes it."""
    with _opened(call) as personas:
        return to_object(personas.read(call.persona))


@table.post("/personas", NewPersonaAnswer, scope="admin", status=201, commands=("persona new",))
def create_persona(call: ApiCall, body: PersonaNew) -> dict[str, object]:
    """Make a persona from another one of the home, from a shipped one, or from its fields alone."""
    name = body.name or body.id.capitalize()
    given = body.fields
    fields = given.model_dump(mode="json", exclude_defaults=True) if given else {}
    with _opened(call) as personas:
        personas.create(body.id, name=name, source=body.source, fields=fields)
    return {"id": body.id, "name": name}


@table.get("/default-persona", DefaultPersonaAnswer, commands=("persona use",))
def show_default_persona(call: ApiCall) -> dict[str, object]:
    """Show which persona is taken where none is named; the id is empty where nobody chose one."""
    with _opened(call) as personas:
        return {"id": personas.default}


@table.put(
    "/default-persona",
    DefaultPersonaAnswer,
    scope="edit",
    edits=show_default_persona,
    commands=("persona use",),
)
def change_default_persona(call: ApiCall, body: DefaultPersonaGiven) -> dict[str, object]:
    """Make one of several personas the default of the home."""
    with _opened(call) as personas, fits():
        personas.use(body.id)
        return {"id": personas.default}


@table.post(f"{_PERSONA}/drafts", PersonaDraft, scope="edit", commands=("persona autofill",))
async def draft_persona_field(call: ApiCall, body: DraftWish) -> dict[str, object]:
    """Have the model draft a field of a persona out of a few words. Nothing is written."""
    agent = await agent_on(call, body.route)
    return to_object(await agent.autofill(body.kind, body.wish))


@table.post(
    f"{_PERSONA}/drafts/accept",
    Persona,
    scope="edit",
    edits=show_persona,
    commands=("persona autofill",),
)
def accept_persona_draft(call: ApiCall, body: DraftGiven) -> dict[str, object]:
    """Put a drafted field into the persona's file."""
    with _opened(call) as personas:
        personas.accept_draft(call.persona, body.draft)
        return to_object(personas.read(call.persona))


@table.get(f"{_PERSONA}/greetings", list[GreetingRow], commands=("persona greeting",))
def list_greetings(call: ApiCall) -> list[dict[str, object]]:
    """List the greetings of a persona; number 0 is the one in force."""
    with _opened(call) as personas:
        return [to_object(one) for one in personas.greetings(call.persona)]


@table.put(
    f"{_PERSONA}/greetings",
    list[GreetingRow],
    scope="edit",
    edits=list_greetings,
    commands=("persona greeting",),
)
def choose_greeting(call: ApiCall, body: GreetingGiven) -> list[dict[str, object]]:
    """Begin conversations with another greeting, which changes places with the one before."""
    with _opened(call) as personas, fits():
        return [to_object(one) for one in personas.choose_greeting(call.persona, body.number)]


@table.post(f"{_PERSONA}/promote", PersonaPromotion, scope="admin", commands=("persona promote",))
def promote_persona(call: ApiCall, body: ReasonGiven) -> dict[str, object]:
    """Vouch for an imported persona: its words count as the owner's own from then on."""
    with _opened(call) as personas:
        return to_object(personas.promote(call.persona, reason=body.reason))


# Commits


@table.get(f"{_PERSONA}/commits", list[PersonaCommit], commands=("persona log",))
def list_persona_commits(call: ApiCall) -> list[dict[str, object]]:
    """List the commits of a persona, the newest first."""
    with _commits(call) as commits:
        return [to_object(one) for one in commits.log()]


@table.post(
    f"{_PERSONA}/commits", PersonaCommit, scope="edit", status=201, commands=("persona commit",)
)
def commit_persona(call: ApiCall, body: CommitGiven) -> dict[str, object]:
    """Keep a persona as it stands: files, blocks for it alone, memories if asked for."""
    with _commits(call) as commits, fits():
        return to_object(commits.commit(body.message, memories=body.memories))


@table.get(f"{_PERSONA}/commit-diff", DiffAnswer, commands=("persona diff",))
def diff_persona_commits(call: ApiCall, query: CommitDiffQuery) -> dict[str, object]:
    """Show what changed between two commits, or since one; without numbers since the newest."""
    with _commits(call) as commits, fits():
        return {"name": commits.persona, "diff": commits.diff(query.older, query.newer)}


@table.post(
    f"{_PERSONA}/commits/restore", PersonaRestore, scope="edit", commands=("persona checkout",)
)
def restore_persona_commit(call: ApiCall, body: CommitRestoreGiven) -> dict[str, object]:
    """Make a persona what it was at a commit; how it stands is committed first."""
    with _commits(call) as commits, fits():
        return to_object(commits.restore(body.number))


# Moving in and out


class PersonaExportQuery(Given):
    """As what a persona is written."""

    format: PersonaFormat = Field(
        "mentis", description="`mentis` is all of it, `af` an agent of Letta; others are cards."
    )
    memories: bool = Field(default=False, description="Also its memories, in the format `mentis`.")
    session: str = Field(
        "", max_length=64, description="Also this conversation, in the format `af`."
    )


@table.get(
    f"{_PERSONA}/file",
    bytes,
    media="application/octet-stream",
    commands=("persona export",),
)
def export_whole_persona(call: ApiCall, query: PersonaExportQuery) -> FileAnswer:
    """Write a persona as one file, or as a character card that other programs read."""
    with is_there():
        made = export_persona(
            call.home,
            call.persona,
            format=query.format,
            memories=query.memories,
            session=query.session,
            parts=call.desk.parts,
        )
    ending = {"mentis": "mentis", "card-png": "png", "af": "af"}.get(query.format, "json")
    return FileAnswer(made.data, "application/octet-stream", f"{call.persona}.{ending}")


@table.post(
    "/import/plan", HomeImportPlan, scope="admin", takes="application/octet-stream",
    commands=("import",),
)  # fmt: skip
def plan_home_import(call: ApiCall, query: ImportFileQuery, raw: bytes) -> dict[str, object]:
    """Say what importing a file of another program would do: a character card, say."""
    with _file(query, raw) as file:
        made = plan_file_import(
            call.home,
            file,
            persona=query.persona,
            only=query.only.splitlines(),
            parts=call.desk.parts,
        )
        return to_object(made)


@table.post(
    "/import", HomeImport, scope="admin", takes="application/octet-stream",
    commands=("import",),
)  # fmt: skip
def import_home_file(call: ApiCall, query: ImportFileQuery, raw: bytes) -> dict[str, object]:
    """Import a file of another program as one change; the original is kept."""
    with _file(query, raw) as file:
        made = import_file(
            call.home,
            file,
            persona=query.persona,
            only=query.only.splitlines(),
            parts=call.desk.parts,
        )
    return to_object(made)


@table.post("/import/undo", HomeImport, scope="admin", commands=("import",))
def undo_home_import(call: ApiCall) -> dict[str, object]:
    """Take back the newest import that still stands."""
    return to_object(undo_import(call.home, parts=call.desk.parts))


@contextmanager
def _file(query: ImportFileQuery, raw: bytes) -> Generator[Path]:
    """The body as a file of the name that it had, whatever folder that names."""
    name = query.file.replace("\\", "/").rpartition("/")[2] or "import"
    with TemporaryDirectory(prefix="mentis-") as folder:
        file = inside(Path(folder), name)
        file.write_bytes(raw)
        yield file


# Memory files


@table.get("/memory-updates", MemoryUpdatesAnswer, commands=("settings",))
def show_memory_updates(call: ApiCall) -> dict[str, object]:
    """Show whether personas are told their memory files, and how often they bring them up to date.

    These are the settings `features.persona_memory` and `persona_update.frequency`.
    """
    model = call.desk.settings().model
    enabled, frequency = model.features.persona_memory, model.persona_update.frequency
    return {"enabled": enabled, "frequency": frequency}


@table.put(
    "/memory-updates",
    MemoryUpdatesAnswer,
    scope="edit",
    edits=show_memory_updates,
    commands=("settings set",),
)
def change_memory_updates(call: ApiCall, body: MemoryUpdatesGiven) -> dict[str, object]:
    """Say whether personas are told their memory files, and how often they bring them up to date.

    What is left out stays. It counts from the next request on.
    """
    settings = open_settings(call.home, call.desk.parts.variables)
    with fits():
        if body.enabled is not None:
            settings.set("features.persona_memory", body.enabled)
        if body.frequency is not None:
            settings.set("persona_update.frequency", body.frequency)
    call.desk.pool.open_anew(call.desk.settings())
    return show_memory_updates(call)


@table.get(f"{_PERSONA}/files", list[MemoryFile], commands=("persona files",))
def list_memory_files(call: ApiCall) -> list[dict[str, object]]:
    """List the files that a persona keeps about itself."""
    with _opened(call) as personas:
        return [to_object(one) for one in personas.memory(call.persona).files()]


@table.get(_FILE, MemoryFile, commands=("persona files",))
def show_memory_file(call: ApiCall) -> dict[str, object]:
    """Show one of these files."""
    with _memory_of(call) as (memory, name):
        return to_object(memory.read(name))


@table.put(
    _FILE, MemoryFileWrite, scope="edit", edits=show_memory_file, commands=("persona files",)
)
def write_memory_file(call: ApiCall, body: FileGiven) -> dict[str, object]:
    """Write one of these files, as a revision that can be undone."""
    with _memory_of(call) as (memory, name):
        return to_object(
            memory.write(
                name,
                body.text,
                words=body.words,
                force=body.force,
                truncate=body.truncate,
                expected=call.seen_number("number"),
            )
        )


@table.get(f"{_PERSONA}/review", list[MemoryChange], commands=("persona review",))
def list_pending_changes(call: ApiCall) -> list[dict[str, object]]:
    """List what the persona changed in its files and you have not accepted or undone."""
    with _opened(call) as personas:
        memory = personas.memory(call.persona)
        names = ("memory", "soul", "relationship")
        return [to_object(one) for name in names for one in memory.pending_changes(name)]


@table.post(
    f"{_FILE}/accept",
    AcceptedRevision,
    scope="edit",
    edits=show_memory_file,
    commands=("persona review",),
)
def accept_memory_file(call: ApiCall, body: ReasonGiven) -> dict[str, object]:
    """Vouch for a file as it stands; it is recorded."""
    with _memory_of(call):
        pass
    with _opened(call) as personas:
        seen = call.seen_number("number")
        made = personas.accept(call.persona, call.path["file"], reason=body.reason, expected=seen)
        return to_object(made)


@table.get(f"{_FILE}/history", listed(Revision, "FileRevisionPage"), commands=("persona history",))
def list_file_revisions(call: ApiCall, query: PageQuery) -> ListPage:
    """List every revision of a memory file."""
    with _memory_of(call) as (memory, name):
        found = memory.history(name)
    return page_of(found, query, lambda one: str(one.number), to_object)


@table.get(f"{_FILE}/diff", DiffAnswer, commands=("persona history",))
def diff_memory_file(call: ApiCall) -> dict[str, object]:
    """Show what the last revision of a memory file changed."""
    with _memory_of(call) as (memory, name):
        return {"name": name, "diff": memory.diff(name)}


@table.post(
    f"{_FILE}/undo",
    MemoryFileWrite,
    scope="edit",
    edits=show_memory_file,
    commands=("persona undo",),
)
def undo_memory_file(call: ApiCall) -> dict[str, object]:
    """Take back the last change of a memory file."""
    with _memory_of(call) as (memory, name):
        return to_object(memory.undo(name, expected=call.seen_number("number")))


@table.post(
    f"{_FILE}/reset",
    MemoryFileWrite,
    scope="edit",
    edits=show_memory_file,
    commands=("persona reset",),
)
def reset_memory_file(call: ApiCall) -> dict[str, object]:
    """Put the empty template in place of a memory file. It can be undone."""
    with _memory_of(call) as (memory, name):
        return to_object(memory.reset(name, expected=call.seen_number("number")))
