"""The import contracts hold, and each of them fails when it is broken on purpose."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = "Rooms are layered and data walks one way"
PURE = "Pure rooms touch no clock, disk, network or chance"
ROOT_FREE = "No room imports the package root"
APART = "Surfaces stand apart"


def lint(folder: Path) -> tuple[int, str]:
    environ = {name: text for name, text in os.environ.items() if not name.startswith("COV_")}
    environ |= {"PYTHONPATH": str(folder / "src"), "NO_COLOR": "1", "COLUMNS": "200"}
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [str(lint_imports), "--config", "pyproject.toml", "--no-cache"],
        cwd=folder,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(copy: Path, module: str, line: str) -> None:
    path = copy / "src/mentis" / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{line}\n", encoding="utf-8")


def test_the_contracts_hold(copy: Path) -> None:
    code, output = lint(copy)
    assert code == 0, output
    assert "0 broken" in output
    for contract in (LAYERS, PURE, ROOT_FREE, APART):
        assert f"{contract} KEPT" in output


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("values/planted.py", "import mentis.turn", LAYERS),
        ("system/planted.py", "import mentis.disk", LAYERS),
        ("settings/planted.py", "import mentis.home", LAYERS),
        ("home/planted.py", "import mentis.record", LAYERS),
        ("record/planted.py", "import mentis.status", LAYERS),
        ("memories/planted.py", "import mentis.status", LAYERS),
        ("status/planted.py", "import mentis.prompts", LAYERS),
        ("prompts/planted.py", "import mentis.tools", LAYERS),
        ("tools/planted.py", "import mentis.turn", LAYERS),
        ("ask/planted.py", "import mentis.tools", LAYERS),
        ("recovery/planted.py", "import mentis.tools", LAYERS),
        ("turn/planted.py", "import mentis.talk", LAYERS),
        ("talk/planted.py", "import mentis.tick", LAYERS),
        ("tick/planted.py", "import mentis.assemble", LAYERS),
        ("assemble/planted.py", "import mentis.talk", LAYERS),
        ("costs/planted.py", "import mentis.talk", LAYERS),
        ("recorder/planted.py", "import mentis.talk", LAYERS),
        ("loop/planted.py", "import mentis.app", LAYERS),
        ("app/planted.py", "import mentis.surfaces", LAYERS),
        ("app/planted.py", "import mentis.web", LAYERS),
        ("web/planted.py", "import mentis.surfaces", LAYERS),
        ("render/planted.py", "import mentis.compose", LAYERS),
        ("drawer/__init__.py", "", LAYERS),
        ("compose/planted.py", "import time", PURE),
        ("compose/planted.py", "import mentis.ports.planted_clock", PURE),
        ("ledger/planted.py", "import mentis", ROOT_FREE),
        ("surfaces/planted.py", "import mentis.surfaces.cli.main", APART),
    ],
)
def test_a_planted_violation_breaks_its_contract(
    copy: Path, module: str, line: str, contract: str
) -> None:
    plant(copy, "ports/planted_clock.py", "import time")  # allowed as such
    plant(copy, module, line)
    code, output = lint(copy)
    assert code == 1, output
    assert f"{contract} BROKEN" in output
