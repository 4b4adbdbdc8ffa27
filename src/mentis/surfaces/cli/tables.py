"""Layout of a table in columns that fit; a word (an id, a path, a number) is never broken or cut.

Prose is broken between words. A last column of prose that would become a tower of words hangs below
its row instead; a few rows with words too long for their columns spill over. Where even that does
not fit, every row is a block of its own, a line for each column. Columns that say nothing are left
out. In a pipe a row is one line, however long.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

GAP = "  "
_LEAST_PROSE = 12  # prose in a column narrower than this is a tower of single words
_FAIR_PROSE = 30  # the last column has this much, or hangs
_FEW = 4  # one row in so many may spill out of a grid
_HANG = " " * 6


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows under named columns; numbers stand on the `right`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()


def table_lines(table: TextTable, *, width: int | None, rule: str = "-") -> Iterator[str]:
    """The lines of a table at most `width` wide; None is a pipe, where nothing is broken."""
    if width is None:
        yield from _grid(table, [_widest(table, n) for n in range(len(table.columns))], rule)
        return
    table = _telling(table)
    columns = range(len(table.columns))
    most = [_widest(table, column) for column in columns]
    least = [min(most[column], _narrowest(table, column)) for column in columns]
    spare = width - len(GAP) * (len(most) - 1) - sum(least)
    hanging = width - len(GAP) * (len(most) - 2) - sum(least[:-1])
    if spare >= 0 and least[-1] + spare >= min(most[-1], _FAIR_PROSE):
        yield from _grid(table, _shared(least, most, spare), rule)
    elif len(most) > 1 and hanging >= 0 and any(" " in row[-1] for row in table.rows):
        yield from _hung(table, _shared(least[:-1], most[:-1], hanging), width, rule)
    elif spare >= 0:
        yield from _grid(table, _shared(least, most, spare), rule)
    else:
        yield from _mixed(table, width, rule)


def cell_width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_letter_width(letter) for letter in text)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words; a word wider than the line has a line of its own."""
    if cell_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _mixed(table: TextTable, width: int, rule: str) -> Iterator[str]:
    """A few rows with words too long for a grid spill out of it; many make blocks of all."""
    longest = sorted(table.rows, key=_longest_words, reverse=True)
    for count in range(1, len(longest) // _FEW + 1):
        odd = {id(row) for row in longest[:count]}
        rest = [row for row in table.rows if id(row) not in odd]
        part = TextTable(table.columns, rest, table.right)
        least = [_narrowest(part, column) for column in range(len(table.columns))]
        spare = width - len(GAP) * (len(least) - 1) - sum(least)
        if spare >= 0:
            break
    else:
        yield from _figures(table, width, rule) if table.right else _blocks(table, width)
        return
    most = [_widest(part, column) for column in range(len(table.columns))]
    widths = _shared([min(pair) for pair in zip(least, most, strict=True)], most, spare)
    right = [column in table.right for column in table.columns]
    yield from list(_grid(TextTable(table.columns, (), table.right), widths, rule))
    for row in table.rows:
        if id(row) in odd and all(cell_width(cell) <= width for cell in row):
            yield from _spilled(row, widths, right, width)
        elif id(row) in odd:
            yield from _blocks(TextTable(table.columns, [row]), width)
        else:
            yield from _row_lines(row, widths, right)


def _figures(table: TextTable, width: int, rule: str) -> Iterator[str]:
    """Figures keep their columns: a name too long for what is left has a line of its own."""
    least = [_narrowest(table, column) for column in range(len(table.columns))]
    room = width - sum(least[1:]) - len(GAP) * (len(least) - 1)
    if room < cell_width(table.columns[0]) or max(least) > width:
        yield from _blocks(table, width)
        return
    widths = [room, *least[1:]]
    right = [column in table.right for column in table.columns]
    yield from _grid(TextTable(table.columns, (), table.right), widths, rule)
    for row in table.rows:
        yield from _spilled(row, widths, right, width)


def _spilled(row: Sequence[str], widths: list[int], right: list[bool], width: int) -> Iterator[str]:
    """A row with words too long for its columns: what has no room at its place goes below."""
    line, place = "", 0
    for cell, column, to_right in zip(row, widths, right, strict=True):
        start = place + (column - cell_width(cell) if to_right else 0)
        start = max(0, min(start, width - cell_width(cell)))
        place += column + len(GAP)
        if not cell:
            continue
        if line and start < cell_width(line) + len(GAP):
            yield line
            line = ""
        line += " " * (start - cell_width(line)) + cell
    yield line


def _longest_words(row: Sequence[str]) -> int:
    return sum(max(cell_width(word) for word in cell.split(" ")) for cell in row)


def _telling(table: TextTable) -> TextTable:
    """Without the columns in which no row has anything."""
    places = [n for n in range(len(table.columns)) if any(row[n] for row in table.rows)]
    if not places or len(places) == len(table.columns):
        return table
    rows = [[row[n] for n in places] for row in table.rows]
    return TextTable([table.columns[n] for n in places], rows, table.right)


def _cells(table: TextTable, column: int) -> Iterator[str]:
    yield table.columns[column]
    for row in table.rows:
        yield row[column]


def _widest(table: TextTable, column: int) -> int:
    return max(cell_width(cell) for cell in _cells(table, column))


def _narrowest(table: TextTable, column: int) -> int:
    """No narrower than the longest word, and wide enough to read where there is prose."""
    words = (cell_width(word) for cell in _cells(table, column) for word in cell.split(" "))
    prose = any(" " in row[column] for row in table.rows)
    return max(_LEAST_PROSE if prose else 0, *words)


def _shared(least: list[int], most: list[int], spare: int) -> list[int]:
    """Widths: what is nearly wide enough gets its width first, so that few cells are broken."""
    widths = list(least)
    waiting = sorted(range(len(least)), key=lambda column: most[column] - least[column])
    for place, column in enumerate(waiting):
        more = min(most[column] - least[column], spare // (len(waiting) - place))
        widths[column] += more
        spare -= more
    return widths


def _grid(table: TextTable, widths: list[int], rule: str) -> Iterator[str]:
    right = [column in table.right for column in table.columns]
    yield from _row_lines(table.columns, widths, right)
    yield GAP.join(rule * width for width in widths)
    for row in table.rows:
        yield from _row_lines(row, widths, right)


def _hung(table: TextTable, widths: list[int], width: int, rule: str) -> Iterator[str]:
    """The last cell stands behind its row where it fits there, else below it."""
    *names, last = table.columns
    right = [column in table.right for column in names]
    total = sum(widths) + len(GAP) * (len(widths) - 1)
    *above, head = _row_lines(names, widths, right)
    yield from above
    if total + len(GAP) + cell_width(last) <= width:
        yield f"{head.ljust(total)}{GAP}{last}"
    else:
        yield from (head, _HANG + last)
    yield GAP.join(rule * one for one in widths)
    for row in table.rows:
        lines = _row_lines(row[:-1], widths, right)
        if len(lines) == 1 and total + len(GAP) + cell_width(row[-1]) <= width:
            space = " " * (total - cell_width(lines[0]))
            yield f"{lines[0]}{space}{GAP}{row[-1]}".rstrip()
            continue
        yield from lines
        yield from (_HANG + part for part in wrapped(row[-1], width - len(_HANG)) if part)


def _row_lines(row: Sequence[str], widths: list[int], right: list[bool]) -> list[str]:
    broken = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    return [
        _line([lines[place] if place < len(lines) else "" for lines in broken], widths, right)
        for place in range(max(len(lines) for lines in broken))
    ]


def _line(cells: Sequence[str], widths: list[int], right: list[bool]) -> str:
    parts: list[str] = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        space = " " * (width - cell_width(cell))
        parts.append(space + cell if to_right else cell + space)
    return GAP.join(parts).rstrip()


def _blocks(table: TextTable, width: int) -> Iterator[str]:
    names = max(cell_width(name) for name in table.columns)
    for place, row in enumerate(table.rows):
        if place:
            yield ""
        for name, cell in zip(table.columns, row, strict=True):
            if not cell:
                continue
            head = name + " " * (names - cell_width(name))
            for line in wrapped(cell, max(_LEAST_PROSE, width - names - len(GAP))):
                yield f"{head}{GAP}{line}"
                head = " " * names
