"""Broken JSON of a call, mended where only one reading is possible.

Control characters in texts, commas before a closing bracket, brackets missing at the end, and the
literals of Python. Whoever uses what came of it says so: the text was not JSON.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import cast

from .lenient import mark_doubled, refuse_constant

_LOOSE = json.JSONDecoder(
    object_pairs_hook=mark_doubled, parse_constant=refuse_constant, strict=False
)
_TEXT_OR_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|["{}\[\]]', re.DOTALL)
_MOST = 100_000


def mend_json(text: str, *, whole: bool = True) -> object:
    """The value that was meant; None where there is none. Not `whole`: nothing is closed that was
    cut off, for nobody knows what would have followed.
    """
    if len(text) > _MOST:
        return None
    for variant in _variants(text, whole=whole):
        try:
            return cast("object", _LOOSE.decode(variant))
        except (ValueError, RecursionError):
            continue
    try:
        value: object = ast.literal_eval(text)
        return _LOOSE.decode(json.dumps(value, allow_nan=False))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _variants(text: str, *, whole: bool) -> Iterator[str]:
    stripped = text.strip()
    yield stripped
    tidy = _TEXT_OR_COMMA.sub(lambda found: found[1] or "", stripped)
    yield tidy
    # After a value only brackets can be missing; anywhere else more than that is.
    if whole and tidy[-1:] not in ("", "{", "[", ":", ",") and (missing := _missing(tidy)):
        yield tidy + missing


def _missing(text: str) -> str:
    """The brackets that would close it; nothing where a text is open, or they do not match."""
    open_: list[str] = []
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{":
                open_.append("}")
            case "[":
                open_.append("]")
            case "}" | "]":
                if not open_ or open_.pop() != token[0]:
                    return ""
            case '"':
                return ""
            case _:
                pass
    return "".join(reversed(open_))
