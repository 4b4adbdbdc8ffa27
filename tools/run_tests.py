"""What `make test` runs: the tests in random order on two workers, and what covers the pure rooms.
Those marked `slow` are left to `make slow`.

The pure rooms must be covered to 95 percent, branches included, by their own tests. Only these are
measured, because measuring makes every test half as slow again. `--coverage` measures all of them
and prints every room. With arguments of your own (`python tools/run_tests.py tests/codec -k json`)
they go to pytest and the gate is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/mentis")
FLOOR = 95.0
# A room, or a single module of a room that is not pure as a whole.
PURE = (
    "values",
    "compose",
    "render",
    "settle",
    "facts",
    "codec",
    "ledger/chain.py",
)


# Where the tests of the pure rooms are.
MEASURED = (
    "tests/values",
    "tests/compose",
    "tests/render",
    "tests/settle",
    "tests/facts",
    "tests/codec",
    "tests/ledger/test_chain.py",
    "tests/ledger/test_verify.py",
)
MEASURING = ("--cov", "--cov-report=")
QUICKER = ("-m", "not slow")


@dataclass(slots=True)
class Tally:
    """What can be run and what was: statements and branches, counted alike."""

    possible: int = 0
    covered: int = 0

    def add(self, summary: dict[str, int]) -> None:
        self.possible += summary["num_statements"] + summary["num_branches"]
        self.covered += summary["covered_lines"] + summary["covered_branches"]

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.possible if self.possible else 100.0


def run_pytest(*arguments: str) -> int:
    # One group of tests stays on one worker: whatever loads the model loads it once.
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup"]
    command += ["--inline-snapshot=disable", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def run_all() -> int:
    """Both halves are run, also when the first one fails: whoever reads it wants to see it all."""
    left_out = [f"--ignore={path}" for path in MEASURED]
    measured_half = run_pytest("-q", *QUICKER, *MEASURING, *MEASURED)
    return run_pytest("-q", *QUICKER, *left_out) or measured_half


def measured() -> dict[str, dict[str, int]]:
    """The summary of each module of the package, by its path inside the package."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
        subprocess.run(command, cwd=ROOT, check=True)
        files: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))["files"]
    return {
        Path(name).relative_to(PACKAGE).as_posix(): entry["summary"]
        for name, entry in files.items()
    }


def tally_rooms(modules: dict[str, dict[str, int]]) -> dict[str, Tally]:
    rooms: defaultdict[str, Tally] = defaultdict(Tally)
    for module, summary in modules.items():
        rooms[module.split("/", 1)[0]].add(summary)
        if module in PURE:
            rooms[module].add(summary)
        rooms["all"].add(summary)
    return dict(rooms)


def too_low(rooms: dict[str, Tally]) -> list[str]:
    return [
        f"{name}: not measured at all; is it still there?"
        if name not in rooms
        else f"{name}: {rooms[name].percent:.1f} percent covered, {FLOOR:.0f} is the floor"
        for name in PURE
        if name not in rooms or rooms[name].percent < FLOOR
    ]


def print_table(rooms: dict[str, Tally]) -> None:
    print("\nroom                covered   (statements and branches; * is a pure room)")
    for name, tally in sorted(rooms.items(), key=lambda item: (item[0] == "all", item[0])):
        mark = "*" if name in PURE else " "
        print(f"{mark} {name:<18}{tally.percent:6.1f} %   {tally.covered} of {tally.possible}")


def main(arguments: list[str]) -> int:
    everything = arguments == ["--coverage"]
    if arguments and not everything:
        return run_pytest(*arguments)
    (ROOT / ".coverage").unlink(missing_ok=True)  # of an earlier run
    failed = run_pytest("-q", *QUICKER, *MEASURING) if everything else run_all()
    if not (ROOT / ".coverage").exists():
        return failed or 1
    rooms = tally_rooms(measured())
    print_table(rooms if everything else {name: rooms[name] for name in PURE if name in rooms})
    problems = too_low(rooms)
    for problem in problems:
        print(f"coverage: {problem}", file=sys.stderr)
    return 1 if failed or problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
