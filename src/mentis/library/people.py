"""Reads who the agent is and who it talks to, from TOML, strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar, cast

from mentis.codec.toml import parse_toml
from mentis.errors import PersonaError
from mentis.values.persona import ExampleExchange, Expression, Persona, Profile, Trait
from mentis.values.trust import Trust

from .problems import SourceFile, first_fault

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_T = TypeVar("_T")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")
_TRUSTS = (Trust.OWNER, Trust.REFERENCE, Trust.UNTRUSTED)
_TRAITS = [field.name for field in fields(Trait)]
_SECTIONS = {
    **dict.fromkeys(("traits", "knowledge", "scenarios"), _TRAITS),
    "expression": [field.name for field in fields(Expression)],
    "dialogue": [field.name for field in fields(ExampleExchange)],
}


def load_persona(text: str, file: str) -> Persona:
    """The persona a `persona.toml` describes. Its folder's name is its id."""
    source = SourceFile(file, text, "toml", PersonaError)
    members = parse_toml(source.text, source.file, error=source.error)
    folder = PurePath(file).parent.name if PurePath(file).name == "persona.toml" else ""
    if folder:
        members.setdefault("id", folder)
    _speak_first(members, source)
    _rename_behaviours(members)
    persona = _validated(Persona, members, source, [field.name for field in fields(Persona)])
    if not _ID.fullmatch(persona.id):
        hint = "use lower-case letters, digits, - and _; at most 64"
        raise source.fault(("id",), f"{persona.id!r} cannot be an id", hint=hint)
    if folder and persona.id != folder:
        hint = "give the folder and the id the same name"
        raise source.fault(("id",), f"id {persona.id!r} stands in folder {folder!r}", hint=hint)
    if not all(each.strip() for each in persona.languages):
        raise source.fault(("languages",), "a language is empty", hint="name it, or leave it out")
    if persona.trust not in _TRUSTS:
        hint = f"use {', '.join(_TRUSTS)}"
        raise source.fault(("trust",), f"a persona cannot be {persona.trust}", hint=hint)
    if not persona.name.strip():
        raise source.fault(("name",), "the name is empty", hint="give the persona a name")
    return persona


def load_profile(text: str, file: str) -> Profile:
    """The person a `profile.toml` describes."""
    source = SourceFile(file, text, "toml", PersonaError)
    return _validated(
        Profile,
        parse_toml(source.text, source.file, error=source.error),
        source,
        [field.name for field in fields(Profile)],
    )


def _speak_first(members: dict[str, object], source: SourceFile) -> None:
    """The first of the `languages` is the one it answers in; `language` alone may stand instead."""
    languages = members.get("languages")
    if not isinstance(languages, list) or not languages:
        return
    first = cast("list[object]", languages)[0]
    if isinstance(first, str) and members.setdefault("language", first) != first:
        hint = "put it first among the languages, or leave `language` out"
        raise source.fault(("language",), "the language is not the first one", hint=hint)


def _rename_behaviours(members: dict[str, object]) -> None:
    """What marks a way of speaking was called `behaviours` once; such files still load."""
    ways = members.get("expression")
    if not isinstance(ways, list):
        return
    members["expression"] = [_renamed(way) for way in cast("list[object]", ways)]


def _renamed(way: object) -> object:
    if not isinstance(way, dict) or "characteristics" in way or "behaviours" not in way:
        return cast("object", way)
    fields_of_way = cast("dict[str, object]", way)
    marks = fields_of_way.pop("behaviours")
    return {**fields_of_way, "characteristics": marks}


def _validated(
    kind: type[_T], members: Mapping[str, object], source: SourceFile, known: Sequence[str]
) -> _T:
    from pydantic import ValidationError

    # By way of JSON, because only there a strict check takes an array for a tuple.
    text = json.dumps(members, default=_no_json_form)
    try:
        return _adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise first_fault(source, error, {"": known, **_SECTIONS}) from None


def _no_json_form(value: object) -> dict[str, str]:
    """A date or time: an object no field accepts, so the check refuses it where it stands."""
    return {type(value).__name__: str(value)}


@cache
def _adapter(kind: type[_T]) -> TypeAdapter[_T]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
