"""The code in the documents runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from . import warm

ROOT = Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


class Runner(Protocol):
    def __call__(self, code: str, folder: Path) -> str: ...


@pytest.fixture(scope="module")
def run() -> Iterator[Runner]:
    """Runs a program to its good end, and gives back what it wrote."""
    # The path of a socket may be short only.
    with tempfile.TemporaryDirectory() as short:
        place = f"{short}/warm"
        command = [sys.executable, warm.__file__, place]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdout.readline() == warm.READY

            def run_code(code: str, folder: Path) -> str:
                environment = {**os.environ, warm.VARIABLE: place}
                ended, out, err = warm.run_warm(["-c", code], folder, environment, place)
                assert ended == 0, err.decode()
                return out.decode()

            yield run_code
            process.terminate()


@pytest.mark.model
@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "guides").glob("*.md")), ids=lambda path: path.stem
)
def test_each_guide_runs_from_top_to_bottom(path: Path, tmp_path: Path, run: Runner) -> None:
    blocks = PYTHON.findall(path.read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    assert run("\n".join(blocks), tmp_path).strip()


@pytest.mark.model
def test_the_example_of_the_page_on_conversations_runs(tmp_path: Path, run: Runner) -> None:
    page = (ROOT / "docs" / "concepts" / "conversations.md").read_text(encoding="utf-8")
    (block,) = PYTHON.findall(page)
    lines = block.splitlines()
    indented = "\n".join(f"    {line}" for line in lines[1:])
    code = f"{lines[0]}\nasync def main():\n{indented}\n"
    made = "import anyio\nfrom mentis import create_home\ncreate_home('my-home')\n"
    assert "Session(" in run(f"{made}{code}anyio.run(main)\n", tmp_path)


@pytest.mark.model
def test_the_readme_example_runs(tmp_path: Path, run: Runner) -> None:
    block, _tool = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    made = "from mentis import create_home\ncreate_home('my-home')\n"
    assert run(f"{made}{block}", tmp_path).strip()


@pytest.mark.model
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_each_example_runs(path: Path, tmp_path: Path, run: Runner) -> None:
    assert "record intact: True" in run(path.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize(
    "path",
    [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda p: p.name,
)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path}: {target}"
