"""The index of many memories as one file: words, vectors and who may be found, mapped from disk.

It holds no text that is not in the store, is made from it and is never believed against it: whoever
opens one compares it first. A search reads the postings of its own words and the cells nearest to
its vector; the rest stays on the disk. What changed since it was made is searched beside it.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args, overload

from mentis.disk.atomic import write_atomic
from mentis.errors import StoreDamaged
from mentis.recall.lexical import terms
from mentis.values.cognition import Memory
from mentis.values.json import JsonObject
from mentis.values.memories import MemoryFilter, MemoryStanding
from mentis.values.memory_kind import PRIVATE_KINDS, MemoryKind

from .cells import Cells
from .cells_plan import CellPlan
from .choosing import asks_for_private
from .matrix import Matrix, load_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Change: TypeAlias = tuple[str, int, str]  # a memory, the revision it changed at, its text's digest

_MAGIC = b"mentis memory index 1\n"
_ALIGNED = 64
_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
_QUARANTINED, _SUPERSEDED = 1, 2
_TAG = "\x1f"  # before a tag among the words; no word has it
_TEXTS = ("scope", "source", "session", "time")
_PIECE = 4096  # rows that are written at a time


@dataclass(frozen=True, slots=True)
class IndexOrigin:
    """What an index was made of. `newest` are the last changes among it: a store that has others
    in their place has another past.
    """

    agent: str
    fingerprint: str
    standing: MemoryStanding
    newest: tuple[Change, ...]
    newest_vectors: tuple[tuple[str, int], ...] = ()


class TextColumn(Sequence[str]):
    """Texts one behind the other, and where each ends."""

    def __init__(self, data: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self._data = data
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        start, end = int(self._ends[place]), int(self._ends[place + 1])
        return self._data[start:end].tobytes().decode("utf-8", "surrogatepass")

    def place(self, text: str) -> int | None:
        """Where it stands, among texts in order."""
        found = bisect_left(self, text)
        return found if found < len(self) and self[found] == text else None


class StoredIndex:
    """An open file. StoreDamaged where it is none of ours, or not whole."""

    def __init__(self, path: Path) -> None:
        np = load_numpy()
        self.path = path
        try:
            with path.open("rb") as file:
                self._opened = os.fstat(file.fileno())
                head, start = _read_head(file.read(len(_MAGIC) + 8), file.read)
                data = np.memmap(file, dtype=np.uint8, mode="r").view(np.ndarray)
        except (OSError, ValueError) as error:
            raise _damaged(path) from error
        self._data = data
        self._head = head
        self._start = start
        try:
            self.origin = _origin(head)
            self.ids = TextColumn(self._array("ids"), self._array("id_ends"))
            self._words = TextColumn(self._array("words"), self._array("word_ends"))
            self._postings = self._array("postings")
            self._places = self._array("places")
            self._times = self._array("times")
            self.lengths = self._array("lengths")
            self._kinds = self._array("kinds")
            self._worths = self._array("worths")
            self._states = self._array("states")
            self.row_places: NDArray[np.uint32] = self._array("row_places")
            self._place_rows = self._array("place_rows")
            self._timed: tuple[tuple[int, str, str], ...] = tuple(map(tuple, head["timed"]))
            rows = self._array("rows")
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(path) from error
        self.total_length = int(self.lengths.sum())
        self.matrix = MappedMatrix(rows, self)
        self.cells = self._planned()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def current(self) -> bool:
        """Whether the file is still the one that was opened."""
        try:
            return os.path.samestat(self.path.stat(), self._opened)
        except OSError:
            return False

    @property
    def timed(self) -> bool:
        """Whether any of them holds for a while only."""
        return bool(self._timed)

    def row(self, place: int) -> int | None:
        """Which vector is that of the memory at this place."""
        found = int(self._place_rows[place])
        return None if found < 0 else found

    def holders(self, word: str) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """The places of those that say a word, and how often each does."""
        where = self._words.place(word)
        if where is None:
            return self._places[:0], self._times[:0]
        start, end = int(self._postings[where]), int(self._postings[where + 1])
        places = self._places[start:end]
        if len(places) and int(places.max()) >= len(self):
            raise _damaged(self.path)
        return places, self._times[start:end]

    def allowed(self, wanted: MemoryFilter, now: str) -> NDArray[np.bool_]:
        """One truth value for each place, as `why_not` decides it."""
        np = load_numpy()
        refused = 0 if wanted.superseded else _SUPERSEDED
        found = (self._states & (_QUARANTINED | refused)) == 0
        kinds = set(wanted.kinds or _KINDS)
        if not asks_for_private(wanted):
            kinds -= PRIVATE_KINDS
        of_kind = np.array([kind in kinds for kind in _KINDS], dtype=bool)
        found &= of_kind[self._kinds]
        found &= self._worths <= wanted.trust.rank
        for name, chosen in (
            ("scope", wanted.scopes),
            ("source", wanted.sources),
            ("session", (wanted.session,) if wanted.session else ()),
        ):
            if chosen:
                found &= self._has(name, chosen)
        for tag in wanted.tags:
            with_tag = np.zeros(len(self), dtype=bool)
            with_tag[self.holders(_TAG + tag)[0]] = True
            found &= with_tag
        if wanted.since or wanted.until:
            texts, numbers = self._column("time")
            inside = [
                (not wanted.since or one >= wanted.since)
                and (not wanted.until or one <= wanted.until)
                for one in texts
            ]
            found &= np.array(inside, dtype=bool)[numbers]
        if not wanted.expired:
            for place, since, until in self._timed:
                if (since and since > now) or (until and now >= until):
                    found[place] = False
        return cast("NDArray[np.bool_]", found)

    def _has(self, name: str, chosen: Sequence[str]) -> NDArray[np.bool_]:
        """Of which memories a column has one of these texts."""
        texts, numbers = self._column(name)
        places = [place for one in chosen if (place := texts.place(one)) is not None]
        return cast("NDArray[np.bool_]", load_numpy().isin(numbers, places))

    def _column(self, name: str) -> tuple[TextColumn, NDArray[np.uint32]]:
        texts = TextColumn(self._array(f"{name}_texts"), self._array(f"{name}_ends"))
        return texts, self._array(name)

    def of_kind(self, kind: MemoryKind) -> list[int]:
        """The places of those of one kind."""
        return (self._kinds == _KINDS.index(kind)).nonzero()[0].tolist()

    def quarantined(self) -> Iterator[int]:
        yield from (self._states & _QUARANTINED).nonzero()[0].tolist()

    def with_cells(self, plan: CellPlan) -> None:
        """Write it anew, its vectors cell after cell. This one stays as it was."""
        np = load_numpy()
        count = len(self.row_places)
        order = np.concatenate([plan.order, np.arange(plan.size, count)]).astype(np.intp)
        row_places = self.row_places[order]
        place_rows = np.full(len(self), -1, dtype=np.int32)
        place_rows[row_places] = np.arange(count, dtype=np.int32)
        arrays = {name: self._array(name) for name in self._head["arrays"] if name != "rows"}
        arrays |= {"row_places": row_places, "place_rows": place_rows}
        arrays |= {"centres": plan.centres, "starts": plan.starts.astype(np.int64)}
        head = {**self._head, "budget": plan.budget, "recall": plan.recall, "planned": plan.size}
        _write(self.path, head, arrays, rows=lambda: _taken(self.matrix.rows, order))

    def _planned(self) -> Cells | None:
        if "planned" not in self._head:
            return None
        np, size = load_numpy(), int(self._head["planned"])
        plan = CellPlan(
            self._array("centres"),
            np.arange(size),
            self._array("starts"),
            int(self._head["budget"]),
            float(self._head["recall"]),
        )
        return Cells(self.matrix, plan)

    def _array(self, name: str) -> Any:  # noqa: ANN401 - of any kind of number
        kind, shape, offset = self._head["arrays"][name]
        np = load_numpy()
        size = np.dtype(kind).itemsize
        for length in shape:
            size *= length
        begin = self._start + offset
        if begin + size > len(self._data):
            raise _damaged(self.path)
        return self._data[begin : begin + size].view(kind).reshape(shape)


class MappedMatrix(Matrix):
    """Vectors that lie in the file, in its order."""

    def __init__(self, rows: Floats, of: StoredIndex) -> None:
        super().__init__()
        self._of = of
        self._room = self._rows = rows
        self.ids = cast("list[str]", _RowIds(of))

    def place(self, name: str) -> int | None:
        place = self._of.ids.place(name)
        return None if place is None else self._of.row(place)

    def __contains__(self, memory_id: str) -> bool:
        return self.place(memory_id) is not None


class _RowIds(Sequence[str]):
    """Which memory each vector is of."""

    def __init__(self, of: StoredIndex) -> None:
        self._of = of

    def __len__(self) -> int:
        return len(self._of.row_places)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return self._of.ids[int(self._of.row_places[place])]


class IndexWriter:
    """Takes memories in the order of their ids, then their vectors, and writes the file."""

    def __init__(self) -> None:
        self._np: Any = load_numpy()
        self._ids: list[bytes] = []
        self._words: dict[str, int] = {}
        self._said: list[NDArray[np.uint32]] = []
        self._counts: list[NDArray[np.uint16]] = []
        self._distinct: list[int] = []
        self._columns = bytearray(), bytearray(), bytearray()
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._lengths: list[int] = []
        self._timed: list[tuple[int, str, str]] = []

    def add(self, memories: Iterable[Memory]) -> None:
        np, words = self._np, self._words
        kinds, worths, states = self._columns
        numbers, times = list[int](), list[int]()
        for memory in memories:
            if memory.valid_from or memory.valid_until:
                self._timed.append((len(self._ids), memory.valid_from, memory.valid_until))
            self._ids.append(memory.id.encode("utf-8", "surrogatepass"))
            kinds.append(_KINDS.index(memory.kind))
            worths.append(memory.worth.rank)
            superseded = _SUPERSEDED if memory.superseded_by else 0
            states.append((_QUARANTINED if memory.quarantined else 0) | superseded)
            for name, values in self._texts.items():
                values.append(getattr(memory, name))
            counts = Counter(terms(memory.text))
            self._lengths.append(counts.total())
            counts.update({_TAG + tag: 1 for tag in dict.fromkeys(memory.tags)})
            self._distinct.append(len(counts))
            numbers += [words.setdefault(word, len(words)) for word in counts]
            times += counts.values()
        self._said.append(np.array(numbers, dtype=np.uint32))
        self._counts.append(np.array(times, dtype=np.uint16))

    def write(
        self, path: Path, origin: IndexOrigin, vectors: Sequence[str], rows: Iterable[Floats]
    ) -> None:
        """`vectors` says whose each of the rows is; `rows` come in pieces, of length 1."""
        np = self._np
        pieces = iter(rows)
        first = next(pieces, np.empty((0, 0), dtype=np.float32))
        places = {name: place for place, name in enumerate(self._ids)}
        row_places = np.array([places[name.encode("utf-8", "surrogatepass")] for name in vectors])
        row_places = row_places.astype(np.uint32)
        place_rows = np.full(len(self._ids), -1, dtype=np.int32)
        place_rows[row_places] = np.arange(len(row_places), dtype=np.int32)
        arrays = {
            **_text_arrays("ids", "id_ends", self._ids),
            **self._word_arrays(),
            "lengths": np.array(self._lengths, dtype=np.int32),
            **{
                name: np.frombuffer(bytes(column), dtype=np.uint8)
                for name, column in zip(("kinds", "worths", "states"), self._columns, strict=True)
            },
            **self._text_columns(),
            "row_places": row_places,
            "place_rows": place_rows,
        }
        head: JsonObject = {
            "agent": origin.agent,
            "fingerprint": origin.fingerprint,
            "revision": origin.standing.revision,
            "forgotten": origin.standing.forgotten,
            "newest": [list(one) for one in origin.newest],
            "newest_vectors": [list(one) for one in origin.newest_vectors],
            "timed": [list(one) for one in self._timed],
            "rows": [len(row_places), int(first.shape[1])],
        }

        def every() -> Iterator[Floats]:
            yield first
            yield from pieces

        _write(path, dict(head), arrays, rows=every)

    def _word_arrays(self) -> dict[str, Any]:
        """Postings, word after word; those of a word in the order of their places."""
        np = self._np
        ordered = sorted(self._words)
        rank = np.empty(len(ordered), dtype=np.int64)
        for place, word in enumerate(ordered):
            rank[self._words[word]] = place
        said = np.concatenate(self._said) if self._said else np.empty(0, dtype=np.uint32)
        times = np.concatenate(self._counts) if self._counts else np.empty(0, dtype=np.uint16)
        places = np.repeat(np.arange(len(self._ids), dtype=np.uint32), self._distinct)
        numbers = rank[said]
        order = np.argsort(numbers, kind="stable")
        starts = np.zeros(len(ordered) + 1, dtype=np.int64)
        np.cumsum(np.bincount(numbers, minlength=len(ordered)), out=starts[1:])
        words = [word.encode("utf-8", "surrogatepass") for word in ordered]
        return {
            **_text_arrays("words", "word_ends", words),
            "postings": starts,
            "places": places[order],
            "times": times[order],
        }

    def _text_columns(self) -> dict[str, Any]:
        """Each text once, in order, and which of them a memory has."""
        np, made = self._np, dict[str, Any]()
        for name, values in self._texts.items():
            every = sorted(set(values))
            number = {text: place for place, text in enumerate(every)}
            coded = [text.encode("utf-8", "surrogatepass") for text in every]
            made |= _text_arrays(f"{name}_texts", f"{name}_ends", coded)
            made[name] = np.array([number[text] for text in values], dtype=np.uint32)
        return made


def _text_arrays(name: str, ends: str, texts: Sequence[bytes]) -> dict[str, Any]:
    np = load_numpy()
    where = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=where[1:])
    return {name: np.frombuffer(b"".join(texts), dtype=np.uint8), ends: where}


def _write(path: Path, head: dict[str, Any], arrays: dict[str, Any], *, rows: Any) -> None:  # noqa: ANN401 - pieces of arrays
    """Head, arrays and at last the vectors, each at an even place."""
    np = load_numpy()
    count, dimension = head["rows"]
    listed: dict[str, tuple[str, list[int], int]] = {}
    offset = 0
    for name, array in arrays.items():
        listed[name] = (array.dtype.str, list(array.shape), offset)
        offset += array.nbytes + -array.nbytes % _ALIGNED
    listed["rows"] = ("<f4", [count, dimension], offset)
    written = {name: arrays[name] for name in listed if name != "rows"}
    told = json.dumps({**head, "arrays": listed}).encode()
    told += b" " * (-(len(_MAGIC) + 8 + len(told)) % _ALIGNED)

    def pieces() -> Iterator[bytes]:
        yield _MAGIC + len(told).to_bytes(8, "little") + told
        for array in written.values():
            yield np.ascontiguousarray(array).tobytes()
            yield b"\0" * (-array.nbytes % _ALIGNED)
        for piece in rows():
            yield np.ascontiguousarray(piece, dtype="<f4").tobytes()

    write_atomic(path, pieces())


def _taken(rows: Floats, order: NDArray[np.intp]) -> Iterator[Floats]:
    for start in range(0, len(order), _PIECE):
        yield rows[order[start : start + _PIECE]]


def _read_head(first: bytes, read: Any) -> tuple[dict[str, Any], int]:  # noqa: ANN401 - of a file
    if not first.startswith(_MAGIC):
        raise ValueError
    size = int.from_bytes(first[len(_MAGIC) :], "little")
    told: object = json.loads(read(size))
    if not isinstance(told, dict):
        raise TypeError
    return cast("dict[str, Any]", told), len(first) + size


def _origin(head: dict[str, Any]) -> IndexOrigin:
    return IndexOrigin(
        head["agent"],
        head["fingerprint"],
        MemoryStanding(int(head["revision"]), int(head["forgotten"])),
        tuple((name, at, text) for name, at, text in head["newest"]),
        tuple((name, at) for name, at in head["newest_vectors"]),
    )


def wipe(path: Path) -> None:
    """Let the file go, and what was in it with it."""
    try:
        with path.open("r+b") as file:
            left = os.fstat(file.fileno()).st_size
            while left > 0:
                left -= file.write(b"\0" * min(left, 1 << 20))
            file.flush()
            os.fsync(file.fileno())
        path.unlink(missing_ok=True)
    except FileNotFoundError:
        return


def _damaged(path: Path) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is not an index of memories, or not whole",
        hint="it is made anew from the database; nothing is lost",
        path=str(path),
    )
