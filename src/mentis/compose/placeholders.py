"""Values of placeholders in one call: static, computed, runtime; the later phase wins.

A value is text once it is here. Braces in it are never looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from mentis.values.given import GivenText
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.value import Value

from .computed import SHIPPED, ComputedPlaceholder, Facts
from .library_headings import headings_of

# What stands where a key has no value: the key itself, nothing, or no prompt at all.
Policy: TypeAlias = Literal["keep", "empty", "error"]
# Values of these types cannot change behind our back, so what became of them may be kept.
LASTING_TYPES = frozenset({str, int, float, bool, type(None), GivenText})


@dataclass(frozen=True, slots=True)
class Filling(Value):
    """`reason` says why it is not the value it should have been; mostly there is none. `head` is a
    line of ours above it; `bare` text is told as it is, whoever wrote it. `assumed` text stands for
    one that nobody gave, so that no condition counts on it.
    """

    text: str
    source: str
    trust: Trust = Trust.OWNER
    stability: Stability = Stability.STABLE
    reason: str = ""
    head: str = ""
    bare: bool = False
    assumed: bool = False


class PlaceholderCache:
    """What outlives a call: values of persona and profile, the last value of each variable, and
    the headings of the library. It never holds a value that the clock had a part in.
    """

    __slots__ = ("given", "headings", "lasting")

    def __init__(self) -> None:
        self.headings: tuple[str, ...] | None = None
        self.lasting: dict[str, Filling | None] = {}
        self.given: dict[str, tuple[object, Filling]] = {}


class Values:
    """Looks values up as they are asked for."""

    __slots__ = ("_computed", "_known", "_library", "_placeholders", "facts", "runtime")

    def __init__(
        self,
        library: Library,
        facts: Facts,
        runtime: Mapping[str, object],
        *,
        known: PlaceholderCache | None = None,
        computed: Mapping[str, ComputedPlaceholder] = SHIPPED,
    ) -> None:
        self._library = library
        self._placeholders = library.placeholders
        self.facts = facts
        self._known = known or PlaceholderCache()
        self._computed = computed
        self.runtime = runtime

    def get(self, key: str) -> Filling | None:
        """None when nothing gives this key a value."""
        if key in self.runtime:
            return self._given(key, self.runtime[key])
        placeholder = self._placeholders.get(key)
        if placeholder is None:
            return None
        if self.is_clocked(key):
            return self._compute(placeholder, "clock", Trust.RUNTIME)
        lasting = self._known.lasting
        if key not in lasting:
            lasting[key] = self._lasting(placeholder)
        return lasting[key]

    def has_text(self, key: str) -> bool:
        """Whether somebody gave the key a value that is more than white space."""
        filling = self.get(key)
        return filling is not None and not filling.assumed and bool(filling.text.strip())

    def is_clocked(self, key: str) -> bool:
        """Whether the key's value, if no variable gives it, is worked out anew each time."""
        placeholder = self._placeholders.get(key)
        if placeholder is None or placeholder.phase != "computed":
            return False
        computed = self._computed.get(placeholder.compute_function)
        return computed is not None and computed.clocked

    def stability(self, key: str) -> Stability:
        """As registered; an unregistered key lasts a turn if it is given, else it is plain text."""
        given = self.runtime.get(key)
        if isinstance(given, GivenText) and given.stability is not None:
            return given.stability
        if placeholder := self._placeholders.get(key):
            return placeholder.stability
        return Stability.TURN if key in self.runtime else Stability.STABLE

    @property
    def headings(self) -> tuple[str, ...]:
        """What no text that is not ours may pass for."""
        if self._known.headings is None:
            self._known.headings = headings_of(self._library)
        return self._known.headings

    def get_all(self, keys: Iterable[str]) -> tuple[Filling | None, ...]:
        return tuple([self.get(key) for key in keys])

    def _given(self, key: str, value: object) -> Filling:
        """The same object as last time for the same value, which makes comparing them cheap."""
        last = self._known.given.get(key)
        if last is not None and type(value) is type(last[0]) and value == last[0]:
            return last[1]
        filling = self._filling(key, value)
        if type(value) in LASTING_TYPES:
            self._known.given[key] = (value, filling)
        return filling

    def _filling(self, key: str, value: object) -> Filling:
        if isinstance(value, GivenText):
            where = (value.source, value.trust, self.stability(key))
            return Filling(value.text, *where, head=value.head, bare=value.bare)
        placeholder = self._placeholders.get(key)
        text = as_text(value, placeholder.join_separator if placeholder else ", ")
        return Filling(text, "runtime", Trust.RUNTIME, self.stability(key))

    def _lasting(self, placeholder: Placeholder) -> Filling | None:
        match placeholder.phase:
            case "static":
                value, source = self._static(placeholder)
                trust = self.facts.persona.trust if source == "persona" else Trust.OWNER
                return _filling(placeholder, value, source, trust=trust)
            case "computed":
                return self._compute(placeholder, "persona", self.facts.persona.trust)
            case "runtime":
                return None  # a default would hide that the caller forgot it

    def _compute(self, placeholder: Placeholder, source: str, trust: Trust) -> Filling | None:
        name = placeholder.compute_function
        computed = self._computed.get(name)
        if computed is None:
            return _filling(placeholder, None, "")
        try:
            value = computed.compute(self.facts)
        except Exception as error:  # noqa: BLE001  # others' code, and no prompt may die of it
            reason = f"{name} failed ({type(error).__name__}: {error}); the default was told"
            return _filling(placeholder, None, "", reason=reason) or Filling(
                "", "registry", stability=placeholder.stability, reason=reason
            )
        text = as_text(value, placeholder.join_separator)
        return Filling(text, source, trust, placeholder.stability)

    def _static(self, placeholder: Placeholder) -> tuple[object, str]:
        match placeholder.source:
            case "persona_config":
                return _of_persona(self.facts.persona, placeholder.source_path), "persona"
            case "user_profile":
                return self._of_profile(placeholder.source_path)
            case "static" | "computed" | "runtime" | "custom" | "user":
                return None, "registry"

    def _of_profile(self, path: str) -> tuple[object, str]:
        """The origin kept the persona's language in the profile, and wrote `user_` before all."""
        if path == "persona_language":
            return self.facts.persona.language, "persona"
        return _of_profile(self.facts.profile, path), "profile"


