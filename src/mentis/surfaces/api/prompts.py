"""Operations on the blocks that prompts are made of, and on placeholders."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

from pydantic import Field

from mentis.app.lore_export import LoreFormat, export_lorebook
from mentis.app.preset_export import export_preset
from mentis.codec.forms import to_object
from mentis.compose.built import BuiltMessages, BuiltText
from mentis.compose.compose import Composition
from mentis.errors import LibraryError, RequestRefused
from mentis.library.archive import export_set
from mentis.library.edit import Edit, Editor
from mentis.library.search import Match, search, usages
from mentis.prompts.kinds import RequestKind
from mentis.prompts.personas import PersonaPromotion, Personas
from mentis.prompts.placeholders import PlaceholderUse
from mentis.prompts.prompt_data import (
    block_data,
    check_data,
    check_placeholders,
    conflict_data,
    edit_data,
    usage_data,
)
from mentis.prompts.prompts import Prompts
from mentis.values.block import Block, Category, Message, Mode, Variant
from mentis.values.cognition import Revision
from mentis.values.keywords import LoreTrace
from mentis.values.placeholder import Placeholder
from mentis.web.problems import with_status

from .missing import is_there
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
    BlockAnswer,
    CheckAnswer,
    ConflictAnswer,
    DiffAnswer,
    DraftAnswer,
    EditAnswer,
    ImportPlanAnswer,
    JsonObject,
    LibraryAnswer,
    UsagesAnswer,
    listed,
)

table = OperationTable("prompts", "Blocks, their wordings and history, and placeholders.")
_BLOCK = "/prompts/blocks/{block}"
_WORDS = "Why: kept with the revision."
_ANYHOW = "set unknown_placeholders"
_FORCE = "Also where it touches the constitution."


class BlocksQuery(PageQuery):
    """Which blocks."""

    category: str = Field("", description="Only the blocks of this category.")


class TellQuery(Given):
    """To whom it would be told, and when."""

    persona: str = Field("", description="Which persona; needed only when the home has several.")
    route: str = Field("default", description="As this route is told it.")
    variant: str = Field("", description="Which wording; by default the one the route wants.")
    mode: Mode = Field("chat", description="What it is for.")


class PreviewQuery(TellQuery):
    """Which prompt."""

    part: str = Field("", description="Another prompt than the system prompt: summary, title, ...")


class LoreGiven(Given):
    """A message, and those before it: both sides in turn, the last one an answer."""

    example: ClassVar[Example] = {"message": "What lies beyond the glade?", "persona": "ada"}

    message: str
    before: list[str] = Field(default_factory=list[str], description="Earlier messages.")
    persona: str = Field("", description="Which persona; by default that of the home.")


class CategoryQuery(TellQuery):
    """Which blocks."""

    example: ClassVar[Example] = {"category": "persona"}

    category: Category = Field(description="Every block of this category.")


class DiffQuery(Given):
    """Which revisions; by default the last change against the shipped text."""

    older: int | None = Field(None, ge=0)
    newer: int | None = Field(None, ge=0)


class SearchTextQuery(Given):
    """What to look for."""

    example: ClassVar[Example] = {"text": "honest"}

    text: str = Field(min_length=1, max_length=2000, description="What a block says, or is called.")


class KeyQuery(Given):
    """Which placeholder."""

    key: str = Field("", description="Only this one.")


class ExportQuery(Given):
    """How it is written."""

    date: bool = Field(True, description="Without the date the same set gives the same bytes.")


class PlaceholdersQuery(PageQuery):
    """Whose values."""

    persona: str = Field("", description="Which persona; needed only when the home has several.")
    route: str = Field("default", description="As this route is told them.")


class ImportQuery(Given):
    """How blocks of a file are taken."""

    mode: Literal["merge", "overwrite", "replace"] = Field(
        "merge", description="Add what is missing; also replace what differs; or have just these."
    )
    force: bool = Field(False, description=_FORCE)


class MessageGiven(Given):
    """One message of a block that holds a dialogue."""

    role: Literal["user", "assistant", "system"]
    content: str


class BlockPatch(Given):
    """What is to change; what is left out stays."""

    example: ClassVar[Example] = {"text": "Be brief."}

    text: str | None = Field(None, description="The new text of a wording.")
    messages: tuple[MessageGiven, ...] | None = Field(
        None, description="Instead of a text, in a block that holds a dialogue."
    )
    variant: str = Field("default", description="Which wording the text is.")
    remove: bool = Field(
        False, description="Take your wording of this variant away; a shipped one counts again."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="Settings of the block, such as `enabled`."
    )
    words: str = Field("", description=_WORDS)
    force: bool = Field(False, description=_FORCE)
    unknown_placeholders: bool = Field(
        False, description="Also with placeholders that nothing registers."
    )


class WordingDraft(TellQuery):
    """A wording that is not saved, and to whom it would be told."""

    example: ClassVar[Example] = {"text": "Be brief, {{char_name}}."}

    text: str | None = Field(None, description="The text of it.")
    messages: tuple[MessageGiven, ...] | None = Field(
        None, description="Instead of a text, in a block that holds a dialogue."
    )


class BlockNew(Given):
    """A block of your own."""

    example: ClassVar[Example] = {"id": "my_rule", "text": "Be kind."}

    id: str = Field(min_length=1, max_length=128)
    name: str = Field("", description="What it is called; by default its id.")
    text: str = ""
    messages: tuple[MessageGiven, ...] = Field(
        (), description="Instead of a text: then it holds a dialogue."
    )
    category: str = "custom"
    target: str = "system_prompt"
    position: str = Field("", description="Where in the target; by default the target.")
    order: float = 9999
    settings: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="Other settings of it."
    )
    words: str = Field("", description=_WORDS)
    force: bool = Field(False, description=_FORCE)
    unknown_placeholders: bool = Field(
        False, description="Also with placeholders that nothing registers."
    )


class CopyGiven(Given):
    """A copy of a block."""

    example: ClassVar[Example] = {"id": "my_style"}

    id: str = Field(min_length=1, max_length=128, description="The id of the copy.")
    name: str = Field("", description="What the copy is called.")


class PlaceGiven(Given):
    """Another id or file of a block; one of them."""

    example: ClassVar[Example] = {"file": "mine.json"}

    id: str = Field("", max_length=128, description="The new id of a block of yours.")
    file: str = Field("", max_length=255, description="The domain file to keep it in.")
    force: bool = Field(False, description=_FORCE)


class ToggleGiven(Given):
    """Whether a block is on."""

    example: ClassVar[Example] = {"enabled": True}

    enabled: bool
    force: bool = Field(False, description=_FORCE)


class OrderGiven(Given):
    """Another order."""

    example: ClassVar[Example] = {"places": {"style": 1250}}

    places: dict[str, float] = Field(min_length=1, description="The new place of each block.")
    force: bool = Field(False, description=_FORCE)


class UndoGiven(Given):
    """Which way back."""

    redo: bool = Field(False, description="Take back the last undo instead.")
    to: int | None = Field(None, ge=0, description="Go to this revision; 0 is before the first.")
    force: bool = Field(False, description=_FORCE)


class WholeUndoGiven(Given):
    """What to take back."""

    example: ClassVar[Example] = {"what": "reset"}

    what: Literal["reset", "import"]


class FactoryGiven(Given):
    """How much."""

    example: ClassVar[Example] = {"scope": "system"}

    scope: Literal["system", "full"] = Field(
        description="`system` keeps the blocks you made, `full` does not."
    )


class SettleGiven(Given):
    """Which side of a conflict counts."""

    example: ClassVar[Example] = {"field": "variants.default", "take": "ours"}

    field: str = Field(min_length=1)
    take: Literal["ours", "theirs"]


class PlaceholderNew(Given):
    """A placeholder with a fixed text."""

    example: ClassVar[Example] = {"key": "city", "default": "Bonn"}

    key: str = Field(min_length=1, max_length=128)
    default: str = Field("", description="The text it stands for.")
    name: str = ""
    description: str = ""


@contextmanager
def _opened(call: ApiCall, route: str = "default") -> Generator[Prompts]:
    parts, author = call.desk.parts, call.token.name
    with Prompts.open(call.home, route=route, parts=parts, author=author) as prompts:
        prompts.editor.check = call.unchanged
        yield prompts


@contextmanager
def _block_of(call: ApiCall) -> Generator[tuple[Prompts, Block]]:
    """The prompts and the block that the path names; 404 where there is none."""
    with _opened(call) as prompts:
        try:
            block = prompts.block(call.path["block"])
        except LibraryError as error:
            raise with_status(error, 404) from error
        yield prompts, block


def _change(
    prompts: Prompts,
    do: Callable[[Editor], Edit | tuple[Edit, ...]],
    worded: str | None = None,
) -> dict[str, object]:
    done, effects = prompts.change(do)
    return edit_data(prompts, done if isinstance(done, tuple) else (done,), effects, worded)


# Looking


@table.get("/prompts/blocks", listed(BlockAnswer, "BlockPage"), commands=("prompts list",))
def list_blocks(call: ApiCall, query: BlocksQuery) -> ListPage:
    """List every block with its settings and wordings, in the order they are told."""
    with _opened(call) as prompts:
        found = prompts.loaded_library.library.blocks
        changed = prompts.overridden_fields()
    blocks = [one for one in found if query.category in ("", one.category)]
    return page_of(blocks, query, lambda one: one.id, lambda one: block_data(one, changed))


@table.get(_BLOCK, BlockAnswer, commands=("prompts show",))
def show_block(call: ApiCall) -> dict[str, object]:
    """Show one block: its settings, its wordings, and what of it you changed."""
    with _block_of(call) as (prompts, block):
        return block_data(block, prompts.overridden_fields())


@table.get("/prompts/library", LibraryAnswer, commands=("prompts list",))
def show_library(call: ApiCall) -> dict[str, object]:
    """Show the revision of the whole library and the order of its blocks."""
    with _opened(call) as prompts:
        library = prompts.loaded_library.library
    return {"revision": library.revision, "order": {one.id: one.order for one in library.blocks}}


@table.get(f"{_BLOCK}/resolved", BuiltText | BuiltMessages, commands=("prompts show",))
def resolve_block(call: ApiCall, query: TellQuery) -> dict[str, object]:
    """Show a block with its values, as it would be told, whatever its conditions say."""
    with _block_of(call):
        pass
    with _opened(call, query.route) as prompts:
        return to_object(
            prompts.resolve(
                call.path["block"],
                persona=query.persona or None,
                variant=query.variant or None,
                mode=query.mode,
            )
        )


@table.post(
    f"{_BLOCK}/resolved", DraftAnswer, scope="read", commands=("prompts show", "prompts edit")
)
def resolve_draft(call: ApiCall, body: WordingDraft) -> dict[str, object]:
    """Show a wording that is not saved with its values, as it would be told."""
    with _block_of(call) as (_, block):
        if _wording(block, body) is None:
            raise RequestRefused("nothing is given", hint="give a text or messages", status=422)
    said = tuple(Message(one.role, one.content) for one in body.messages or ())
    with _opened(call, body.route) as prompts:
        made = prompts.resolve(
            block.id,
            persona=body.persona or None,
            variant=body.variant or None,
            mode=body.mode,
            wording=Variant(body.text or "", said),
        )
        return {"built": to_object(made), "tokens": to_object(prompts.count(made))}


@table.get("/prompts/preview", Composition | JsonObject, commands=("prompts preview",))
def preview_prompt(call: ApiCall, query: PreviewQuery) -> dict[str, object]:
    """Show the assembled prompt as a turn would tell it now, with what is absent and why."""
    persona, variant = query.persona or None, query.variant or None
    with _opened(call, query.route) as prompts:
        if query.part:
            return to_object(
                prompts.part(query.part, persona=persona, variant=variant, mode=query.mode)
            )
        return to_object(prompts.preview(persona=persona, variant=variant, mode=query.mode))


@table.post("/prompts/lore", list[LoreTrace], scope="read", commands=("prompts lore",))
def try_lore(call: ApiCall, body: LoreGiven) -> list[dict[str, object]]:
    """Show which entries a message would bring up, and why those near to it would not."""
    persona = body.persona or None
    with _opened(call) as prompts:
        found = prompts.try_lore(body.message, before=body.before, persona=persona)
    return [to_object(one) for one in found]


@table.get("/prompts/preview/kinds", list[RequestKind], commands=("prompts preview",))
def list_prompt_kinds(call: ApiCall, query: TellQuery) -> list[dict[str, object]]:
    """List every kind of request side by side, with its tokens and blocks."""
    with _opened(call, query.route) as prompts:
        found = prompts.kinds(persona=query.persona or None, variant=query.variant or None)
        return [to_object(one) for one in found]


@table.get(
    "/prompts/preview/category",
    dict[str, BuiltText | BuiltMessages],
    commands=("prompts preview",),
)
def preview_category(call: ApiCall, query: CategoryQuery) -> dict[str, object]:
    """Show every block of a category with its values."""
    with _opened(call, query.route) as prompts:
        found = prompts.resolve_category(
            query.category,
            persona=query.persona or None,
            variant=query.variant or None,
            mode=query.mode,
        )
        return {name: to_object(made) for name, made in found.items()}


@table.get("/prompts/search", list[Match], commands=("prompts search",))
def search_blocks(call: ApiCall, query: SearchTextQuery) -> list[dict[str, object]]:
    """Find blocks by id, name, description or text."""
    with _opened(call) as prompts:
        return [to_object(one) for one in search(prompts.loaded_library.library, query.text)]


@table.get("/prompts/check", CheckAnswer, commands=("prompts check",))
def check_prompts(call: ApiCall) -> dict[str, object]:
    """Check every prompt file like a compiler."""
    with _opened(call) as prompts:
        return check_data(prompts)


@table.get(f"{_BLOCK}/history", listed(Revision, "RevisionPage"), commands=("prompts history",))
def list_block_revisions(call: ApiCall, query: PageQuery) -> ListPage:
    """List every revision of a block: when, and in whose words why."""
    with _block_of(call) as (prompts, block):
        found = prompts.editor.history(block.id)
    return page_of(found, query, lambda one: str(one.number), to_object)


@table.get(f"{_BLOCK}/diff", DiffAnswer, commands=("prompts diff",))
def diff_block(call: ApiCall, query: DiffQuery) -> dict[str, object]:
    """Show what changed between two revisions; by default, since the shipped text."""
    with _block_of(call) as (prompts, block):
        text = prompts.editor.diff(block.id, query.older, query.newer)
    return {"block": block.id, "older": query.older, "newer": query.newer, "diff": text}


@table.get("/prompts/conflicts", list[ConflictAnswer], commands=("prompts conflicts",))
def list_conflicts(call: ApiCall) -> list[dict[str, object]]:
    """List where you and a new version of Mentis changed the same text."""
    with _opened(call) as prompts:
        return [conflict_data(one) for one in prompts.editor.conflicts()]


# Changing


@table.patch(_BLOCK, EditAnswer, scope="edit", edits=show_block, commands=("prompts edit",))
def edit_block(call: ApiCall, body: BlockPatch) -> dict[str, object]:
    """Change a block: the text of a wording, its settings, or both."""
    given = body.text is not None or body.messages is not None
    if not (given or body.remove or body.settings):
        raise RequestRefused(
            "nothing is to change", hint="give a text, messages or settings", status=422
        )
    if given and body.remove:
        raise RequestRefused(
            "a wording is given and taken away at once", hint="give one of them", status=422
        )
    with _block_of(call) as (prompts, block):
        wording = _wording(block, body)
        if not body.unknown_placeholders:
            check_placeholders(prompts, _words_of(body), block, anyhow=_ANYHOW)
        return _change(
            prompts,
            lambda editor: editor.save(
                block.id,
                meta=body.settings,
                variants={body.variant: wording} if given or body.remove else None,
                words=body.words,
                force=body.force,
            ),
            worded=block.id if given or body.remove else None,
        )


def _words_of(body: BlockPatch | BlockNew) -> str:
    """Every text in it, where placeholders may stand."""
    return "\n".join((body.text or "", *(one.content for one in body.messages or ())))


def _wording(block: Block, body: BlockPatch | WordingDraft) -> JsonObject | None:
    given = body.text if block.type == "text" else body.messages
    other = body.messages if block.type == "text" else body.text
    if other is not None:
        wanted = "a text" if block.type == "text" else "messages"
        raise RequestRefused(
            f"block {block.id!r} holds {wanted}", hint=f"give {wanted}", status=422
        )
    if given is None:
        return None
    if isinstance(given, str):
        return {"content": given}
    return {"messages": [one.model_dump() for one in given]}


@table.post("/prompts/blocks", EditAnswer, scope="edit", status=201, commands=("prompts new",))
def create_block(call: ApiCall, body: BlockNew) -> dict[str, object]:
    """Make a block of your own."""
    meta: JsonObject = {
        "name": body.name or body.id,
        "category": body.category,
        "type": "multi_turn" if body.messages else "text",
        "target": body.target,
        "position": body.position or body.target,
        "order": body.order,
        "enabled": True,
        **body.settings,
    }
    with _opened(call) as prompts:
        if not body.unknown_placeholders:
            check_placeholders(prompts, _words_of(body), None, anyhow=_ANYHOW)
        said = [one.model_dump() for one in body.messages]
        wording: JsonObject = {"messages": said} if said else {"content": body.text}
        return _change(
            prompts,
            lambda editor: editor.create(
                body.id,
                meta=meta,
                variants={"default": wording},
                words=body.words,
                force=body.force,
            ),
        )


@table.post(f"{_BLOCK}/copy", EditAnswer, scope="edit", status=201, commands=("prompts copy",))
def copy_block(call: ApiCall, body: CopyGiven) -> dict[str, object]:
    """Make a block of your own from another one, in a file of its own."""
    with _block_of(call) as (prompts, block):
        return _change(
            prompts, lambda editor: editor.duplicate(block.id, body.id, name=body.name or None)
        )


@table.post(
    f"{_BLOCK}/place", EditAnswer, scope="edit", edits=show_block, commands=("prompts edit",)
)
def move_block(call: ApiCall, body: PlaceGiven) -> dict[str, object]:
    """Give a block of yours another id, or keep it in another domain file."""
    if bool(body.id) == bool(body.file):
        raise RequestRefused("give an id or a file, and one of them", hint="", status=422)
    with _block_of(call) as (prompts, block):
        if body.id:
            return _change(
                prompts, lambda editor: editor.rename(block.id, body.id, force=body.force)
            )
        return _change(prompts, lambda editor: editor.move(block.id, body.file, force=body.force))


@table.delete(_BLOCK, EditAnswer, scope="edit", edits=show_block, commands=("prompts rm",))
def delete_block(call: ApiCall) -> dict[str, object]:
    """Remove a block of your own. It can be brought back with undo."""
    with _block_of(call) as (prompts, block):
        return _change(prompts, lambda editor: editor.delete(block.id))


@table.post(
    f"{_BLOCK}/toggle", EditAnswer, scope="edit", edits=show_block, commands=("prompts toggle",)
)
def toggle_block(call: ApiCall, body: ToggleGiven) -> dict[str, object]:
    """Switch a block on or off."""
    with _block_of(call) as (prompts, block):
        return _change(
            prompts, lambda editor: editor.toggle(block.id, body.enabled, force=body.force)
        )


@table.put(
    "/prompts/order", EditAnswer, scope="edit", edits=show_library, commands=("prompts order",)
)
def order_blocks(call: ApiCall, body: OrderGiven) -> dict[str, object]:
    """Put blocks in another order; those that are not named stay where they are."""
    with _opened(call) as prompts:
        return _change(prompts, lambda editor: editor.reorder(body.places, force=body.force))


def block_or_former(call: ApiCall) -> dict[str, object]:
    """A block, also one that was removed, by its last revision."""
    with _opened(call) as prompts:
        block = prompts.loaded_library.library.block(call.path["block"])
        if block is not None:
            return block_data(block, prompts.overridden_fields())
        try:
            found = prompts.editor.history(call.path["block"])
        except LibraryError as error:
            raise with_status(error, 404) from error
    return {"removed": len(found)}


@table.post(
    f"{_BLOCK}/undo", EditAnswer, scope="edit", edits=block_or_former, commands=("prompts undo",)
)
def undo_block(call: ApiCall, body: UndoGiven) -> dict[str, object]:
    """Take back the last change of a block, or go to a revision of it."""
    if body.redo and body.to is not None:
        raise RequestRefused("redo and to exclude each other", hint="give one", status=422)
    name, force = call.path["block"], body.force
    with _opened(call) as prompts:
        if body.redo:
            return _change(prompts, lambda editor: editor.redo(name, force=force))
        to = body.to
        if to is not None:
            return _change(prompts, lambda editor: editor.restore(name, to, force=force))
        return _change(prompts, lambda editor: editor.undo(name, force=force))


@table.post(
    f"{_BLOCK}/reset", EditAnswer, scope="edit", edits=show_block, commands=("prompts reset",)
)
def reset_block(call: ApiCall) -> dict[str, object]:
    """Bring back the shipped text of a block. It can be undone."""
    with _block_of(call) as (prompts, block):
        return _change(prompts, lambda editor: editor.reset(block.id))


@table.post(
    f"{_BLOCK}/settle", EditAnswer, scope="edit", edits=show_block, commands=("prompts conflicts",)
)
def settle_conflict(call: ApiCall, body: SettleGiven) -> dict[str, object]:
    """Settle where you and a new version of Mentis changed the same field."""
    with _block_of(call) as (prompts, block):
        return _change(prompts, lambda editor: editor.settle(block.id, body.field, body.take))


@table.post(f"{_BLOCK}/promote", PersonaPromotion, scope="admin", commands=("prompts promote",))
def promote_block(call: ApiCall, body: ReasonGiven) -> dict[str, object]:
    """Vouch for an imported block: its words count as the owner's own from then on."""
    with _block_of(call) as (_, block), Personas.open(call.home, parts=call.desk.parts) as personas:
        return to_object(personas.promote_blocks([block.id], reason=body.reason))


