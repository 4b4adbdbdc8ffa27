"""What is loaded, counted in modules: a count is the same on every machine, a time is not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {
    "anyio",
    "asyncio",
    "click",
    "httpx2",
    "numpy",
    "pydantic",
    "rich",
    "sqlite3",
    "xllamacpp",
}
# `mentis --help` may load click, and click what it likes.
HEAVY_FOR_HELP = HEAVY - {"click", "asyncio"}


def modules_loaded_by(*arguments: str) -> set[str]:
    """Every module a fresh interpreter imports for this command line, as it reports itself."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        env=environ,
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize(
    "module",
    ["mentis", *(f"mentis.{name}" for name in ("testing", "recording", "models", "homes", "logs"))],
)
def test_importing_mentis_loads_next_to_nothing(module: str) -> None:
    added = modules_loaded_by("-c", f"import {module}") - modules_loaded_by("-c", "")
    assert packages(added) & HEAVY == set()
    assert len(added) <= 60, sorted(added)


def test_asking_for_help_loads_no_heavy_package() -> None:
    loaded = modules_loaded_by("-m", "mentis", "--help")
    assert "click" in packages(loaded)
    assert packages(loaded) & HEAVY_FOR_HELP == set()
