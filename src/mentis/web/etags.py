"""JSON as it goes out, and the tag that says which state of something it is."""

from __future__ import annotations

import hashlib
import json


def json_bytes(data: object) -> bytes:
    """What is kept may hold half a surrogate pair, which only an escape can say."""
    try:
        return json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(data).encode()


def etag_of(data: object) -> str:
    """The tag of what a resource is now."""
    return f'"{hashlib.sha256(json_bytes(data)).hexdigest()[:32]}"'
