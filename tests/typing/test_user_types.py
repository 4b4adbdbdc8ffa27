"""What a type checker of somebody who installed Mentis sees: real types, nothing `Any`."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("a_program.py").read_text(encoding="utf-8")
MYPY = ("-m", "mypy", "--strict", "--no-incremental")
PYRIGHT = ("-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable)


SETTINGS = {
    "typeCheckingMode": "strict",
    "enableTypeIgnoreComments": True,
    "reportUnnecessaryTypeIgnoreComment": "error",
}


@pytest.mark.parametrize("checker", [MYPY, PYRIGHT], ids=["mypy", "pyright"])
def test_a_strict_checker_sees_real_types_and_every_mistake_in_a_users_program(
    tmp_path: Path, checker: tuple[str, ...]
) -> None:
    # In a folder of its own, where no settings of ours are found.
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    command = [sys.executable, *checker, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_wheel_says_that_it_is_typed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "mentis/py.typed" in archive.namelist()
