"""Writes the hashes by which the script of a report knows its style, and the auditor both."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

LEDGER = Path(__file__).parents[1] / "src" / "mentis" / "ledger"


def main() -> None:
    style = _sha256(LEDGER / "report" / "report.css")
    _write(LEDGER / "report" / "report.js", "STYLE", style)
    _write(LEDGER / "auditor.py", "_STYLE", style)
    _write(LEDGER / "auditor.py", "_SCRIPT", _sha256(LEDGER / "report" / "report.js"))


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _write(file: Path, name: str, digest: str) -> None:
    text = file.read_text(encoding="utf-8")
    changed, found = re.subn(rf'(\b{name} = )"[^"]*"', rf'\1"{digest}"', text, count=1)
    if not found:
        raise SystemExit(f"{file}: there is no {name}")
    file.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main()
