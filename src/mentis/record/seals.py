"""Seals with the home's secret, on what lies beside the record and is bound by no entry.

What does not come with our seal may be anybody's.
"""

from __future__ import annotations

import hmac
from hashlib import blake2b

_KEY_BYTES = 64  # the longest key that BLAKE2b takes


def make_seal(secret: bytes, purpose: bytes, agent: str, content: bytes) -> str:
    """Nothing without a secret: then nobody could tell ours from another's."""
    if not secret:
        return ""
    hashed = blake2b(key=secret[:_KEY_BYTES], person=purpose, digest_size=32)
    hashed.update(agent.encode() + b"\0" + content)
    return hashed.hexdigest()


def is_ours(made: str, found: object) -> bool:
    """Whether a seal that was found is the one we would make."""
    return (
        bool(made)
        and isinstance(found, str)
        and hmac.compare_digest(made.encode(), found.encode(errors="replace"))
    )
