"""A hash that names its algorithm."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

Digest: TypeAlias = str


def digest(content: bytes) -> Digest:
    """`sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