@table.post(
    "/prompts/reset", EditAnswer, scope="edit", edits=show_library, commands=("prompts reset",)
)
def reset_prompts(call: ApiCall, body: FactoryGiven) -> dict[str, object]:
    """Bring back the shipped library. It can be undone."""
    with _opened(call) as prompts:
        return _change(prompts, lambda editor: editor.factory_reset(body.scope))


@table.post(
    "/prompts/undo", EditAnswer, scope="edit", edits=show_library, commands=("prompts undo",)
)
def undo_prompts(call: ApiCall, body: WholeUndoGiven) -> dict[str, object]:
    """Take back the last factory reset, or the last import, all of it."""
    with _opened(call) as prompts:
        if body.what == "reset":
            return _change(prompts, lambda editor: editor.undo_reset())
        return _change(prompts, lambda editor: editor.undo_write())


# Files


@table.get("/prompts/export", bytes, media="application/zip", commands=("prompts export",))
def export_prompts(call: ApiCall, query: ExportQuery) -> FileAnswer:
    """Write the whole prompt set to a zip file: shipped blocks, your changes, both registries."""
    date = datetime.now(UTC).isoformat(timespec="seconds") if query.date else ""
    with _opened(call) as prompts:
        data = export_set(prompts.loaded_library, date=date)
    return FileAnswer(data, "application/zip", "prompts.zip")


