"""Counting queries over the entries of one agent. Nothing in the tables is trusted as it is read.

Bodies are never touched: source and kind stand before them in the row, and the numbers of the
entries are an index of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mentis.values.tally import Tally

from .rows import Row, damaged_cell

GROUPS = "SELECT source, kind, count(*) FROM ledger WHERE agent = ? GROUP BY source, kind"
TIMES = """
SELECT (SELECT time FROM ledger WHERE agent = ? ORDER BY idx LIMIT 1),
    (SELECT time FROM ledger WHERE agent = ? ORDER BY idx DESC LIMIT 1)
"""
SPAN = "SELECT count(*), min(idx), max(idx) FROM ledger WHERE agent = ?"
GAPS = """
SELECT before + 1, idx - 1
FROM (SELECT idx, lag(idx) OVER (ORDER BY idx) AS before FROM ledger WHERE agent = ?) AS steps
WHERE idx > before + 1 ORDER BY idx
"""


def to_tally(groups: Sequence[Row], times: Row) -> Tally:
    sources, kinds = Counter[str](), Counter[str]()
    for source, kind, count in groups:
        sources[_text(source, "source")] += count
        kinds[_text(kind, "kind")] += count
    oldest, newest = (None if time is None else _text(time, "time") for time in times)
    return Tally(
        sources.total(), oldest, newest, dict(sorted(sources.items())), dict(sorted(kinds.items()))
    )


def is_whole(count: int, first: object, last: object) -> bool:
    """Whether as many entries are kept as their numbers say."""
    if not count:
        return True
    return _index(last) - _index(first) + 1 == count


def check_gaps(rows: Sequence[Row]) -> tuple[tuple[int, int], ...]:
    return tuple((_index(first), _index(last)) for first, last in rows)


def _index(cell: object) -> int:
    if type(cell) is not int:
        raise damaged_cell(cell, "idx", f"it holds {type(cell).__name__}")
    return cell


def _text(cell: object, column: str) -> str:
    if isinstance(cell, str):
        return cell
    raise damaged_cell("?", column, f"it holds {type(cell).__name__}")
