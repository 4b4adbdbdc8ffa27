"""Makes the index of many vectors in a thread of its own; until it is there, all are looked at."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread

from mentis.errors import StoreError
from mentis.recall.memory.beside_stored import StoredMemoryIndex
from mentis.recall.memory.cells import Cells, planned_size
from mentis.recall.memory.cells_plan import ENOUGH, plan
from mentis.recall.memory.index import MemoryIndex
from mentis.recall.memory.matrix import Matrix

_MAKING = "an index is being made; until it is there, all vectors are looked at"


class CellMaker:
    """`lock` is held by whoever searches or changes the index that cells are made for."""

    def __init__(self, lock: Lock, exact_up_to: int) -> None:
        self._lock = lock
        self._exact_up_to = exact_up_to
        self._stopped = Event()
        self._thread: Thread | None = None
        self._index: MemoryIndex | None = None
        self._size = 0

    def look_after(self, index: MemoryIndex) -> None:
        """Start making cells if this index needs other ones than it has. The lock is held."""
        matrix = index.matrix
        size = 0 if matrix is None else planned_size(len(matrix), self._exact_up_to)
        if matrix is None or not size or (index is self._index and size == self._size):
            return
        if self._thread is not None and self._thread.is_alive():
            if index is not self._index:  # what is being made is of no use to anybody
                self._stopped.set()
            return
        self._index, self._size = index, size
        if index.cells is None:
            index.note = _MAKING
        self._stopped = Event()
        self._thread = Thread(target=self._make, args=(index, matrix, size, self._stopped))
        self._thread.start()

    def look_after_stored(
        self, index: StoredMemoryIndex, done: Callable[[StoredMemoryIndex], None]
    ) -> None:
        """The same for vectors in a file, which is written anew; then `done`. The lock is held."""
        stored = index.stored
        size = planned_size(index.vectors, self._exact_up_to)
        rows = len(stored.matrix)
        if stored.cells is not None or not size or rows < size or index.note:
            return
        if self._thread is not None and self._thread.is_alive():
            return
        index.note = _MAKING
        self._stopped = Event()
        given = (index, size, self._stopped, done)
        self._thread = Thread(target=self._make_stored, args=given)
        self._thread.start()

    def _make_stored(
        self,
        index: StoredMemoryIndex,
        size: int,
        stopped: Event,
        done: Callable[[StoredMemoryIndex], None],
    ) -> None:
        planned = plan(index.stored.matrix.rows[:size], stopped.is_set)
        if planned is None:
            return
        if planned.recall < ENOUGH:
            with self._lock:
                index.note = _too_even(planned.recall)
            return
        with self._lock:
            if stopped.is_set() or not index.stored.current:
                return
            try:
                index.stored.with_cells(planned)
            except StoreError as error:
                index.note = error.message
                return
            done(index)

    def wait(self) -> None:
        """Until nothing is being made. The lock is not held."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self._stopped.set()
        self.wait()

    def _make(self, index: MemoryIndex, matrix: Matrix, size: int, stopped: Event) -> None:
        replaced = matrix.replaced
        planned = plan(matrix.rows[:size], stopped.is_set)
        if planned is None:
            return
        if planned.recall < ENOUGH:
            with self._lock:
                index.note = _too_even(planned.recall)
            return
        sorted_rows = matrix.reorder(planned.order)
        with self._lock:
            if stopped.is_set() or index.matrix is not matrix or matrix.replaced != replaced:
                return
            sorted_rows.follow(matrix, size)
            index.use(Cells(sorted_rows, planned))


def _too_even(recall: float) -> str:
    return (
        f"an index would find {recall:.0%} of the ten nearest, which is not enough:"
        " all vectors are looked at"
    )