class LoreExportQuery(Given):
    """Which lore, and as what."""

    format: LoreFormat = Field("world", description="`world`, or `character-book` of a card.")
    persona: str = Field("", description="Lore for this persona alone; empty: for every persona.")
    book: str = Field("", description="Of this book alone.")


class PresetExportQuery(Given):
    """Whose blocks."""

    persona: str = Field("", description="Blocks for this persona alone; empty: for every persona.")


@table.get(
    "/prompts/lorebook",
    bytes,
    media="application/octet-stream",
    commands=("prompts export",),
)
def export_lore(call: ApiCall, query: LoreExportQuery) -> FileAnswer:
    """Write lore as a lorebook of SillyTavern or of a card."""
    with is_there():
        made = export_lorebook(
            call.home,
            format=query.format,
            persona=query.persona,
            book=query.book,
            parts=call.desk.parts,
        )
    return FileAnswer(made.data, "application/octet-stream", "lorebook.json")


@table.get("/prompts/preset", bytes, media="application/octet-stream", commands=("prompts export",))
def export_own_preset(call: ApiCall, query: PresetExportQuery) -> FileAnswer:
    """Write the owner's blocks as a chat-completion preset of SillyTavern."""
    with is_there():
        made = export_preset(call.home, persona=query.persona, parts=call.desk.parts)
    return FileAnswer(made.data, "application/octet-stream", "preset.json")


