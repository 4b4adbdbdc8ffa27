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

from .harness import REGISTERED, Benchmark, Result, Spread, measure

MODULES = ("startup", "prompt", "library", "render", "settle")
RESULTS = Path(__file__).parent / "results"
FULL_TIMES = 5


def chosen_benchmarks(names: Sequence[str]) -> list[Benchmark]:
    """All of them, or those whose name contains one of the words given."""
    for module in MODULES:
        import_module(f"bench.{module}")
    everything = list(REGISTERED.values())
    if not names:
        return everything
    return [one for one in everything if any(name in one.name for name in names)]


def table_of(results: Sequence[Result]) -> Table:
    table = Table(title="processor time, as a ratio to the baseline of the same run")
    table.add_column("benchmark")
    table.add_column("against")
    for column in ("time", "baseline", "ratio", "middle half", "rounds", "gate"):
        table.add_column(column, justify="right")
    for result in results:
        table.add_row(
            result.name,
            result.against,
            _seconds(result.candidate.cpu),
            _seconds(result.baseline.cpu),
            f"{result.ratio.median:.2f}",
            f"{result.ratio.low:.2f} to {result.ratio.high:.2f}",
            str(result.rounds),
            _gate(result),
        )
    return table


def _seconds(spread: Spread) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if spread.median >= size:
            return f"{spread.median / size:.3g} {unit}"
    return f"{spread.median / 1e-6:.3g} us"


def _gate(result: Result) -> str:
    if result.gate is None:
        return "-"
    return f"{'ok' if result.within_gate else 'over'} ({result.gate:g})"


def keep(results: Sequence[Result], file: Path | None) -> None:
    if file:
        _write(file, [_plain(result) for result in results])
        return
    RESULTS.mkdir(exist_ok=True)
    for result in results:
        name = re.sub(r"\W+", "-", result.name).strip("-")
        _write(RESULTS / f"{name}.json", _plain(result))


def _plain(result: Result) -> dict[str, object]:
    return {**asdict(result), "within_gate": result.within_gate}


def _write(file: Path, data: object) -> None:
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only those with this in the name")
    parser.add_argument("--full", action="store_true", help="five times as many rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to one file")
    options = parser.parse_args(arguments)
    console = Console()
    console.width = max(console.width, 110)  # a narrow table says nothing
    chosen = chosen_benchmarks(options.names)
    if not chosen:
        parser.error(f"no benchmark is called so; there are: {', '.join(REGISTERED)}")
    results: list[Result] = []
    for one in chosen:
        print(f"measuring {one.name}", file=sys.stderr)
        results.append(measure(one, times=FULL_TIMES if options.full else 1))
    console.print(table_of(results))
    keep(results, options.json)
    return 0 if all(result.within_gate for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
