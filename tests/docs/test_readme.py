"""What the README says to type works as it is written, in this order."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

from mentis.surfaces.cli.main import run

README = Path(__file__).parents[2] / "README.md"
# A prompt at a terminal, and an act that would have to wait first.
_NEEDS_SOMEBODY = ("chat", "approve")


def test_the_quickstart_works_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setenv("MENTIS_ROUTES__DEFAULT__REPLIES", '["Good morning!"]')
    text = README.read_text(encoding="utf-8").partition("## Your own agent")[2]
    lines = re.findall(r"^\$ mentis (.*?)(?:\s+#.*)?$", text, re.MULTILINE)
    tool = re.search(r"in `(my-home/\S+)`:\n\n```python\n(.*?)```", text, re.DOTALL)
    assert tool is not None
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line)
        if "tools" in words:
            (tmp_path / tool[1]).write_text(tool[2], encoding="utf-8")
        if words[-1] == _NEEDS_SOMEBODY[0] or _NEEDS_SOMEBODY[1] in words:
            continue
        assert run(words) == 0, (line, capfd.readouterr().err)
    listed = capfd.readouterr().out
    assert "rises" in listed
    assert (tmp_path / "ada.zip").is_file()
