"""Reads who the agent is and who it talks to, from TOML, strictly."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from mentis.errors import PersonaError
from mentis.values.location import Location
from mentis.values.persona import Persona, Profile, Trait

from .problems import Source, first_fault

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_T = TypeVar("_T")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")
_TRAITS = [field.name for field in fields(Trait)]
_SECTIONS = dict.fromkeys(("traits", "knowledge", "expression", "scenarios"), _TRAITS)


def load_persona(text: str, file: str) -> Persona:
    """The persona a `persona.toml` describes. Its folder's name is its id."""
    source = Source(file, text, "toml", PersonaError)
    members = _parse(source)
    folder = PurePath(file).parent.name if PurePath(file).name == "persona.toml" else ""
    if folder:
        members.setdefault("id", folder)
    persona = _validated(Persona, members, source, [field.name for field in fields(Persona)])
    if not _ID.fullmatch(persona.id):
        hint = "use lower-case letters, digits, - and _; at most 64"
        raise source.fault(("id",), f"{persona.id!r} cannot be an id", hint=hint)
    if folder and persona.id != folder:
        hint = "give the folder and the id the same name"
        raise source.fault(("id",), f"id {persona.id!r} stands in folder {folder!r}", hint=hint)
    if not persona.name.strip():
        raise source.fault(("name",), "the name is empty", hint="give the persona a name")
    return persona


def load_profile(text: str, file: str) -> Profile:
    """The person a `profile.toml` describes."""
    source = Source(file, text, "toml", PersonaError)
    return _validated(Profile, _parse(source), source, [field.name for field in fields(Profile)])


def _parse(source: Source) -> dict[str, object]:
    if source.text.startswith("\ufeff"):
        hint = "save it as UTF-8 without a byte order mark"
        raise source.fault_at(Location(source.file), "begins with a byte order mark", hint=hint)
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        found = _PLACE.search(said)
        end = (source.text.count("\n") + 1, len(source.text) - source.text.rfind("\n"))
        line, column = (int(found[1]), int(found[2])) if found else end
        message = f"not TOML: {_PLACE.sub('', said).removesuffix(' (at end of document)')}"
        place = Location(source.file, line, column)
        raise source.fault_at(place, message, hint="correct the file at this place") from None
    except RecursionError:
        raise source.fault((), "nested too deeply to read") from None


def _validated(
    kind: type[_T], members: Mapping[str, object], source: Source, known: Sequence[str]
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
