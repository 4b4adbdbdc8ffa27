"""What the threat model says was tried is there to be run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_the_threat_model_names_is_there() -> None:
    text = (ROOT / "docs" / "design" / "threat-model.md").read_text(encoding="utf-8")
    named = _NAMED.findall(text)
    assert len(named) > 15
    gone = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).is_file()
        or not re.search(rf"def {name}\(", (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert gone == []