@table.post(
    "/prompts/import/plan",
    ImportPlanAnswer,
    scope="edit",
    takes="application/zip",
    commands=("prompts import",),
)
def plan_prompt_import(call: ApiCall, query: ImportQuery, raw: bytes) -> dict[str, object]:
    """Say what importing a zip file of blocks would do."""
    with _opened(call) as prompts, _zip(raw) as file:
        plan = prompts.plan_import(file, query.mode, force=query.force)
    problems = [to_object(one) for one in plan.problems]
    return {"rows": [to_object(one) for one in plan.rows], "problems": problems}


@table.post(
    "/prompts/import",
    EditAnswer,
    scope="edit",
    takes="application/zip",
    edits=show_library,
    commands=("prompts import",),
)
def import_prompts(call: ApiCall, query: ImportQuery, raw: bytes) -> dict[str, object]:
    """Take blocks from a zip file, block by block; all of it can be taken back at once."""
    with _opened(call) as prompts, _zip(raw) as file:
        plan = prompts.plan_import(file, query.mode, force=query.force)
        wrong = [str(one) for one in plan.problems if one.severity == "error"]
        if wrong:
            raise LibraryError(wrong[0], hint="nothing was imported", problems=wrong)
        words = f"imported over HTTP ({query.mode})"
        return _change(prompts, lambda _: prompts.import_set(plan, words=words, force=query.force))


