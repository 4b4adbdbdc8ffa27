"""Runs the tests nearest to a change, in under a minute: `make quick`, while you work.

The change is what differs from the last commit; if nothing does, the last commit itself. The import
graph says which test files are near it. The nearest few run first, then those of the architecture,
then the others until the time is over. Tests marked `slow` or `model` are left to the longer runs.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = "tests/architecture"
SECONDS = 40.0  # starting and collecting take some more
NEAREST = 10
MOST_FILES = 80  # each is loaded, by both workers, before the first test runs
# Through these modules everything is near everything.
DOORS = (
    "mentis",
    "mentis.testing",
    "mentis.recording",
    "mentis.models",
    "mentis.homes",
    "mentis.logs",
)


def changed_files() -> list[str]:
    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
        return [name for name in done.stdout.split("\0") if name]

    changed = git("diff", "-z", "--name-only", "HEAD")
    changed += git("ls-files", "-z", "--others", "--exclude-standard")
    return changed or git("diff", "-z", "--name-only", "HEAD~1")


def module_of(path: str, modules: Iterable[str]) -> str | None:
    """The module of a file of the package; for data, the package that it lies in."""
    where = Path(path)
    if where.parts[:1] != ("src",):
        return None
    parts = where.with_suffix("").parts[1:] if where.suffix == ".py" else where.parent.parts[1:]
    known = set(modules)
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in known), None)


def doors() -> dict[str, str]:
    """Where the names are at home that the package root and its public modules hand out."""
    found: dict[str, str] = {}
    for door in ("__init__.py", "testing.py", "recording.py", "models.py"):
        for node in ast.walk(ast.parse((ROOT / "src/mentis" / door).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                found |= {name.name: f"mentis.{node.module}" for name in node.names}
    return found


def imported(source: str, modules: Iterable[str], homes: Mapping[str, str]) -> set[str]:
    """The modules of the package that a test file imports, at its top or further down."""
    found: set[str] = set()
    known = set(modules)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                at_home = homes.get(name.name) if node.module in DOORS else None
                found.add(inner if inner in known else at_home or node.module)
    return found & known


def ranks(
    changed: Iterable[str], tests: Mapping[str, set[str]], graph: grimp.ImportGraph
) -> dict[str, int]:
    """How far each test file is from the change; those that are too far are not in it.

    0: it changed itself. 1: it imports what changed, has its name, or a helper beside it changed.
    2: it imports what imports that. 3: it tests the same room.
    """
    changed = set(changed)
    modules = {module for path in changed if (module := module_of(path, graph.modules))}
    users = (graph.find_modules_that_directly_import(module) for module in modules)
    above = set[str]().union(*users) - set(DOORS)
    helped = {str(Path(path).parent) for path in changed - tests.keys()} - {"tests"}
    sources = [Path(path) for path in changed if path.startswith("src/")]
    mirrors = {str(Path("tests", *one.parts[2:-1], f"test_{one.stem}.py")) for one in sources}
    rooms = {"/".join(("tests", *module.split(".")[1:2])) for module in modules - set(DOORS)}
    found: dict[str, int] = {}
    for test, imports in tests.items():
        folder = str(Path(test).parent)
        if test in changed:
            found[test] = 0
        elif imports & modules or test in mirrors or folder in helped:
            found[test] = 1
        elif imports & above:
            found[test] = 2
        elif any(f"{folder}/".startswith(f"{room}/") for room in rooms):
            found[test] = 3
    return found


class Budget:
    """Ends the run when the time is over, and knows which files had begun."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.begun: set[str] = set()
        self.failed = self.over = False

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._workers: Any = session.config.pluginmanager.getplugin("dsession")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.begun.add(report.nodeid.partition("::")[0])
        self.failed |= report.failed
        if time.monotonic() > self._end:
            self.over = True
            self._workers.shouldstop = "the time is over"


def order(near: Mapping[str, int], always: Sequence[str]) -> list[str]:
    """The nearest few, then what always runs, then the others, nearest first."""
    nearest = sorted(near, key=lambda name: (near[name], name))
    return [*nearest[:NEAREST], *always, *nearest[NEAREST:]]


def main() -> int:
    graph, homes = grimp.build_graph("mentis"), doors()
    files = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/**/test_*.py"))]
    always = [name for name in files if name.startswith(ALWAYS)]
    sources = {name: (ROOT / name).read_text("utf-8") for name in files if name not in always}
    tests = {name: imported(text, graph.modules, homes) for name, text in sources.items()}
    wanted = order(ranks(changed_files(), tests, graph), always)
    print(f"{len(wanted) - len(always)} of {len(tests)} test files are near it", file=sys.stderr)
    budget = Budget(SECONDS)
    flags = ["-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "-p", "no:randomly"]
    flags += ["--inline-snapshot=disable", "-m", "not slow and not model"]
    code = pytest.main([*flags, *wanted[:MOST_FILES]], plugins=[budget])
    for name in [name for name in wanted if name not in budget.begun]:
        print(f"left out: {name}", file=sys.stderr)
    return int(budget.failed) if budget.over else int(code)


if __name__ == "__main__":
    sys.exit(main())
