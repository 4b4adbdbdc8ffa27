"""The placeholders of an archive, as the entries of the owner's registry they would become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mentis.library.layer import as_problem
from mentis.library.load import LoadedLibrary
from mentis.library.overlay import digest_of
from mentis.library.problems import SourceFile
from mentis.library.states import changed_paths
from mentis.library.validate import EntryFault, make_placeholder
from mentis.values.json import JsonObject
from mentis.values.location import Problem

from .read import Archive


@dataclass(frozen=True, slots=True)
class IncomingPlaceholder:
    """`entry` is None where nothing differs from what is shipped."""

    key: str
    entry: JsonObject | None
    exists: bool
    changed: tuple[str, ...] = ()
    refusal: str = ""
    problems: tuple[Problem, ...] = ()


def incoming_placeholders(archive: Archive, loaded: LoadedLibrary) -> Iterator[IncomingPlaceholder]:
    for key, (member, entry) in archive.placeholders().items():
        shipped = loaded.shipped.placeholders.get(key)
        present = owners_placeholder(key, loaded)
        exists = shipped is not None or present is not None
        made = make_placeholder(key, {**(shipped or {}), **entry})
        if isinstance(made, list):
            problems = tuple(_problem(fault, archive.sources[member]) for fault in made)
            yield IncomingPlaceholder(key, None, exists, (), "it is not valid", problems)
        elif shipped is not None and not archive.is_ours:
            # Not the owner's words but those of another system, and where *it* finds a value.
            yield IncomingPlaceholder(key, present, exists, (), "Mentis has its own")
        else:
            new = entry if shipped is None else _differing(entry, shipped)
            yield IncomingPlaceholder(key, new, exists, changed_paths(present, new))


def _problem(fault: EntryFault, source: SourceFile) -> Problem:
    location = as_problem(source.fault(fault.path, "")).location
    return Problem("import-invalid", fault.message, location, fault.hint)


def owners_placeholder(key: str, loaded: LoadedLibrary) -> JsonObject | None:
    entry = loaded.owner.placeholders.get(key)
    return None if entry is None else {k: v for k, v in entry.items() if k != "_origin"}


def _differing(entry: JsonObject, shipped: JsonObject) -> JsonObject | None:
    fields = {
        name: value
        for name, value in entry.items()
        if name not in shipped or digest_of(shipped[name]) != digest_of(value)
    }
    return fields or None