@contextmanager
def _zip(raw: bytes) -> Generator[Path]:
    if not raw.startswith(b"PK"):
        raise RequestRefused("the body is no zip file", hint="send the bytes of one", status=422)
    with TemporaryDirectory(prefix="mentis-") as folder:
        file = Path(folder) / "prompts.zip"
        file.write_bytes(raw)
        yield file


# Placeholders


@table.get(
    "/prompts/placeholders",
    listed(PlaceholderUse, "PlaceholderPage"),
    commands=("prompts placeholder list",),
)
def list_placeholders(call: ApiCall, query: PlaceholdersQuery) -> ListPage:
    """List every placeholder: its value now, where that comes from, and the blocks that use it."""
    with _opened(call, query.route) as prompts:
        found = prompts.placeholders(persona=query.persona or None)
    return page_of(found, query, lambda one: one.key, to_object)


@table.get("/prompts/usages", UsagesAnswer, commands=("prompts usages",))
def list_usages(call: ApiCall, query: KeyQuery) -> dict[str, object]:
    """Show which blocks use which placeholder, which are unknown and which are unused."""
    with _opened(call) as prompts:
        return usage_data(usages(prompts.loaded_library.library), query.key or None)


@table.post(
    "/prompts/placeholders",
    EditAnswer,
    scope="edit",
    status=201,
    commands=("prompts placeholder new",),
)
def create_placeholder(call: ApiCall, body: PlaceholderNew) -> dict[str, object]:
    """Register a placeholder with a fixed text."""
    with _opened(call) as prompts:
        return _change(
            prompts,
            lambda editor: editor.create_placeholder(
                body.key, default=body.default, name=body.name, description=body.description
            ),
        )


@table.get("/prompts/placeholders/{key}", Placeholder, commands=("prompts placeholder list",))
def show_placeholder(call: ApiCall) -> dict[str, object]:
    """Show one placeholder as it is registered."""
    key = call.path["key"]
    with _opened(call) as prompts:
        library = prompts.loaded_library.library
        if key not in library.placeholders:
            raise RequestRefused(
                f"there is no placeholder {key!r}", hint="list them first", status=404
            )
        return to_object(library.placeholders[key])


@table.delete(
    "/prompts/placeholders/{key}",
    EditAnswer,
    scope="edit",
    edits=show_placeholder,
    commands=("prompts placeholder rm",),
)
def delete_placeholder(call: ApiCall) -> dict[str, object]:
    """Remove a placeholder of your own."""
    with _opened(call) as prompts:
        return _change(prompts, lambda editor: editor.delete_placeholder(call.path["key"]))
