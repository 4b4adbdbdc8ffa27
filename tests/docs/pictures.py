"""Text pictures in the documentation: what a screen shows, rendered again by the tests.

With UPDATE_PICTURES=1 they are written anew; read what is different.
"""

from __future__ import annotations

import os
import re
from difflib import ndiff
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def check_picture(page: str, name: str, shown: str) -> None:
    """`<!-- picture: NAME -->` stands above the fence that holds it."""
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    place = re.compile(rf"(<!-- picture: {re.escape(name)} -->\n```text\n)(.*?)(```)", re.DOTALL)
    found = place.search(text)
    assert found is not None, f"{page} has no picture {name!r}"
    lines = "".join(f"{line.rstrip()}\n" for line in shown.strip("\n").splitlines())
    if os.environ.get("UPDATE_PICTURES"):
        path.write_text(f"{text[: found.start(2)]}{lines}{text[found.end(2) :]}", encoding="utf-8")
        return
    changes = "".join(ndiff(found[2].splitlines(True), lines.splitlines(True)))
    assert found[2] == lines, f"{page}, {name}: make it anew with UPDATE_PICTURES=1\n{changes}"
