"""The code in the documents runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.model
@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "guides").glob("*.md")), ids=lambda path: path.stem
)
def test_each_guide_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    blocks = PYTHON.findall(path.read_text(encoding="utf-8"))
    assert len(blocks) >= 3
    assert run("\n".join(blocks), tmp_path).strip()


@pytest.mark.model
def test_the_example_of_the_page_on_conversations_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "concepts" / "conversations.md").read_text(encoding="utf-8")
    (block,) = PYTHON.findall(page)
    lines = block.splitlines()
    indented = "\n".join(f"    {line}" for line in lines[1:])
    code = f"{lines[0]}\nasync def main():\n{indented}\n"
    made = "import anyio\nfrom mentis import create_home\ncreate_home('my-home')\n"
    assert "Session(" in run(f"{made}{code}anyio.run(main)\n", tmp_path)


@pytest.mark.model
def test_the_readme_example_runs(tmp_path: Path) -> None:
    block, _tool = PYTHON.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    made = "from mentis import create_home\ncreate_home('my-home')\n"
    assert run(f"{made}{block}", tmp_path).strip()


@pytest.mark.model
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_each_example_runs(path: Path, tmp_path: Path) -> None:
    assert "record intact: True" in run(path.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize(
    "path",
    [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda p: p.name,
)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path}: {target}"
