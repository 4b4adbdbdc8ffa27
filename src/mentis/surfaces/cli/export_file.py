"""A file that leaves the home: written whole, with what its format cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .report import Note, Report, Text

if TYPE_CHECKING:
    from mentis.app.file_export import FileExport


def write_export(file: Path, made: FileExport) -> Report:
    from mentis.codec.forms import to_object
    from mentis.disk.atomic import write_atomic
    from mentis.values.digest import digest

    write_atomic(file, made.data)
    told = {"file": str(file), "format": made.format, "count": made.count}
    told |= {"digest": digest(made.data), "losses": [to_object(one) for one in made.losses]}

    def text() -> Iterator[Text]:
        yield Note(f"{file}: {made.format}, {made.count} in it, {len(made.data)} bytes")
        for loss in made.losses:
            yield Note(f"not in it: {loss.part}: {loss.reason}")

    return Report(told, text())
