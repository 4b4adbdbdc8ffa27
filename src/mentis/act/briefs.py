"""Answers of acts as they are shown and recorded: text that can be written, and not too much.

A large text is shown by its beginning and one last line of JSON that says how much there is and
where the whole of it is kept, and how to read on.
"""

from __future__ import annotations

import json
import re

from mentis.values.digest import Digest

_HALF = re.compile("[\ud800-\udfff]")
_MOST_REASON = 2000


def clean(text: str) -> tuple[str, str]:
    """The text without halves of surrogate pairs, which UTF-8 cannot say, and a note on them."""
    if not _HALF.search(text):
        return text, ""
    # Two halves that belong together are one character after all.
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    count = whole.count("\ufffd") - text.count("\ufffd")
    return whole, f"{count} halves of characters were replaced" if count else ""


def brief(text: str, *, limit: int, size: int, blob: Digest) -> str:
    """At most `limit` bytes of it, unless the last line alone takes more."""
    room = max(0, limit - len(_last_line(size, limit, blob)) - 1)
    shown = cut(text, room)
    return f"{shown}\n{_last_line(size, len(shown.encode()), blob)}"


def _last_line(size: int, shown: int, blob: Digest) -> str:
    """With the act that reads on from where it was cut, where the whole is kept."""
    told: dict[str, object] = {"bytes": size, "shown": shown, "blob": blob}
    if blob:
        told["read_on"] = "read_result"
    return json.dumps(told)


def cut(text: str, limit: int) -> str:
    """The beginning in at most so many bytes of UTF-8, without half a character at its end."""
    return text.encode()[:limit].decode(errors="ignore")


def short(reason: str) -> str:
    """A reason fit for a record: one that goes on for ever says where it was cut."""
    said, _ = clean(reason)
    if len(said) <= _MOST_REASON:
        return said
    return f"{said[:_MOST_REASON]}… ({len(said)} characters)"


def join_reasons(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)
