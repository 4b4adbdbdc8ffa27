"""The JSON Schemas of the prompt files, and what a file has wrong by them.

Both come from `formats.py`. In the owner's files a shipped block or placeholder has only the
fields that were changed, so there an entry may leave out what would otherwise be required.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .problems import hint_for, message_for, real_path

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

FileKind: TypeAlias = Literal[
    "prompt_manifest",
    "user_manifest",
    "placeholder_registry",
    "user_placeholder_registry",
    "domain",
    "user_domain",
    "overrides",
    "words",
]
KINDS: tuple[FileKind, ...] = (
    "prompt_manifest",
    "user_manifest",
    "placeholder_registry",
    "user_placeholder_registry",
    "domain",
    "user_domain",
    "overrides",
    "words",
)
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class FileFault:
    """What a file has wrong at `path`, and what kind of fault the validator calls it."""

    path: tuple[str | int, ...]
    kind: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Form:
    """The model of a file; which of its entries may be partial, and how deep they stand."""

    model: type[BaseModel]
    title: str
    partial: str = ""
    depth: int = 0


@cache
def _forms() -> dict[FileKind, _Form]:
    from .formats import Domain, Overrides, PlaceholderRegistry, PromptManifest, UserManifest, Words

    return {
        "prompt_manifest": _Form(PromptManifest, "Manifest of the shipped blocks"),
        "user_manifest": _Form(UserManifest, "Manifest of the owner's blocks", "BlockEntry", 2),
        "placeholder_registry": _Form(PlaceholderRegistry, "Registry of the shipped placeholders"),
        "user_placeholder_registry": _Form(
            PlaceholderRegistry, "Registry of the owner's placeholders", "PlaceholderEntry", 2
        ),
        "domain": _Form(Domain, "Wordings of shipped blocks"),
        "user_domain": _Form(Domain, "Wordings the owner wrote", "ContentEntry", 1),
        "overrides": _Form(Overrides, "What the owner's changes replaced"),
        "words": _Form(Words, "Words of computed placeholders, by language"),
    }


def kind_of(file: str, *, owner: bool) -> FileKind:
    """Which kind of file stands under this name in a layer."""
    for kind in KINDS:
        if file == f"_meta/{kind}.json":
            return kind
    return "user_domain" if owner else "domain"


def file_schema(kind: FileKind) -> dict[str, object]:
    """The JSON Schema of a kind of prompt file."""
    form = _forms()[kind]
    schema: dict[str, Any] = form.model.model_json_schema()
    if form.partial:
        entry = schema["$defs"][form.partial]
        entry.pop("required")
        entry["properties"].get("variants", {}).pop("minProperties", None)
    return {"$schema": _DIALECT, **schema, "title": form.title}


def file_faults(
    kind: FileKind, raw: object, *, partial: Collection[str] = ()
) -> Iterator[FileFault]:
    """What is wrong with a whole file. Entries named in `partial` may leave fields out."""
    form = _forms()[kind]
    for fault in _faults(form.model, raw):
        entry = fault.path[form.depth - 1 : form.depth] if form.partial else ()
        if not (entry and entry[0] in partial and _left_out(fault, form.depth)):
            yield fault


def _faults(model: type[BaseModel], raw: object) -> Iterator[FileFault]:
    from pydantic import ValidationError

    try:
        model.model_validate(raw)
    except ValidationError as error:
        found: dict[tuple[str | int, ...], ErrorDetails] = {}
        for details in error.errors():  # a union says the same for each of its members
            if "list[str]" not in details["loc"][:-1]:
                found.setdefault(real_path(details), details)
        for path, details in found.items():
            message, hint = message_for(details, path), hint_for(details, ())
            yield FileFault(path, details["type"], message, hint)


def _left_out(fault: FileFault, depth: int) -> bool:
    """A field that is missing from an entry, or variants of which the entry changes none."""
    if len(fault.path) != depth + 1:
        return False
    no_variants = fault.kind == "too_short" and fault.path[-1] == "variants"
    return fault.kind == "missing" or no_variants
