"""Writes the hashes by which style, script and verifier of a report know each other.

The script knows the style, and the verifier without what it says of the script; the verifier both.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

LEDGER = Path(__file__).parents[1] / "src" / "mentis" / "ledger"
SCRIPT, VERIFIER = LEDGER / "report" / "report.js", LEDGER / "auditor.py"


def main() -> None:
    style = _sha256((LEDGER / "report" / "report.css").read_bytes())
    _write(SCRIPT, "STYLE", style)
    _write(VERIFIER, "_STYLE", style)
    _write(VERIFIER, "_SCRIPT", "")
    _write(SCRIPT, "VERIFIER", _sha256(VERIFIER.read_bytes()))
    _write(VERIFIER, "_SCRIPT", _sha256(SCRIPT.read_bytes()))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(file: Path, name: str, digest: str) -> None:
    text = file.read_text(encoding="utf-8")
    changed, found = re.subn(rf'(\b{name} = )"[^"]*"', rf'\1"{digest}"', text, count=1)
    if not found:
        raise SystemExit(f"{file}: there is no {name}")
    file.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main()
