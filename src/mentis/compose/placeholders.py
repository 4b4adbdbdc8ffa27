"""What each key stands for in one call: static, computed, runtime; the later phase wins.

A value is text once it is here. Braces in it are never looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from mentis.values.library import Library
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.value import Value

from .computed import CLOCKED, LASTING, Facts


@dataclass(frozen=True, slots=True)
class Filling(Value):
    text: str
    source: str
    trust: Trust = Trust.OWNER


class Values:
    """Looks values up as they are asked for. `known` outlives the call: it never holds a value
    that the clock or the caller's variables had a part in."""

    def __init__(
        self,
        library: Library,
        facts: Facts,
        runtime: Mapping[str, object],
        known: dict[str, Filling | None] | None = None,
    ) -> None:
        self._placeholders = library.placeholders
        self._facts = facts
        self._runtime = runtime
        self._known = {} if known is None else known

    def get(self, key: str) -> Filling | None:
        """None when nothing gives this key a value."""
        if key in self._runtime:
            separator = self._separator(key)
            return Filling(as_text(self._runtime[key], separator), "runtime", Trust.RUNTIME)
        placeholder = self._placeholders.get(key)
        if placeholder is None:
            return None
        if _clocked(placeholder):
            text = CLOCKED[placeholder.compute_function](self._facts)
            return Filling(text, "clock", Trust.RUNTIME)
        if key not in self._known:
            self._known[key] = self._lasting(placeholder)
        return self._known[key]

    def filled(self, key: str) -> bool:
        """Whether the key has a value that is more than white space."""
        filling = self.get(key)
        return filling is not None and bool(filling.text.strip())

    def stability(self, key: str) -> Stability:
        """As registered; an unregistered key lasts a turn if it is given, else it is plain text."""
        if placeholder := self._placeholders.get(key):
            return placeholder.stability
        return Stability.TURN if key in self._runtime else Stability.STABLE

    def get_all(self, keys: Iterable[str]) -> tuple[Filling | None, ...]:
        return tuple([self.get(key) for key in keys])

    def _lasting(self, placeholder: Placeholder) -> Filling | None:
        match placeholder.phase:
            case "static":
                value, source = self._static(placeholder)
            case "computed":
                compute = LASTING.get(placeholder.compute_function)
                value, source = (compute(self._facts), "persona") if compute else (None, "")
            case "runtime":
                return None  # a default would hide that the caller forgot it
        if value is None:
            value, source = placeholder.default, "registry"
        return (
            None if value is None else Filling(as_text(value, placeholder.join_separator), source)
        )

    def _static(self, placeholder: Placeholder) -> tuple[object, str]:
        match placeholder.source:
            case "persona_config":
                return _follow(self._facts.persona, placeholder.source_path), "persona"
            case "user_profile":
                return _follow(self._facts.profile, placeholder.source_path), "profile"
            case "static" | "computed" | "runtime":
                return None, "registry"

    def _separator(self, key: str) -> str:
        placeholder = self._placeholders.get(key)
        return placeholder.join_separator if placeholder else ", "


def as_text(value: object, separator: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return separator.join(as_text(item, separator) for item in cast("list[object]", value))
    return str(value)


def _clocked(placeholder: Placeholder) -> bool:
    return placeholder.phase == "computed" and placeholder.compute_function in CLOCKED


def _follow(value: object, path: str) -> object:
    """The field at a dotted path of a value, or None where the path leads nowhere."""
    for name in path.split("."):
        if not isinstance(value, Value) or name not in getattr(value, "__dataclass_fields__", ()):
            return None
        value = getattr(value, name)
    return value
