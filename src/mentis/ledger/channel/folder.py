"""The folder of one agent's file channel, and the names in it.

A draft that waits is called `NUMBER.DELIVERY.json`, and the number says where it stands. It is the
time, and where the clock says less than a number that waits already, one more than that: a clock
that is set back changes no order, and neither do the deliveries. `DELIVERY.json` is a file that
somebody wrote without us; it stands where it came in, by the clock of the disk. So does one whose
number no clock says: behind the greatest nothing could be put.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import BadInput, OutsideHome
from mentis.ports.ids import Ids

SUFFIX = ".json"
FROM = ".from.json"  # of a draft that says where it came from
PENDING = "pending_status.json"
# A delivery becomes a file name: nothing in it can lead anywhere.
_DELIVERY = re.compile(r"[a-z0-9][a-z0-9_-]{0,127}")
_NAME = re.compile(rf"(?:([0-9]{{20}})\.)?({_DELIVERY.pattern})(?:\.from)?\.json")
_LAST_NUMBER = 10**20 - 1
_NO_NUMBER = 9 * 10**19  # of the year 4821
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StatusFolder:
    """`status/<persona>` of a home. Whoever makes one has checked that it stays in the home.

    `shared` is a second slot that is looked at, `unwatched` are those that are not.
    """

    path: Path
    slot: Path | None = None
    shared: Path | None = None
    unwatched: tuple[Path, ...] = ()

    @property
    def pending(self) -> Path:
        """The single slot: one file, and who writes it again replaces it."""
        return self.slot or self.path / PENDING

    @property
    def slots(self) -> tuple[Path, ...]:
        """Every slot that is looked at."""
        return (self.pending,) if self.shared is None else (self.pending, self.shared)

    @property
    def stranded_drafts(self) -> tuple[Path, ...]:
        """Drafts in slots where nobody will ever look."""
        return tuple(path for path in self.unwatched if path.exists() or path.is_symlink())

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def quarantine(self) -> Path:
        return self.path / "quarantine"

    @property
    def log(self) -> Path:
        return self.path / "watcher.log"

    @property
    def fault(self) -> Path:
        """Why the watcher cannot record just now; no such file while it can."""
        return self.path / "watcher.fault"

    def make(self) -> None:
        """Make what is missing, for its owner alone."""
        slots = (slot.parent for slot in self.slots)
        for folder in (self.path, self.spool, self.quarantine, *slots):
            try:
                self._refuse_link(folder)
                if folder.is_dir():
                    continue
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync_folder(folder.parent)
            except OSError as error:
                raise unwritable(folder, error) from error

    def _refuse_link(self, folder: Path) -> None:
        if folder in (self.spool, self.quarantine) and folder.is_symlink():
            raise OutsideHome(
                f"{folder} is a link, and what comes in must stay in the home",
                hint="remove the link; the folder is made anew",
            )

    def waiting(self) -> list[str]:
        """The names in the spool, oldest first; what begins with a dot is still being written.

        A listing may miss a file that comes while it runs and yet have a later one. So it is made
        twice: whatever was there before the last name of the first is in the second.
        """
        first = self._places()
        if not first:
            return []
        last = max((place, name) for name, place in first.items())
        both = self._places() | first
        return [
            name for place, name in sorted((p, n) for n, p in both.items()) if (place, name) <= last
        ]

    def next_place(self, delivery: str, suffix: str, now: datetime) -> Path:
        """Behind everything that waits: the file that this delivery becomes in the spool."""
        highest = max(self._places().values(), default=0)
        microseconds = (now - _EPOCH) // timedelta(microseconds=1)
        number = min(max(highest + 1, microseconds * 1000), _LAST_NUMBER)
        return self.spool / f"{number:020}.{delivery}{suffix}"

    def names_of(self, delivery: str) -> list[str]:
        """The names in the spool that stand for this delivery."""
        return [name for name in self._names() if delivery_of(name) == delivery]

    def _names(self) -> list[str]:
        try:
            names = [path.name for path in self.spool.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unwritable(self.spool, error) from error
        return [name for name in names if not name.startswith(".")]

    def _places(self) -> dict[str, int]:
        places = {name: self._place(name) for name in self._names()}
        return {name: place for name, place in places.items() if place is not None}

    def _place(self, name: str) -> int | None:
        """None when it is gone again."""
        found = _NAME.fullmatch(name)
        if found is not None and found[1] and int(found[1]) < _NO_NUMBER:
            return int(found[1])
        try:
            return (self.spool / name).lstat().st_ctime_ns
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unwritable(self.spool / name, error) from error


def checked_delivery(text: str) -> str:
    if _DELIVERY.fullmatch(text):
        return text
    raise BadInput(
        f"{text!r} cannot be the id of a delivery",
        hint="use 1 to 128 small letters, digits, dashes and underscores",
        value=text,
    )


def delivery_of(name: str) -> str | None:
    """The delivery a file of the spool stands for, or None when the name is none of ours."""
    found = _NAME.fullmatch(name)
    return found[2] if found is not None else None


def shown_name(name: str) -> str:
    """As text: a file may be called what is none."""
    return name.encode(errors="backslashreplace").decode()


def new_delivery(now: Callable[[], datetime], ids: Ids) -> str:
    """A name nothing else has."""
    return f"{now().astimezone(UTC):%Y%m%dt%H%M%S%f}-{ids.new_id()}"
