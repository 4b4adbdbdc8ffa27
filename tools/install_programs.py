"""Install the programs of other people that the slow tests run, in environments of their own.

They are pinned with hashes (`locks/programs-*.txt`, `tools/programs/package-lock.json`) and kept in
`.venv-programs/`, which git ignores; what has been installed once is not installed again. What
cannot be installed here is told, and the reason is kept for the tests, which are skipped with it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv-programs"
# The lock of each Python environment, and the first version that it is not made for.
PYTHONS = {"sdks": (3, 99), "aider": (3, 13), "synapse": (3, 99), "cards": (3, 99)}
NODE = ROOT / "tools" / "programs"
REASON, STAMP = "reason.txt", "stamp.txt"
_PATIENCE = 300


class CannotInstall(Exception):
    """Why a set of programs is not there."""


def lock_of(name: str) -> Path:
    return ROOT / "locks" / f"programs-{name}.txt"


def install_python(name: str, folder: Path) -> None:
    if sys.version_info >= PYTHONS[name]:
        raise CannotInstall("it has no release for Python {}.{}".format(*sys.version_info[:2]))
    _run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    python = folder / "bin" / "python"
    sync = (sys.executable, "-m", "uv", "pip", "sync", "--quiet", "--require-hashes")
    _run(*sync, "--python", str(python), str(lock_of(name)))


def install_node(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise CannotInstall("there is no node or npm on this machine")
    folder.mkdir(parents=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(NODE / file, folder)
    # Not `npm ci`: it wants the packages of every other platform in the lock, too.
    _run(npm, "install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", cwd=folder)


def _run(*command: str, cwd: Path = ROOT) -> None:
    try:
        done = subprocess.run(
            command, cwd=cwd, check=False, capture_output=True, text=True, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise CannotInstall(" / ".join(lines[:3])[:500] or f"{command[0]} ended with an error")


def install(name: str, lock: Path) -> str:
    """Nothing when the set is there, else the reason why it is not."""
    folder = PLACE / name
    wanted = f"{hashlib.sha256(lock.read_bytes()).hexdigest()} {sys.version}"
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        install_node(folder) if name == "node" else install_python(name, folder)
    except CannotInstall as error:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / REASON).write_text(str(error), "utf-8")
        return str(error)
    stamp.write_text(wanted, "utf-8")
    return ""


def install_all() -> None:
    locks = {name: lock_of(name) for name in PYTHONS} | {"node": NODE / "package-lock.json"}
    with ThreadPoolExecutor() as together:
        reasons = list(together.map(install, locks, locks.values()))
    for name, reason in zip(locks, reasons, strict=True):
        told = f"NOT INSTALLED, its tests are skipped: {reason}" if reason else "installed"
        print(f"programs of other people, {name}: {told}", flush=True)


if __name__ == "__main__":
    install_all()
