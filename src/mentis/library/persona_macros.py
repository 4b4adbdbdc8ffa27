"""The texts of an imported persona with their macros made plain, for whoever it talks to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mentis.codec.macros import expand_macros
from mentis.values.persona import ExampleExchange, Expression, Persona, Profile, Trait


def with_plain_words(persona: Persona, profile: Profile) -> Persona:
    """What chance decides is drawn from the persona's id and the text, so that it stays as it is:
    these words stand in the lasting part of every prompt.
    """
    name, user = persona.name, profile.name.strip() or Profile().name
    values = {"char": name, "char_name": name, "user": user, "user_name": user}
    values |= {"persona": profile.info, "original": ""}

    def plain(text: str) -> str:
        return expand_macros(text, values, seed=f"{persona.id}\x00{text}").text

    return replace(
        persona,
        background=plain(persona.background),
        greeting=plain(persona.greeting),
        greetings=tuple(map(plain, persona.greetings)),
        traits=_traits(persona.traits, plain),
        knowledge=_traits(persona.knowledge, plain),
        scenarios=_traits(persona.scenarios, plain),
        expression=tuple(_way(one, plain) for one in persona.expression),
        dialogue=tuple(
            ExampleExchange(plain(one.user), plain(one.reply)) for one in persona.dialogue
        ),
    )


def _traits(traits: tuple[Trait, ...], plain: Callable[[str], str]) -> tuple[Trait, ...]:
    return tuple(
        Trait(plain(one.name), plain(one.description), tuple(map(plain, one.behaviours)))
        for one in traits
    )


def _way(way: Expression, plain: Callable[[str], str]) -> Expression:
    told = (plain(way.name), plain(way.description), plain(way.example))
    return Expression(*told, tuple(map(plain, way.characteristics)))
