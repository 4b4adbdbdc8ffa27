"""Files for other programs that leave a home, with what their format cannot hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class ExportLoss(Value):
    """What the format cannot hold, or what only Mentis reads of it."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileExport(Value):
    """The bytes of the file, under the name of its format; `count` says of how many things."""

    format: str
    data: bytes
    media: str
    count: int
    losses: tuple[ExportLoss, ...] = ()


@dataclass(slots=True)
class ExportDraft:
    """Grows while it is written."""

    losses: list[ExportLoss] = field(default_factory=list[ExportLoss])

    def lose(self, part: str, reason: str) -> None:
        if (loss := ExportLoss(part, reason)) not in self.losses:
            self.losses.append(loss)
