"""Folders of agents: skills (SKILL.md), instructions (AGENTS.md, CLAUDE.md) and workspaces with a
SOUL.md. Scripts are shown, and never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from mentis.errors import BadInput
from mentis.exchange.identities import read_identity
from mentis.recall.skills import FILE as SKILL
from mentis.recall.skills import front_matter
from mentis.values.trust import Trust

from .import_plan import (
    ArrivalDraft,
    ArrivalLimits,
    HomeImportPlan,
    ImportArrival,
    ImportFormat,
    ImportWish,
    id_of,
)
from .import_source import ImportSource, text_of
from .import_texts import add_instructions, add_memories, add_memory_file

_OF_PERSONA = {"SOUL.md": "soul", "USER.md": "relationship", "MEMORY.md": "memory"}
_IDENTITY = "IDENTITY.md"
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "TOOLS.md")
_UPPER = tuple(one.upper() for one in _INSTRUCTIONS)
_RITUALS = ("HEARTBEAT.md", "BOOT.md", "BOOTSTRAP.md")
_LARGEST_TEXT, _LARGEST_SKILL_FILE, _MOST_SKILL_FILES = 1_000_000, 5_000_000, 5_000
_DAY = re.compile(r"memory/(?:.*/)?(\d{4}-\d{2}-\d{2})[^/]*\.md")
_NOTES = re.compile(r"memory/[^/]+\.md")
_SCRIPTS = (".py", ".sh", ".bash", ".js", ".mjs", ".ts", ".rb", ".pl", ".ps1", ".bat", ".cmd")
_SHOWN_CHARS = 1_500
_REFERENCE = re.compile(r"^@(\S+)\s*$", re.MULTILINE)


def workspace_arrival(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    """What becomes of skills, instructions and a workspace; None where there is nothing such."""
    persona, limits = wish.persona, wish.limits
    names = {name.upper(): name for name in source.names if "/" not in name}
    there = {one: names[one.upper()] for one in _known() if one.upper() in names}
    skills = [name for name in source.names if PurePosixPath(name).name == SKILL]
    if not there.keys() & {*_OF_PERSONA, _IDENTITY, *_INSTRUCTIONS} and not skills:
        return None
    is_whole = not there.keys().isdisjoint({*_OF_PERSONA, _IDENTITY})
    draft = ArrivalDraft()
    texts = {one: _text(source, name) for one, name in there.items()}
    name = ""
    if is_whole:
        name = _identity(draft, texts, source, persona)
        persona = persona or id_of(name)
        _memory_of(draft, texts, source, persona=persona, limits=limits)
    _instructions(draft, texts, persona or ("" if not source.is_folder else id_of(source.name)),
                  persona=persona)  # fmt: skip
    for one in (one for one in _RITUALS if one in there):
        draft.lose(one, "what runs by itself is set up here: mentis run; kept in the original")
    _skills(draft, source, skills)
    for one in _deeper_instructions(source.names, skills):
        draft.lose(one, "instructions of a subfolder; only those at the top are told")
    for one, reason in source.left_out.items():
        draft.lose(one, reason)
    kind: ImportFormat = "agent workspace" if is_whole else "agent instructions"
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format=kind if there else "skills",
        version="",
        name=name or source.stem,
        persona=persona,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=tuple(draft.shown),
    )
    personas = (draft.persona(persona, name),) if is_whole else ()
    return ImportArrival(plan, personas, draft.blocks, draft.files)


def _known() -> tuple[str, ...]:
    return (*_OF_PERSONA, _IDENTITY, *_INSTRUCTIONS, *_RITUALS)


def _text(source: ImportSource, name: str) -> str:
    found = source.read(lambda one: one == name, most=_LARGEST_TEXT)
    return text_of(found[name], name)


def _identity(
    draft: ArrivalDraft, texts: Mapping[str, str], source: ImportSource, persona: str
) -> str:
    """The name of the persona; the fields that IDENTITY.md gives it."""
    draft.fields |= {"type": "AI", "trust": Trust.REFERENCE.value}
    found = read_identity(texts.get(_IDENTITY, ""))
    if found.creature:
        draft.fields["type"] = found.creature
    if found.vibe:
        draft.fields["traits"] = [{"name": "", "description": found.vibe}]
    if _IDENTITY in texts:
        told = [one for one in ("name", "creature", "vibe") if getattr(found, one)]
        draft.add(f"{_IDENTITY} ({', '.join(told) or 'nothing filled in'})", "persona.toml")
    for one, value in (("emoji", found.emoji), ("avatar", found.avatar)):
        if value:
            draft.lose(f"{one} of {_IDENTITY}", "there is no field for it; kept in the original")
    if source.is_folder or source.is_zip:
        return found.name or persona or source.stem
    return found.name or persona or "Imported"


def _memory_of(
    draft: ArrivalDraft,
    texts: Mapping[str, str],
    source: ImportSource,
    *,
    persona: str,
    limits: ArrivalLimits,
) -> None:
    for part, name in _OF_PERSONA.items():
        if part in texts:
            add_memory_file(draft, part, name, texts[part], persona=persona, limits=limits)
    for name in source.names:
        day = _DAY.fullmatch(name)
        if day is not None:
            time = f"{day[1]}T00:00:00Z"
            text = _text(source, name)
            add_memories(draft, name, text, limits=limits, kind="episode", time=time)
        elif _NOTES.fullmatch(name):
            add_memories(draft, name, _text(source, name), limits=limits)


def _instructions(
    draft: ArrivalDraft, texts: Mapping[str, str], prefix: str, *, persona: str
) -> None:
    for part in (one for one in _INSTRUCTIONS if one in texts):
        text = texts[part]
        if not _REFERENCE.sub("", text).strip() and "AGENTS.md" in text and "AGENTS.md" in texts:
            continue  # CLAUDE.md that only says to read AGENTS.md
        for named in _REFERENCE.findall(text):
            draft.lose(f"@{named} in {part}", "files that it names are not read")
        word = part.removesuffix(".md").lower()
        block_id = f"{prefix}-{word}" if prefix else f"imported-{word}"
        add_instructions(draft, part, text, block_id=block_id, persona=persona)


def _deeper_instructions(names: Sequence[str], skills: Sequence[str]) -> Iterator[str]:
    """Those in folders below, but for what is copied as part of a skill."""
    tops = tuple(name.removesuffix(SKILL) for name in skills)
    for name in names:
        path = PurePosixPath(name)
        if len(path.parts) > 1 and path.name.upper() in _UPPER and not name.startswith(tops):
            yield name


def _skills(draft: ArrivalDraft, source: ImportSource, found: list[str]) -> None:
    """Each folder with a SKILL.md becomes one in `skills/` of the home."""
    tops: list[str] = []
    for name in found:
        folder = name.removesuffix(SKILL)
        if not any(folder.startswith(top) for top in tops):
            tops.append(folder)
    for folder in tops:
        try:
            _skill(draft, source, folder)
        except BadInput as error:
            draft.lose(f"skill {folder or source.stem}", error.message)


def _skill(draft: ArrivalDraft, source: ImportSource, folder: str) -> None:
    about = _text(source, f"{folder}{SKILL}")
    told = front_matter(about, where=f"{folder}{SKILL}")
    name = told.get("name") or PurePosixPath(folder).name or source.stem
    description = told.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not description.strip():
        raise BadInput(f"{folder}{SKILL}: there is no description")
    alone = not (source.is_folder or source.is_zip)
    read = source.read(lambda one: one.startswith(folder), most=_LARGEST_SKILL_FILE)
    members = {SKILL: source.data} if alone else read
    if len(draft.files) + len(members) > _MOST_SKILL_FILES:
        raise BadInput(f"more than {_MOST_SKILL_FILES} files of skills")
    place = _free_place(draft, id_of(PurePosixPath(folder).name or name))
    for member, data in members.items():
        inner = member.removeprefix(folder)
        draft.files[f"{place}/{inner}"] = data
        if inner.startswith("scripts/") or inner.lower().endswith(_SCRIPTS):
            draft.shown.append(f"{place}/{inner}, never run: {_excerpt(data)}")
    others = len(members) - 1
    note = f"{others} files beside it are copied; a model reads {SKILL} alone" if others else ""
    draft.add(f"skill {name}", place, note=note)
    if "allowed-tools" in told:
        draft.lose(f"allowed-tools of {name}", "an import allows nothing; tools are allowed here")


def _free_place(draft: ArrivalDraft, wanted: str) -> str:
    taken = {"/".join(name.split("/")[:2]) for name in draft.files}
    place, number = f"skills/{wanted}", 1
    while place in taken:
        number += 1
        place = f"skills/{wanted}-{number}"
    return place


def _excerpt(data: bytes) -> str:
    text = data.decode(errors="replace")
    more = len(text) - _SHOWN_CHARS
    return f"{text[:_SHOWN_CHARS]} ... and {more} characters more" if more > 0 else text
