"""The types of what is declared of an act. Foreign code declares it, and the gate relies on it."""

from __future__ import annotations

from typing import cast

from mentis.errors import BadInput

_TEXT, _YES_OR_NO = ((str,), "text"), ((bool,), "True or False")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "name": _TEXT,
    "description": _TEXT,
    "scope": _TEXT,
    "source": _TEXT,
    "endpoint": _TEXT,
    "external_effects": _YES_OR_NO,
    "idempotent": _YES_OR_NO,
    "deferred": _YES_OR_NO,
    "trusted": _YES_OR_NO,
    "strict": ((bool, type(None)), "True, False or None"),
    "timeout_seconds": ((int, float), "a number"),
    "concurrency": ((int,), "a whole number"),
    "modes": ((tuple, list), "a tuple of names"),
}


def refuse_types(declared: object, name: object) -> None:
    """BadInput when a field that says something of an act is not of the type it has to be."""
    for field, (kinds, words) in _KINDS.items():
        if not hasattr(declared, field) or _is(value := getattr(declared, field), kinds):
            continue
        raise BadInput(
            f"act {name!r:.160}: {field} is {value!r:.80} ({type(value).__name__})",
            hint=f"{field} is {words}",
            option=field,
        )


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool) and bool not in kinds:  # to Python it is a number
        return False
    if isinstance(value, (tuple, list)):
        return tuple in kinds and all(
            isinstance(one, str) for one in cast("tuple[object, ...]", value)
        )
    return isinstance(value, kinds)
