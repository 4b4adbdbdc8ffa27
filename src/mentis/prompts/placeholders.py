"""A placeholder as its owner sees it: what it stands for now, from where, and who uses it."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.compose.placeholders import Filling
from mentis.values.placeholder import Placeholder
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class PlaceholderUse(Value):
    """`value` is None for one that only an occasion gives; `origin` is `unknown` for a key that
    nothing registers. `used_by` names blocks, by their text or a condition.
    """

    key: str
    value: str | None
    source: str
    phase: str
    used_by: tuple[str, ...]
    origin: str = "shipped"
    description: str = ""


def placeholder_use(
    key: str,
    known: Placeholder | None,
    filling: Filling | None,
    used_by: tuple[str, ...],
    *,
    own: bool,
) -> PlaceholderUse:
    return PlaceholderUse(
        key=key,
        value=None if filling is None else filling.text,
        source="" if filling is None else filling.source,
        phase=known.phase if known else "",
        used_by=used_by,
        origin="unknown" if known is None else "yours" if own else "shipped",
        description=known.description if known else "",
    )
