"""The golden files: one for each case, and every long text once, under a name made of its digest.

A text that many cases send (the system instruction, the tools) is read and reviewed once.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, cast

GOLDEN = Path(__file__).parent / "golden"
TEXTS = GOLDEN / "texts"
UPDATE = os.environ.get("UPDATE_GOLDENS") == "1"
_LONG = 300
_MARK = "text of "


def compare(name: str, found: object) -> None:
    """Hold `found` against its golden; with UPDATE_GOLDENS=1 it is written first."""
    path = GOLDEN / f"{name}.json"
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        told = json.dumps(_shortened(found), ensure_ascii=False, indent=1, sort_keys=True)
        path.write_text(f"{told}\n", encoding="utf-8")
    apart = _apart(known(name), json.loads(json.dumps(found)))
    assert not apart, f"{name}: {apart}; if that is meant: make goldens, and read the difference"


def _apart(was: object, now: object, place: str = "") -> str:
    """Where the two first differ, and how; "" when they do not."""
    if was == now:
        return ""
    before, after = _inside(was), _inside(now)
    for key in after if before.keys() == after.keys() else ():
        if apart := _apart(before[key], after[key], f"{place}/{key}"):
            return apart
    old, new = str(was), str(now)
    same = next((at for at, pair in enumerate(zip(old, new, strict=False)) if len({*pair}) > 1), 0)
    start = max(0, same - 40)
    shown = f"{old[start : start + 300]!r} and is {new[start : start + 300]!r}"
    return f"{place or '/'}, from character {start} on, was {shown}"


def _inside(value: object) -> dict[str, object]:
    match value:
        case dict():
            return cast("dict[str, object]", value)
        case list():
            return {str(at): one for at, one in enumerate(cast("list[object]", value))}
        case _:
            return {}


def known(name: str) -> Any:  # noqa: ANN401  # any JSON
    """The golden of that name."""
    return _whole(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))


def _shortened(value: object) -> object:
    match value:
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {
                key: _kept_tools(one) if key == "tools" else _shortened(one) for key, one in items
            }
        case list() | tuple():
            return [_shortened(one) for one in cast("list[object]", value)]
        case str() if len(value) > _LONG:
            return _keep(value, "txt")
        case _:
            return value


def _kept_tools(tools: object) -> object:
    text = json.dumps(tools, ensure_ascii=False, indent=1)
    return _keep(text, "json") if len(text) > _LONG else _shortened(tools)


def _keep(text: str, kind: str) -> str:
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.{kind}"
    TEXTS.mkdir(parents=True, exist_ok=True)
    (TEXTS / name).write_bytes(text.encode())
    return f"{_MARK}{name}"


def _whole(value: object) -> object:
    match value:
        case dict():
            return {key: _whole(one) for key, one in cast("dict[str, object]", value).items()}
        case list():
            return [_whole(one) for one in cast("list[object]", value)]
        case str() if value.startswith(_MARK):
            text = (TEXTS / value.removeprefix(_MARK)).read_bytes().decode()
            return json.loads(text) if value.endswith(".json") else text
        case _:
            return value


def forgotten() -> list[str]:
    """Texts that no golden names any more; with UPDATE_GOLDENS=1 they are removed."""
    told = "".join(path.read_text(encoding="utf-8") for path in GOLDEN.rglob("*.json"))
    left = [path for path in sorted(TEXTS.iterdir()) if f"{_MARK}{path.name}" not in told]
    for path in left if UPDATE else ():
        path.unlink()
    return [] if UPDATE else [path.name for path in left]
