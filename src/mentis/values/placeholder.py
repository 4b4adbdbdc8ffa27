"""A registered `{{key}}`: where its value comes from and how long that value lasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .stability import Stability
from .value import LATE, Value


@dataclass(frozen=True, slots=True)
class Placeholder(Value):
    """`default_when_empty` says that the default is also told where the source has no text."""

    key: str
    phase: Literal["static", "computed", "runtime"]
    source: Literal[
        "persona_config", "user_profile", "computed", "runtime", "static", "custom", "user"
    ]
    stability: Stability
    name: str = ""
    description: str = ""
    category: str = ""
    source_path: str = ""
    type: Literal["string", "number", "list", "message_array"] = "string"
    default: str | int | float | tuple[str, ...] | None = None
    compute_function: str = ""
    join_separator: str = ", "
    default_when_empty: bool = field(default=False, metadata=LATE)
