"""Puts an accepted draft into a persona.toml; comments and everything else stay as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import cast

from mentis.errors import PersonaError
from mentis.values.persona_draft import DraftKind, PersonaDraft

_SECTIONS: Mapping[DraftKind, str] = {
    "core_trait": "traits",
    "knowledge": "knowledge",
    "scenario": "scenarios",
    "expression_style": "expression",
}
_FIELDS: Mapping[DraftKind, tuple[str, ...]] = {
    "core_trait": ("name", "description", "behaviours"),
    "knowledge": ("name", "description"),
    "scenario": ("name", "description", "behaviours"),
    "expression_style": ("name", "description", "example", "characteristics"),
}


def with_draft(text: str, draft: PersonaDraft) -> str:
    """The file with the drafted field: one of the same name gives way, else it is a further one."""
    import tomlkit

    document = tomlkit.parse(text)
    members = cast("dict[str, object]", document)
    if draft.kind == "persona_type":
        members["type"] = draft.description or draft.name
        return document.as_string()
    section = _SECTIONS[draft.kind]
    entry = tomlkit.table()
    for name, value in draft_fields(draft).items():
        entry.add(name, value)
    entry.add(tomlkit.nl())
    there = members.get(section)
    if there is None:
        members[section] = tomlkit.aot()
        there = members[section]
    if not isinstance(there, list):
        raise PersonaError(f"{section} is no list of tables", hint=f"write it as [[{section}]]")
    entries = cast("list[object]", there)
    place = next((at for at, one in enumerate(entries) if _name(one) == draft.name), None)
    if place is None:
        entries.append(entry)
    else:
        cast("dict[str, object]", entries[place]).update(draft_fields(draft))
    return document.as_string()


def draft_fields(draft: PersonaDraft) -> dict[str, object]:
    """What the file says of a draft, without what it leaves empty."""
    if draft.kind == "persona_type":
        return {"type": draft.description or draft.name}
    found = ((name, getattr(draft, name)) for name in _FIELDS[draft.kind])
    return {name: value if isinstance(value, str) else [*value] for name, value in found if value}


def draft_text(draft: PersonaDraft) -> str:
    """The draft as it would stand in the file."""
    import tomlkit

    if draft.kind == "persona_type":
        return tomlkit.dumps(draft_fields(draft)).rstrip("\n")
    text = tomlkit.dumps(draft_fields(draft)).rstrip("\n")
    return f"[[{_SECTIONS[draft.kind]}]]\n{text}"


def is_kept(before: str, after: str, kind: DraftKind) -> bool:
    """Whether only the section of the draft is another one."""
    section = "type" if kind == "persona_type" else _SECTIONS[kind]
    old, new = tomllib.loads(before), tomllib.loads(after)
    return {**old, section: 0} == {**new, section: 0}


def _name(entry: object) -> object:
    return cast("Mapping[str, object]", entry).get("name") if isinstance(entry, dict) else None
