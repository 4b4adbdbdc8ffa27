"""Weigh what `pip install mentis` brings, distribution by distribution.

Without a word: what the core of this environment weighs, by its own metadata. `--fresh` builds the
wheel, installs it with the hashed lock into a new environment and weighs that. Files are counted as
the wheels bring them; the bytecode that Python makes of them is counted apart.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 45  # megabytes
_MEGA = 1_000_000


@dataclass(frozen=True, slots=True)
class DistributionSize:
    name: str
    size: int  # bytes
    bytecode: int


def core_sizes() -> list[DistributionSize]:
    """The project and all it needs without extras, as they are installed here; the heaviest first.

    The project itself is read from where it stands, as it may be installed from there.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    own = _weigh_files("mentis", (ROOT / "src" / "mentis").rglob("*"))
    needed = [
        _weigh_installed(distribution(name))
        for name in needed_distributions(settings["project"]["dependencies"])
    ]
    return sorted([own, *needed], key=lambda one: -one.size)


def needed_distributions(requirements: Iterable[str]) -> list[str]:
    """Names of those, and of what they need in turn, on this machine."""
    found: set[str] = set()
    waiting = [*requirements]
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if applies and name not in found:
            found.add(name)
            waiting += distribution(name).requires or ()
    return sorted(found)


def fresh_sizes(lock: str) -> list[DistributionSize]:
    """The same of a new environment, made from the wheel and the lock."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, str(ROOT))
        (wheel,) = place.glob("*.whl")
        venv.create(place / "env", with_pip=False)
        there = ("--python", str(place / "env"), "install")
        _pip(*there, "--no-deps", "--require-hashes", "-r", str(ROOT / "locks" / lock))
        _pip(*there, "--no-deps", str(wheel))
        paths = [str(path) for path in (place / "env").rglob("site-packages")]
        found = [_weigh_installed(one) for one in distributions(path=paths)]
    return sorted(found, key=lambda one: -one.size)


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True)


def _weigh_installed(found: Distribution) -> DistributionSize:
    files = (Path(str(found.locate_file(file))) for file in found.files or ())
    return _weigh_files(canonicalize_name(found.name), files)


def _weigh_files(name: str, files: Iterable[Path]) -> DistributionSize:
    size = bytecode = 0
    for path in files:
        if path.suffix == ".pyc":
            bytecode += path.stat().st_size if path.exists() else 0
        elif path.is_file():
            size += path.stat().st_size
    return DistributionSize(name, size, bytecode)


def total_megabytes(sizes: Iterable[DistributionSize]) -> float:
    return sum(one.size for one in sizes) / _MEGA


def table_lines(sizes: list[DistributionSize]) -> Iterator[str]:
    for one in sizes:
        yield f"{one.size / _MEGA:8.2f}  {one.name}"
    bytecode = sum(one.bytecode for one in sizes) / _MEGA
    yield f"{total_megabytes(sizes):8.2f}  MB in {len(sizes)} distributions"
    yield f"{bytecode:8.2f}  MB more of bytecode, which Python makes of them"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Weigh what an install brings.")
    parser.add_argument("--fresh", action="store_true", help="build, install and weigh anew")
    parser.add_argument("--lock", default="core.txt", help="of locks/, with --fresh")
    given = parser.parse_args(argv)
    sizes = fresh_sizes(given.lock) if given.fresh else core_sizes()
    for line in table_lines(sizes):
        print(line)
    too_heavy = given.lock == "core.txt" and total_megabytes(sizes) >= LIMIT
    if too_heavy:
        print(f"more than {LIMIT} MB: make an extra of what not every home needs")
    return int(too_heavy)


if __name__ == "__main__":
    sys.exit(main())