def as_text(value: object, separator: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        if isinstance(value, (list, tuple)):
            return separator.join(as_text(item, separator) for item in cast("list[object]", value))
        return str(value)
    except Exception:  # noqa: BLE001  # a caller's object may fail in any way; a prompt must not
        return f"<{type(cast('object', value)).__name__}>"


def _filling(
    placeholder: Placeholder,
    value: object,
    source: str,
    *,
    reason: str = "",
    trust: Trust = Trust.OWNER,
) -> Filling | None:
    """The value, else the registered default, else nothing."""
    assumed = placeholder.default_when_empty and isinstance(value, str) and not value.strip()
    if value is None or assumed:
        value, source, trust = placeholder.default, "registry", Trust.OWNER
    if value is None:
        return None
    text = as_text(value, placeholder.join_separator)
    stability = placeholder.stability
    return Filling(text, source, trust, stability, reason=reason, assumed=assumed)


def _of_persona(persona: Persona, path: str) -> object:
    found = _follow(persona, path)
    return _follow(persona, path.removeprefix("persona_settings.")) if found is None else found


def _of_profile(profile: Profile, path: str) -> object:
    found = _follow(profile, path)
    return _follow(profile, path.removeprefix("user_")) if found is None else found


def _follow(value: object, path: str) -> object:
    """The field at a dotted path of a value, or None where the path leads nowhere."""
    for name in path.split("."):
        if not isinstance(value, Value) or name not in getattr(value, "__dataclass_fields__", ()):
            return None
        value = getattr(value, name)
    return value
