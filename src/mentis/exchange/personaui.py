"""A PersonaUI folder: its personas, what they keep about themselves, and their conversations.
See docs/design/formats.md.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import cast

from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput
from mentis.values.imported import ImportedConversation, ImportedTurn
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .fields import object_of, text_of

_ROOT = r"(?:.*/)?"
_PERSONA = re.compile(
    rf"{_ROOT}instructions/(?:personas/default/default_persona|created_personas/([^/]+))\.json"
)
_SPEC = re.compile(
    rf"{_ROOT}instructions/personas/spec/(?:persona_spec|custom_spec/custom_spec)\.json"
)
_CORTEX = re.compile(
    rf"{_ROOT}instructions/personas/cortex/(?:default|custom/([^/]+))/(memory|soul|relationship)\.md"
)
_DATABASE = re.compile(rf"{_ROOT}data/(?:main|persona_([^/]+))\.db")
_LINES = re.compile(rf"{_ROOT}data/([^/]+)/(sessions/sessions|messages/messages_(\d+))\.jsonl")
_PROFILE = re.compile(rf"{_ROOT}settings/(?:user_profile|settings)\.json")
_BLANK = re.compile(r"\s*(?:#.*|---+|[-*]?\s*\(.*\))?\s*")  # of a template
_HINT = "close PersonaUI, and copy the folder anew"
_SQLITE = b"SQLite format 3\0"
_NOT_SQLITE = (sqlite3.Error, ValueError)


@dataclass(frozen=True, slots=True)
class OriginPersona(Value):
    """`id` is the one that the folder knows it by; `fields` are those of a persona.toml."""

    id: str
    name: str
    fields: JsonObject
    avatar: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    conversations: tuple[ImportedConversation, ...] = ()
    memories: tuple[tuple[str, str], ...] = ()  # text and time
    inactive: int = 0


@dataclass(frozen=True, slots=True)
class OriginHome(Value):
    personas: tuple[OriginPersona, ...]
    profile: JsonObject
    templates: int = 0  # files in which nothing but the template stands


def is_origin_home(names: Sequence[str]) -> bool:
    return any(_PERSONA.fullmatch(name) for name in names)


def is_origin_part(name: str) -> bool:
    """Whether a file is read for it; prompts and pictures are looked for by others."""
    kinds = (_PERSONA, _SPEC, _CORTEX, _DATABASE, _LINES, _PROFILE)
    return any(kind.fullmatch(name) for kind in kinds)


def read_origin_home(members: Mapping[str, bytes]) -> OriginHome:
    """What the files say; BadInput where one cannot be read."""
    spec: dict[str, JsonObject] = {}
    profile: dict[str, object] = {}
    for name in sorted(members, reverse=True):  # what the owner added comes after what was shipped
        if _SPEC.fullmatch(name):
            for kind, entries in object_of(_json(members[name], name), "persona_spec").items():
                if isinstance(entries, dict):
                    spec[kind] = {**cast("JsonObject", entries), **spec.get(kind, {})}
        elif _PROFILE.fullmatch(name):
            told = _json(members[name], name)
            profile = {
                **object_of(told, "profile"),
                **{k: v for k, v in told.items() if "user" in k},
            }
    files, templates = _files(members, text_of(profile, "user_name") or "User")
    talks = _talks(members)
    personas: list[OriginPersona] = []
    for name in sorted(members):
        if match := _PERSONA.fullmatch(name):
            own, one = match[1] or "default", _json(members[name], name)
            mine, talk = files.get(own, {}), talks.get(own, _Talk())
            personas.append(_persona(own, one, spec, files=mine, talk=talk))
    return OriginHome(tuple(personas), profile, templates)


@dataclass(slots=True)
class _Talk:
    conversations: list[ImportedConversation] = field(default_factory=list[ImportedConversation])
    memories: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    inactive: int = 0


def _persona(
    name: str,
    document: JsonObject,
    spec: Mapping[str, JsonObject],
    *,
    files: Mapping[str, str],
    talk: _Talk,
) -> OriginPersona:
    told = object_of(document, "persona_settings") or document
    kind = text_of(told, "persona")
    about = spec.get("persona_type", {}).get(kind)
    fields: dict[str, object] = {
        "type": about if isinstance(about, str) and about else kind or "AI"
    }
    if isinstance(told.get("age"), int):
        fields["age"] = told["age"]
    for here, there in (("gender", "gender"), ("background", "background")):
        if text_of(told, there).strip():
            fields[here] = text_of(told, there).strip()
    lists = (
        ("traits", "core_traits", "core_traits_details", "behaviors"),
        ("knowledge", "knowledge", "knowledge_areas", ""),
        ("scenarios", "scenarios", "scenarios", "setting"),
    )
    for here, there, section, more in lists:
        entries = [_trait(one, spec.get(section, {}), more) for one in _texts(told, there)]
        if entries:
            fields[here] = entries
    if style := text_of(told, "expression"):
        fields["expression"] = [_expression(style, spec.get("expression_styles", {}))]
    if first := text_of(told, "start_msg").strip():
        on = told.get("start_msg_enabled") is True
        fields |= {"greeting": first} if on else {"greetings": [first]}
    return OriginPersona(
        id=name,
        name=" ".join(text_of(told, "name").split()) or name,
        fields=fields,
        avatar=text_of(told, "avatar"),
        files=files,
        conversations=tuple(talk.conversations),
        memories=tuple(talk.memories),
        inactive=talk.inactive,
    )


def _trait(name: str, section: JsonObject, more: str) -> JsonObject:
    entry = section.get(name)
    if isinstance(entry, str):
        return {"name": name, "description": entry}
    told = object_of(section, name)
    found: dict[str, object] = {"name": text_of(told, "name") or name}
    if text_of(told, "description"):
        found["description"] = text_of(told, "description")
    if behaviours := _texts(told, more):
        found["behaviours"] = behaviours
    return found


def _expression(name: str, section: JsonObject) -> JsonObject:
    told = object_of(section, name)
    found: dict[str, object] = {"name": text_of(told, "name") or name}
    found |= {one: text_of(told, one) for one in ("description", "example") if text_of(told, one)}
    if marks := _texts(told, "characteristics"):
        found["characteristics"] = marks
    return found


def _files(members: Mapping[str, bytes], user: str) -> tuple[dict[str, dict[str, str]], int]:
    """By the id of their persona; a file in which only its template stands is none."""
    found: dict[str, dict[str, str]] = {}
    templates = 0
    for name, data in members.items():
        match = _CORTEX.fullmatch(name)
        if match is None:
            continue
        text = _decoded(data, name)
        _, _, entries = text.partition("\n## ")
        if all(_BLANK.fullmatch(line) for line in f"## {entries}".splitlines()):
            templates += 1
        else:
            found.setdefault(match[1] or "default", {})[match[2]] = text.replace("{{user}}", user)
    return found, templates


# Conversations: a database for each persona, or lines of JSON


def _talks(members: Mapping[str, bytes]) -> dict[str, _Talk]:
    found: dict[str, _Talk] = {}
    for name, data in sorted(members.items()):
        if match := _DATABASE.fullmatch(name):
            found[match[1] or "default"] = _from_database(data, name)
    lines: dict[str, dict[str, list[JsonObject]]] = {}
    for name, data in sorted(members.items()):
        if match := _LINES.fullmatch(name):
            lines.setdefault(match[1], {})[match[3] or "sessions"] = _rows(data, name)
    for persona, files in lines.items():
        talk = found.setdefault(persona, _Talk())
        titles = {str(one.get("id")): text_of(one, "title") for one in files.get("sessions", ())}
        for number in sorted((one for one in files if one != "sessions"), key=int):
            _add(talk, titles.get(number, ""), files[number])
    return found


def _from_database(data: bytes, name: str) -> _Talk:
    """Read from memory: nothing of it is run or changed, and nothing but rows is asked for."""
    talk = _Talk()
    if not data:  # as one looks that nothing was ever written to
        return talk
    if not data.startswith(_SQLITE):
        raise BadInput(f"{name}: no database that can be read", hint=_HINT)
    # A journal beside the file is not read, so it counts as one without.
    data = b"".join((data[:18], b"\x01\x01", data[20:]))
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(data)
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA query_only = ON")
            database.row_factory = sqlite3.Row
            for session in _table(database, "chat_sessions"):
                where = (session.get("id"),)
                rows = [*_table(database, "chat_messages", "WHERE session_id = ?", where)]
                _add(talk, text_of(session, "title"), rows)
            for row in _table(database, "memories"):
                if row.get("is_active", 1):
                    talk.memories.append((text_of(row, "content"), text_of(row, "created_at")))
                else:
                    talk.inactive += 1
    except _NOT_SQLITE as error:
        raise BadInput(f"{name}: no database that can be read: {error}", hint=_HINT) from error
    return talk


def _table(
    database: sqlite3.Connection, name: str, where: str = "", given: Sequence[object] = ()
) -> Iterator[JsonObject]:
    """The rows of a plain table in the order of their ids; none where there is no such table."""
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if database.execute(known, (name,)).fetchone() is None:
        return
    for row in database.execute(f"SELECT * FROM {name} {where} ORDER BY id", tuple(given)):  # noqa: S608  # our own names
        yield dict(row)


def _add(talk: _Talk, title: str, rows: Sequence[JsonObject]) -> None:
    turns = tuple(
        ImportedTurn(
            "user" if row.get("is_user") else "assistant",
            text_of(row, "message"),
            name="" if row.get("is_user") else text_of(row, "character_name"),
            time=text_of(row, "timestamp"),
        )
        for row in rows
        if text_of(row, "message").strip()
    )
    if turns:
        talk.conversations.append(ImportedConversation("", turns, title))


def _rows(data: bytes, name: str) -> list[JsonObject]:
    lines = [line for line in _decoded(data, name).splitlines() if line.strip()]
    rows = [
        read_outside(line, what=f"{name}, line {n}", hint=_HINT) for n, line in enumerate(lines, 1)
    ]
    return [cast("JsonObject", row) for row in rows if isinstance(row, dict)]


def _json(data: bytes, name: str) -> JsonObject:
    found = read_outside(data.removeprefix(b"\xef\xbb\xbf"), what=name, hint=_HINT)
    if not isinstance(found, dict):
        raise BadInput(f"{name} is no object", hint=_HINT)
    return cast("JsonObject", found)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name}: not UTF-8 at byte {error.start}"
        raise BadInput(message, hint="save it as UTF-8") from error


def _texts(row: JsonObject, name: str) -> list[str]:
    value = row.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [one for one in items if isinstance(one, str) and one.strip()]
