"""`python -m bench [--full] [--json FILE] [NAME...]`: measure, print a table, keep the figures."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .harness import (
    REGISTERED,
    WEIGHTS,
    Benchmark,
    Figure,
    Result,
    Spread,
    Timing,
    Weight,
    measure,
    summed_up,
    weighed,
)

MODULES = (
    "startup",
    "prompt",
    "library",
    "lore",
    "history",
    "render",
    "peers",
    "settle",
    "ledger",
    "act",
    "doctor",
    "tick",
    "turn",
    "sessions",
    "size",
    "serve",
    "studio",
    "memory",
    "screening",
    "selection",
    "assemble",
)
RESULTS = Path(__file__).parent / "results"
FULL_TIMES = 5


def chosen_benchmarks(
    names: Sequence[str], *, full: bool = False
) -> tuple[list[Benchmark], list[Weight]]:
    """All of them, or those whose name contains one of the words given; slow ones when full."""
    for module in MODULES:
        import_module(f"bench.{module}")

    def wanted(one: Benchmark | Weight) -> bool:
        return (full or not one.slow) and (not names or any(name in one.name for name in names))

    return list(filter(wanted, REGISTERED.values())), list(filter(wanted, WEIGHTS.values()))


def table_of(results: Sequence[Result]) -> Table:
    table = Table(
        title="processor time (or time passed: wall), as a ratio to the baseline of the same run"
    )
    table.add_column("benchmark")
    table.add_column("against")
    for column in ("time", "baseline", "ratio", "middle half", "rounds", "gate"):
        table.add_column(column, justify="right")
    for result in results:
        table.add_row(
            result.name,
            result.against,
            _time(result, result.candidate),
            _time(result, result.baseline),
            f"{result.ratio.median:.2f}",
            f"{result.ratio.low:.2f} to {result.ratio.high:.2f}",
            str(result.rounds),
            _gate(result),
        )
    return table


def table_of_figures(figures: Sequence[Figure]) -> Table:
    table = Table(title="medians of the ratios above, and shares: bytes to bytes, missed to wanted")
    table.add_column("figure")
    table.add_column("against")
    table.add_column("ratio", justify="right")
    table.add_column("gate", justify="right")
    for figure in figures:
        table.add_row(figure.name, figure.against, f"{figure.ratio:.3f}", _gate(figure))
    return table


def _time(result: Result, timing: Timing) -> str:
    if result.clock == "wall":
        return f"{_seconds(timing.wall)} wall"
    return _seconds(timing.cpu)


def _seconds(spread: Spread) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if spread.median >= size:
            return f"{spread.median / size:.3g} {unit}"
    return f"{spread.median / 1e-6:.3g} us"


def _gate(result: Result | Figure) -> str:
    if result.gate is None:
        return "-"
    return f"{'ok' if result.within_gate else 'over'} ({result.gate:g})"


def keep(results: Sequence[Result | Figure], file: Path | None) -> None:
    if file:
        _write(file, [_plain(result) for result in results])
        return
    RESULTS.mkdir(exist_ok=True)
    for result in results:
        name = re.sub(r"\W+", "-", result.name).strip("-")
        _write(RESULTS / f"{name}.json", _plain(result))


def _plain(result: Result | Figure) -> dict[str, object]:
    return {**asdict(result), "within_gate": result.within_gate}


def _write(file: Path, data: object) -> None:
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only those with this in the name")
    parser.add_argument(
        "--full", action="store_true", help="five times as many rounds, and what takes long"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to one file")
    options = parser.parse_args(arguments)
    console = Console()
    console.width = max(console.width, 110)  # a narrow table says nothing
    chosen, weights = chosen_benchmarks(options.names, full=options.full)
    if not chosen and not weights:
        there = ", ".join((*REGISTERED, *WEIGHTS))
        parser.error(f"no benchmark is called so; there are: {there}")
    results: list[Result] = []
    for one in chosen:
        print(f"measuring {one.name}", file=sys.stderr)
        results.append(measure(one, times=FULL_TIMES if options.full else 1))
    figures = [*summed_up(results), *map(weighed, weights)]
    console.print(table_of(results))
    if figures:
        console.print(table_of_figures(figures))
    everything = (*results, *figures)
    keep(everything, options.json)
    return 0 if all(one.within_gate for one in everything) else 1


if __name__ == "__main__":
    sys.exit(main())
