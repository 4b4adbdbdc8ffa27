"""Every rule, in the order of its number; the 67 and the 13 of the origin, and two of ours."""

from __future__ import annotations

from difflib import get_close_matches

from mentis.errors import UsageError

from . import (
    rules_commit,
    rules_confidence,
    rules_fields,
    rules_health,
    rules_operations,
    rules_protocol,
    rules_response,
    rules_stamped,
    rules_warnings,
)
from .case import Rule

_MODULES = (
    rules_commit,
    rules_confidence,
    rules_fields,
    rules_health,
    rules_operations,
    rules_protocol,
    rules_response,
    rules_stamped,
    rules_warnings,
)


def _place(rule: Rule) -> tuple[int, int]:
    letter = rule.number[0]
    rank = {"W": 1, "M": 2}.get(letter, 0)
    return rank, int(rule.number[1:] if rank else rule.number)


RULES: tuple[Rule, ...] = tuple(
    sorted((rule for module in _MODULES for rule in module.RULES), key=_place)
)
BY_ID = {rule.id: rule for rule in RULES}


def find_rule(name: str) -> Rule:
    """The rule with this id (the case of letters does not matter) or number."""
    for rule in RULES:
        if name.upper() in (rule.id, rule.id.removeprefix("S2-"), rule.number):
            return rule
    close = get_close_matches(name.upper(), list(BY_ID), n=1)
    raise UsageError(
        f"there is no rule {name!r}",
        hint=f"did you mean {close[0]}?" if close else "`mentis guardian rules` lists them",
    )
