"""The page on providers lists every loss a renderer can note."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTED = re.compile(r"(?:Loss\(|self\.lose\()\s*\"([a-z-]+)\"")


def test_every_loss_code_is_listed_and_none_is_made_up() -> None:
    source = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/mentis/render").glob("*.py")
    )
    page = (ROOT / "docs/concepts/providers.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    listed = {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)}
    assert listed == set(NOTED.findall(source))
