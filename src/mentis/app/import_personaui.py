"""A PersonaUI folder as personas of a home, with their files, memories and conversations, and the
blocks that its owner made.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import cast

from mentis.codec.media_types import type_of
from mentis.errors import BadInput
from mentis.exchange.personaui import (
    OriginPersona,
    is_origin_home,
    is_origin_part,
    read_origin_home,
)
from mentis.library.archive.plan import plan_import
from mentis.library.archive.read import read_archive
from mentis.library.archive.zip import pack
from mentis.library.block_layer import BlockLayer
from mentis.prompts.personas import LARGEST_PICTURE, PICTURE_TYPES
from mentis.prompts.prompts import Prompts
from mentis.values.cognition import Memory
from mentis.values.digest import digest
from mentis.values.imported import ImportedConversation
from mentis.values.json import JsonObject
from mentis.values.trust import Trust

from .import_plan import (
    ArrivalDraft,
    ArrivalLimits,
    HomeImportPlan,
    ImportArrival,
    ImportWish,
    PersonaArrival,
    id_of,
)
from .import_source import ImportSource
from .import_texts import add_instructions, add_memory_file

_MANIFEST = "_meta/prompt_manifest.json"
_ACTIVE = "personas/active/persona_config.json"
_FIELDS = ("user_name", "user_gender", "persona_language")


def personaui_arrival(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    """What becomes of such a folder, or a zip file of it; None where it is none."""
    if not is_origin_home(source.names):
        return None
    found = read_origin_home(source.read(is_origin_part))
    if wish.persona and len(found.personas) > 1:
        hint = "leave --as out: each keeps its own name"
        raise BadInput(f"{source.name} holds {len(found.personas)} personas", hint=hint)
    whole = ArrivalDraft()
    made: list[PersonaArrival] = []
    held: list[tuple[str, ImportedConversation]] = []
    for one in found.personas:
        taken = {*wish.personas.ids(), *(each.id for each in made)}
        chosen = wish.persona or _free(id_of(one.name), taken)
        draft = ArrivalDraft(blocks=whole.blocks, parts=whole.parts, losses=whole.losses)
        draft.fields |= {**one.fields, "trust": Trust.REFERENCE.value}
        _persona(one, draft, source, limits=wish.limits, chosen=chosen)
        made.append(draft.persona(chosen, one.name))
        held += [(chosen, _named(each)) for each in one.conversations]
    _profile(found.profile, whole)
    _prompts(source, wish, whole)
    if found.templates:
        whole.lose(f"{found.templates} memory files", "only their template stands in them")
    _rest(source, whole)
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="PersonaUI",
        version="",
        name=source.stem,
        persona=made[0].id if made else "",
        parts=tuple(whole.parts),
        losses=tuple(whole.losses),
        shown=tuple(whole.shown),
    )
    return ImportArrival(plan, tuple(made), whole.blocks, conversations=tuple(held))


def _free(wanted: str, taken: set[str]) -> str:
    names = (wanted if n == 1 else f"{wanted}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _named(one: ImportedConversation) -> ImportedConversation:
    return replace(one, name=id_of(one.title or "talk"), title=one.title or "Talk")


def _persona(
    one: OriginPersona,
    draft: ArrivalDraft,
    source: ImportSource,
    *,
    limits: ArrivalLimits,
    chosen: str,
) -> None:
    draft.add(f"persona {one.name}", f"persona {chosen}")
    for name, text in one.files.items():
        part = f"{name}.md of {one.name}"
        add_memory_file(draft, part, name, text, persona=chosen, limits=limits)
    if one.conversations:
        part = f"conversations of {one.name} ({len(one.conversations)})"
        draft.add(part, f"conversations of {chosen}", trust="untrusted")
    told = [(text, time) for text, time in one.memories if text.strip()]
    short = [(text, time) for text, time in told if len(text) <= limits.memory_chars]
    draft.memories += [
        Memory(
            f"import-{digest(f'{chosen}{n}{text}'.encode())[7:23]}-{n}", text, source="PersonaUI"
        )
        for n, (text, _) in enumerate(short, 1)
    ]
    if short:
        draft.add(f"memories of {one.name} ({len(short)})", "memories", trust="untrusted")
    if timed := sum(bool(time) for _, time in short):
        part = f"times of memories of {one.name} ({timed})"
        draft.lose(part, "they name no zone; a memory has the time of its import")
    if long := len(told) - len(short):
        draft.lose(f"{long} memories of {one.name}", "longer than a memory may be")
    if one.inactive:
        draft.lose(f"{one.inactive} memories of {one.name}", "switched off there")
    if one.avatar:
        _picture(one, draft, source)


def _picture(one: OriginPersona, draft: ArrivalDraft, source: ImportSource) -> None:
    wanted = PurePosixPath(one.avatar).name
    names = [name for name in source.names if PurePosixPath(name).name == wanted]
    data = b"" if not names else source.read(lambda name: name == names[0])[names[0]]
    if type_of(data) in PICTURE_TYPES and len(data) <= LARGEST_PICTURE:
        draft.picture = data
    else:
        draft.lose(f"picture of {one.name}", "not in the folder, no picture, or too large")


def _profile(profile: JsonObject, draft: ArrivalDraft) -> None:
    info = profile.get("user_info")
    if isinstance(info, str) and info.strip():
        block_id = "personaui-about-you"
        add_instructions(draft, "user_info", info, block_id=block_id, persona="")
    told = [f"{name}: {profile[name]}" for name in _FIELDS if profile.get(name)]
    if told:
        draft.shown.append(f"profile: {', '.join(told)}")
        draft.lose("profile", "shown; what is in profile.toml counts as your own words: write it")


def _prompts(source: ImportSource, wish: ImportWish, draft: ArrivalDraft) -> None:
    """The blocks that its owner made; those that it ships have their own here."""
    tops = [n.removesuffix(_MANIFEST) for n in source.names if n.endswith(f"prompts/{_MANIFEST}")]
    tops = [top for top in tops if "_defaults/" not in top]
    if not tops:
        return
    top = min(tops, key=len)
    read = source.read(
        lambda n: n.startswith(top) and n.endswith(".json") and "/_defaults/" not in n
    )
    inner = {name.removeprefix(top): data for name, data in read.items()}
    members = {n if n.startswith("_meta/") else f"prompts/{n}": d for n, d in inner.items()}
    archive = read_archive(pack({n: d for n, d in members.items() if n.count("/") == 1}))
    own = archive.documents.get("_meta/user_manifest.json", {}).get("prompts")
    wanted: JsonObject = cast("JsonObject", own) if isinstance(own, dict) else {}
    with Prompts.open(wish.personas.home.path) as prompts:
        plan = plan_import(prompts.loaded_library, archive, "merge")
    for row in plan.rows:
        layer = plan.blocks.get(row.block)
        if row.block not in wanted:
            continue
        if row.what != "added" or layer is None:
            draft.lose(f"block {row.block}", row.note or "it is there, or not valid")
            continue
        meta = {**layer.meta, "trust": Trust.REFERENCE.value}
        draft.blocks[row.block] = BlockLayer(meta, layer.content, layer.bases)
        draft.add(f"block {row.block}", f"block {row.block}")
    draft.lose(
        f"{sum(row.block not in wanted for row in plan.rows)} prompts of the program itself",
        "Mentis has its own; mentis prompts import FOLDER/prompts --dry-run compares them",
    )


def _rest(source: ImportSource, draft: ArrivalDraft) -> None:
    for name in source.names:
        file = PurePosixPath(name)
        if file.parent.name == "settings" and file.suffix == ".json" and not is_origin_part(name):
            draft.lose(name, "settings of the program; what you set here: mentis settings")
        elif file.parent.name == "data" and file.name.endswith((".db-wal", ".db-journal")):
            draft.lose(name, "not read: close the program first, so that it is in the database")
        elif name.endswith(_ACTIVE):
            draft.lose(name, "which persona was active; choose here with --persona")
        elif file.name == ".env":
            draft.lose(name, "keys are not read: mentis routes")
