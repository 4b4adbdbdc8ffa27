"""Values worked out from the persona and the clock. Words and labels come from the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from mentis.values.persona import Expression, Persona, Profile, Trait
from mentis.values.value import Value

FALLBACK_LANGUAGE = "english"


@dataclass(frozen=True, slots=True)
class Facts(Value):
    """What a computed value may look at; `language` is the key into `words`.

    `secret` is what the marks around text from outside are made with.
    """

    persona: Persona
    profile: Profile
    now: datetime
    language: str
    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    secret: bytes = b""

    def word(self, topic: str) -> tuple[str, ...]:
        """The words for a topic in the persona's language, else in English, else none."""
        for language in (self.language, FALLBACK_LANGUAGE):
            if found := self.words.get(language, {}).get(topic):
                return found
        return ()


Compute: TypeAlias = Callable[[Facts], object]


@dataclass(frozen=True, slots=True)
class ComputedPlaceholder(Value):
    """A function for a placeholder. One that is not `clocked` must not look at `facts.now`: its
    value is kept until persona, profile or library change."""

    compute: Compute
    clocked: bool = True


def persona_type_description(facts: Facts) -> str:
    """The library's sentence for a known type; any other type speaks for itself."""
    kind = facts.persona.type
    return " ".join(facts.word(f"persona_type_{kind.casefold()}")) or kind


def char_core_traits(facts: Facts) -> str:
    return _lines(_item(trait) for trait in facts.persona.traits)


def char_knowledge(facts: Facts) -> str:
    return _lines(_item(trait, indent="  ", mark="- ") for trait in facts.persona.knowledge)


def char_expression(facts: Facts) -> str:
    return _lines(_way_of_speaking(facts, way) for way in facts.persona.expression)


def char_scenarios(facts: Facts) -> str:
    return _lines(_item(trait) for trait in facts.persona.scenarios)


def char_description(facts: Facts) -> str:
    """The whole persona. An AI is where it is asked, so it has no scenario."""
    is_ai = facts.persona.type.casefold() == "ai"
    parts = (
        _identity(facts),
        _labelled(facts, "label_traits", char_core_traits(facts)),
        _labelled(facts, "label_knowledge", char_knowledge(facts)),
        _labelled(facts, "label_expression", char_expression(facts)),
        "" if is_ai else _labelled(facts, "label_scenarios", char_scenarios(facts)),
        _labelled(facts, "label_background", facts.persona.background.strip()),
        _labelled(facts, "label_example", _dialogue(facts)),
    )
    return "\n\n".join(part for part in parts if part)


def cortex_persona_context(facts: Facts) -> str:
    parts = (_identity(facts), char_core_traits(facts), facts.persona.background.strip())
    return _lines(part for part in parts if part)


def current_date(facts: Facts) -> str:
    return f"{facts.now.day:02}.{facts.now.month:02}.{facts.now.year:04}"


def current_time(facts: Facts) -> str:
    return f"{facts.now.hour:02}:{facts.now.minute:02}"


def current_weekday(facts: Facts) -> str:
    names = facts.word("weekdays")
    return names[facts.now.weekday()] if len(names) == 7 else ""


_LASTING = (
    persona_type_description,
    char_core_traits,
    char_knowledge,
    char_expression,
    char_scenarios,
    char_description,
    cortex_persona_context,
)
_CLOCKED = (current_date, current_time, current_weekday)
# What ships. Code extends it by passing another mapping: {**SHIPPED, "moon": Computed(moon)}.
SHIPPED: Mapping[str, ComputedPlaceholder] = MappingProxyType(
    {compute.__name__: ComputedPlaceholder(compute, clocked=False) for compute in _LASTING}
    | {compute.__name__: ComputedPlaceholder(compute) for compute in _CLOCKED}
)


def _identity(facts: Facts) -> str:
    persona = facts.persona
    named = (("label_age", persona.age), ("label_gender", persona.gender))
    details = (_detail(facts, topic, value) for topic, value in named if value not in (None, ""))
    return _lines((persona_type_description(facts), *details))


def _detail(facts: Facts, topic: str, value: object) -> str:
    return ": ".join((*facts.word(topic), str(value)))


def _labelled(facts: Facts, topic: str, text: str) -> str:
    label = " ".join(facts.word(topic))
    return f"{label}:\n{text}" if label and text else text


def _way_of_speaking(facts: Facts, way: Expression) -> str:
    head = ": ".join(part for part in (way.name, way.description) if part)
    example = _detail(facts, "label_example", way.example) if way.example else ""
    marks = (f"  - {mark}" for mark in way.characteristics)
    return _lines(line for line in (head, example, *marks) if line)


def _dialogue(facts: Facts) -> str:
    """Examples of what is said to the persona and what it answers, as lines of a play."""
    names = (facts.profile.name.strip() or Profile().name, facts.persona.name)
    said = ((one.user, one.reply) for one in facts.persona.dialogue)
    return "\n\n".join(
        _lines(f"{name}: {text}" for name, text in zip(names, pair, strict=True)) for pair in said
    )


def _item(trait: Trait, indent: str = "", mark: str = "") -> str:
    head = ": ".join(part for part in (trait.name, trait.description) if part)
    dashes = (f"{indent}  - {behaviour}" for behaviour in trait.behaviours)
    return _lines((f"{indent}{mark}{head}", *dashes))


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
