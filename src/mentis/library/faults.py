"""Finds the file and the place a fault stands at, in the layer its field came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from mentis.errors import LibraryError
from mentis.values.json import JsonObject
from mentis.values.location import Problem

from .layer import Layer, as_problem
from .overlay import domain_file
from .problems import SourceFile
from .validate import EntryFault, Path


def locate_faults(faults: Iterable[EntryFault], shipped: Layer, owner: Layer) -> Iterator[Problem]:
    for fault in faults:
        source, entry = _place(fault, shipped, owner)
        path = fault.path if entry is not None else fault.path[:1]
        if source is None:
            yield Problem(fault.code, fault.message, hint=fault.hint)
        else:
            found = as_problem(source.fault(path, fault.message, hint=fault.hint))
            yield replace(found, code=fault.code)


def as_error(faults: Iterable[EntryFault]) -> LibraryError:
    """The error for faults in something that is in no file yet."""
    said = [fault.message for fault in faults]
    first = next(iter(faults))
    more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    return LibraryError(f"{said[0]}{more}", hint=first.hint, problems=said)


def also(problem: Problem, consequence: str) -> Problem:
    return replace(problem, message=f"{problem.message}; {consequence}")


def _place(
    fault: EntryFault, shipped: Layer, owner: Layer
) -> tuple[SourceFile | None, JsonObject | None]:
    """The file to point at, and the entry in it: the owner's if that is where the field is."""
    above, below = _entry(fault, owner, shipped), _entry(fault, shipped, shipped)
    owned = above[1] is not None and (below[1] is None or _sets(above[1], _steps(fault)))
    source, entry = above if owned else below
    if source is None:
        return owner.files.get(owner.manifest_file), None
    return source, entry


def _entry(
    fault: EntryFault, layer: Layer, shipped: Layer
) -> tuple[SourceFile | None, JsonObject | None]:
    match fault.part:
        case "manifest":
            entry = layer.prompts.get(str(fault.path[1]))
            return layer.manifest_of(str(fault.path[1])), entry
        case "registry":
            entry = layer.placeholders.get(str(fault.path[1]))
            return layer.registry_of(str(fault.path[1])), entry
        case "domain":
            block_id = str(fault.path[0])
            meta = {**shipped.prompts.get(block_id, {}), **layer.prompts.get(block_id, {})}
            file = domain_file(meta)
            return layer.files.get(file), layer.domains.get(file, {}).get(block_id)


def _steps(fault: EntryFault) -> Path:
    return fault.path[1:] if fault.part == "domain" else fault.path[2:]


def _sets(entry: JsonObject, steps: Path) -> bool:
    """Whether an entry of the owner's says something there; variants are told one by one."""
    match steps:
        case ("variants", name, *_) if isinstance(variants := entry.get("variants"), dict):
            return name in cast("JsonObject", variants)
        case (first, *_):
            return first in entry
        case _:
            return True
