"""What `make slow` runs: the tests marked `slow`, and the lower rooms on every other Python.

Some tests run programs of other people, which are installed first (tools/install_programs.py).

Every other Python is one of 3.11 to 3.13 that is found here and is not the one that runs this. It
gets an environment of its own (`make rooms PYTHON=...`), installed from the same lock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from install_programs import install_all
from run_tests import ROOT, run_pytest

VERSIONS = ("3.11", "3.12", "3.13")
# The pure rooms, and those that stand on what an operating system and its Python do.
ROOMS = ("values", "compose", "render", "settle", "facts", "codec", "system", "disk", "stores")


def version_of(python: str) -> str:
    """Which one it is; "" where it does not run, as the stand-ins of a version manager may not."""
    command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def found_pythons(own: str) -> dict[str, str]:
    """The others by version: on the path, or where pyenv keeps them."""
    kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found: dict[str, str] = {}
    for version in VERSIONS:
        named = [shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python"))]
        for python in (str(one) for one in named if one):
            if version != own and version_of(python) == version:
                found.setdefault(version, python)
    return found


def run_rooms() -> int:
    return run_pytest("-q", "-m", "not slow", *(f"tests/{room}" for room in ROOMS))


def run_others() -> int:
    others = found_pythons("{}.{}".format(*sys.version_info[:2]))
    for version in VERSIONS:
        if version not in others:
            own = sys.version.startswith(f"{version}.")
            print(f"python {version}: {'runs this' if own else 'not found here'}", flush=True)
    failed = 0
    for version, python in others.items():
        print(f"python {version}: {', '.join(ROOMS)}", flush=True)
        make = os.environ.get("MAKE", "make")
        command = [make, "--no-print-directory", "rooms", f"PYTHON={python}"]
        failed |= subprocess.run(command, cwd=ROOT, check=False).returncode
    return failed


def main(arguments: list[str]) -> int:
    if arguments == ["--rooms"]:
        return run_rooms()
    install_all()
    slow = run_pytest("-q", "-rs", "-m", "slow")  # what is skipped is named, with its reason
    return 1 if run_others() or slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
