"""The base of everything that travels: a frozen, slotted dataclass with a strict JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

# Of a field that came after values of its kind were written: left out while it has its default, so
# that what was written before still has the same bytes.
LATE: Final[Mapping[str, bool]] = {"late": True}


class Value:
    """Marks a value. `codec` gives it its JSON form; unknown keys are refused there."""

    __slots__ = ()
    # Read by pydantic when `codec` builds the JSON form; values themselves import nothing.
    __pydantic_config__: ClassVar[dict[str, str]] = {
        "extra": "forbid",
        "ser_json_bytes": "base64",
        "val_json_bytes": "base64",
    }
