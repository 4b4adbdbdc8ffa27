"""`python tools/house.py [--json]`: measurements of the code. It enforces nothing.

Each figure is defined where it is taken: sizes, imports and wide objects in `house_code`, names in
`house_names`, the walks of a turn and a tick in `house_walk`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from house_code import (
    MANY_FIELDS,
    SHORT_LINES,
    Pair,
    Size,
    WideObject,
    modules_with_one_importer,
    mutual_clusters,
    mutual_rooms,
    protocols,
    room_edges,
    room_sizes,
    short_functions,
    wide_dataclasses,
)
from house_names import (
    Share,
    doubled_class_names,
    participle_share,
    settings_without_page,
    what_docstrings,
)
from house_walk import Kind, Walk, walk

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "src/mentis"
WIDTH = 100


@dataclass(frozen=True, slots=True)
class House:
    """Every figure. A walk that failed is the reason why."""

    rooms: list[Size]
    edges: dict[str, dict[str, int]]
    mutual_rooms: list[Pair]
    mutual_clusters: list[Pair]
    short_functions: int
    modules_with_one_importer: list[str]
    import_share: float
    protocols: list[WideObject]
    wide_dataclasses: list[WideObject]
    doubled_class_names: dict[str, int]
    participles: dict[str, Share]
    what_docstrings: list[str]
    walks: dict[Kind, Walk | str]
    settings_without_page: list[str]


def measure(project: Path = PROJECT, package: Path = PACKAGE) -> House:
    """All of it; the walks are those of the package that is installed here."""
    rooms = room_sizes(package)
    return House(
        rooms=rooms,
        edges=_by_room(room_edges(package)),
        mutual_rooms=mutual_rooms(package),
        mutual_clusters=mutual_clusters(package),
        short_functions=short_functions(package),
        modules_with_one_importer=modules_with_one_importer(package),
        import_share=round(rooms[-1].import_lines / max(rooms[-1].code_lines, 1), 4),
        protocols=protocols(package),
        wide_dataclasses=wide_dataclasses(package),
        doubled_class_names={name: len(at) for name, at in doubled_class_names(package).items()},
        participles=participle_share(package),
        what_docstrings=[one.relative_to(package).as_posix() for one in what_docstrings(package)],
        walks={"turn": _walk("turn"), "tick": _walk("tick")},
        settings_without_page=settings_without_page(project),
    )


def _by_room(edges: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    rooms = sorted({room for room, _ in edges})
    found = sorted(edges.items(), key=lambda item: (-item[1], item[0]))
    return {room: {to: count for (one, to), count in found if one == room} for room in rooms}


def _walk(kind: Kind) -> Walk | str:
    try:
        return walk(kind)
    except subprocess.CalledProcessError as error:
        return str(error.stderr).strip().rpartition("\n")[2] or str(error)


def report(house: House) -> Iterator[str]:
    yield from _rooms(house)
    yield from _imports(house)
    yield from _pieces(house)
    yield from _objects(house)
    yield from _names(house)
    yield from _walks(house)
    yield f"\nSettings that no guide, concept or example names: {len(house.settings_without_page)}"
    yield from _comma_lines(house.settings_without_page)


def _rooms(house: House) -> Iterator[str]:
    yield "Rooms (length of functions in lines without the docstring)"
    head = ("room", "files", "lines", "code", "functions", "median", "p90", "longest", "classes")
    yield from _table(head, [_row(size) for size in house.rooms])


def _row(size: Size) -> list[str | int]:
    sizes = [size.room, size.files, size.lines, size.code_lines, size.functions]
    return [*sizes, f"{size.median:g}", size.p90, size.longest, size.classes]


def _imports(house: House) -> Iterator[str]:
    yield "\nImports from room to room"
    for room, edges in house.edges.items():
        yield from _comma_lines((f"{to} {count}" for to, count in edges.items()), f"  {room}: ")
    yield f"Rooms that import each other: {len(house.mutual_rooms)}"
    yield from map(_pair, house.mutual_rooms)
    yield f"Clusters inside a room that import each other: {len(house.mutual_clusters)}"
    yield from map(_pair, house.mutual_clusters)


def _pair(pair: Pair) -> str:
    place = f"{pair.room}: " if pair.room else ""
    return f"  {place}{pair.one} to {pair.other} {pair.there}, back {pair.back}"


def _pieces(house: House) -> Iterator[str]:
    total = house.rooms[-1]
    short = f"functions of at most {SHORT_LINES} lines"
    yield "\nPieces"
    yield f"  {short:<32} {house.short_functions:,} of {total.functions:,}"
    yield f"  {'modules with one importer':<32} {len(house.modules_with_one_importer)}"
    share = f"{total.import_lines:,} of {total.code_lines:,} ({house.import_share:.1%})"
    yield f"  {'lines of imports':<32} {share}"


def _objects(house: House) -> Iterator[str]:
    methods = sum(one.size for one in house.protocols)
    yield f"\nProtocols, with their methods: {len(house.protocols)} with {methods}"
    rooms = Counter(one.room for one in house.protocols)
    for room in sorted(rooms):
        inside = [one for one in house.protocols if one.room == room]
        first = f"  {room} ({rooms[room]} with {sum(one.size for one in inside)}): "
        yield from _comma_lines((f"{one.name} {one.size}" for one in inside), first)
    yield f"\nDataclasses with more than {MANY_FIELDS} fields, and who has a parameter of that type"
    rows = [
        [one.name, one.module, one.size, one.signatures, one.files]
        for one in house.wide_dataclasses
    ]
    yield from _table(("name", "module", "fields", "functions", "files"), rows)


def _names(house: House) -> Iterator[str]:
    doubled = house.doubled_class_names
    count = f"{len(doubled)} names of {sum(doubled.values())} classes"
    yield f"\nPublic class names that stand for more than one class: {count}"
    yield from _comma_lines(f"{name} {count}" for name, count in doubled.items())
    yield "Names that are a bare participle"
    for kind, share in house.participles.items():
        yield (
            f"  {kind:<9} {_part(share.participles, share.of)};"
            f" public {_part(share.public_participles, share.of_public)}"
        )
    yield f'Module docstrings that begin with "What": {len(house.what_docstrings)}'


def _part(some: int, every: int) -> str:
    return f"{some:,} of {every:,} ({some / max(every, 1):.0%})"


def _walks(house: House) -> Iterator[str]:
    yield "\nWalks (scripted model, fresh home)"
    for kind, found in house.walks.items():
        if isinstance(found, str):
            yield f"  {kind}: not measured: {found}"
            continue
        yield (
            f"  {kind}: {found.functions} functions in {found.files} files of"
            f" {len(found.functions_by_room)} rooms, {found.calls:,} calls,"
            f" {found.crossings} from room to room"
        )
        yield from _comma_lines(
            (f"{room} {n}" for room, n in found.functions_by_room.items()), "    "
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Iterator[str]:
    """Words to the left, numbers to the right."""
    texts = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    right = [cell[:1].isdigit() for cell in (texts[0] if texts else head)]
    for row in (list(head), *texts):
        cells = zip(row, widths, right, strict=True)
        line = "  ".join(
            f"{cell:>{width}}" if to else f"{cell:<{width}}" for cell, width, to in cells
        )
        yield f"  {line}".rstrip()


def _comma_lines(words: Iterable[str], first: str = "  ") -> Iterator[str]:
    """Words with commas, in lines that fit; the lines after the first are indented further."""
    line = first
    for word in words:
        if len(line) + len(word) > WIDTH and line.strip():
            yield line.rstrip()
            line = "    "
        line += f"{word}, "
    if line.strip() and line != first:
        yield line.rstrip().removesuffix(",")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measurements of the code; nothing is enforced.")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the report")
    as_json = bool(parser.parse_args(arguments).json)
    house = measure()
    if as_json:
        print(json.dumps(asdict(house), indent=2))
    else:
        print("\n".join(report(house)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
