"""What goes out, what is recorded and what comes of it again is what it was before.

After a change that is meant to change it: `make goldens`, then read the
difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .cases import CASES
from .golden_files import GOLDEN, UPDATE, compare, forgotten
from .stage import KEY, staged


@pytest.mark.parametrize("name", CASES)
def test_a_case_comes_out_as_its_golden_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDEN_KEY", KEY)
    monkeypatch.setenv("MENTIS_ACTS__CONCURRENCY", "1")  # else two outcomes race for their entries
    with staged(tmp_path) as stage:
        CASES[name](stage)
        found = stage.golden()
    compare(f"cases/{name}", found)


@pytest.mark.skipif(UPDATE, reason="they are being written")
def test_every_golden_has_a_case_and_every_text_a_golden() -> None:
    assert {path.stem for path in (GOLDEN / "cases").glob("*.json")} == {*CASES}
    assert forgotten() == []
