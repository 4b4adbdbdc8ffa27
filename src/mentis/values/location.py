"""Where in a file something is wrong, and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .value import Value


@dataclass(frozen=True, slots=True, order=True)
class Location(Value):
    """A place in a text file; line and column count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem(Value):
    """One finding about a file or a home, as a compiler would report it."""

    code: str
    message: str
    location: Location | None = None
    hint: str = ""
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return f"{where}{self.severity}: {self.message} [{self.code}]"
