"""Several Pythons side by side: each has its environment, and `make slow` finds the others."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = "{}.{}".format(*sys.version_info[:2])


@pytest.mark.parametrize(
    ("made_by", "expected"),
    [(None, ".venv/"), (f"{OWN}.0", ".venv/"), ("3.1.0", f".venv-{OWN}/")],
    ids=["no environment", "same version", "another version"],
)
def test_a_python_that_is_named_gets_an_environment_of_its_version(
    tmp_path: Path, made_by: str | None, expected: str
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    if made_by is not None:
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv/pyvenv.cfg").write_text(f"home = /x\nversion = {made_by}\n")
    for name in ("locks/dev.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    command = ["make", "--dry-run", "rooms", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert f"{expected}bin/python tools/run_slow.py --rooms" in done.stdout


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module("run_slow")


def test_other_pythons_are_found_where_they_run_and_are_what_they_are_called(
    slow: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def put(name: str, script: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    put("bin/python3.11", "echo 3.11")  # the one that runs this
    put("bin/python3.12", "echo not installed >&2; exit 127")
    found = put("pyenv/versions/3.12.4/bin/python", "echo 3.12")
    put("bin/python3.13", "echo 3.14")
    assert slow.found_pythons("3.11") == {"3.12": found}
