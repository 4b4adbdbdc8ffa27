"""Rules of the guardian and proofs of its profiles as JSON: the same for every surface."""

from __future__ import annotations

import json
from typing import cast

from mentis.codec.forms import to_object
from mentis.ledger.guardian.case import Rule
from mentis.ledger.guardian.examples import EXAMPLES
from mentis.ledger.guardian.profiles import SHIPPED, level_of, level_words
from mentis.ledger.guardian.prove import ProfileProof
from mentis.library.load import load_shipped
from mentis.values.guardian import GuardianProfile
from mentis.values.value import Value


def rule_data(rule: Rule, profile: GuardianProfile) -> dict[str, object]:
    return {
        "number": rule.number,
        "id": rule.id,
        "level": level_of(profile, rule),
        "settled": [name for name in rule.yields if name in profile.settles],
        "stage": rule.stage,
        "kind": rule.kind,
        "what": rule.what,
        "why": rule.why,
        "hint": rule.fix,
    }


def rule_explanation(rule: Rule) -> dict[str, object]:
    """A rule, what each profile does about it, what passes and what breaks it."""
    example = EXAMPLES.get(rule.id)
    told = {
        **rule_data(rule, SHIPPED["mentis"]),
        "levels": {name: level_words(profile, rule) for name, profile in SHIPPED.items()},
        "passes": example.passes.to_object() if example else None,
        "breaks": example.breaks.to_object() if example else None,
        "prompt": prompt_line(rule),
    }
    return cast("dict[str, object]", json.loads(json.dumps(told, default=_plain)))


def proof_data(proof: ProfileProof) -> dict[str, object]:
    return {
        "profile": proof.profile,
        "digest": proof.digest,
        "cells": len(proof.cells),
        "satisfied": proof.satisfied_cells,
        "points": proof.points,
        "evaluated": proof.evaluated,
        "conflicts": [
            {
                "name": conflict.name or None,
                "rules": list(conflict.rules),
                "situation": conflict.situation,
                "type": conflict.type,
                "cells": conflict.cells,
            }
            for conflict in proof.conflicts
        ],
        "witnesses": [
            {"situation": cell.situation, "type": cell.type, "window": cell.window}
            for cell in proof.cells
            if cell.plain
        ],
    }


def prompt_line(rule: Rule) -> str | None:
    """The line of the library that tells the model a rule no program can check."""
    if not rule.prompt:
        return None
    block = load_shipped().block(rule.prompt)
    lines = block.variants["default"].content.splitlines() if block else []
    return next((line for line in lines if line.startswith(f"- {rule.id}:")), None)


def _plain(value: object) -> object:
    return to_object(value) if isinstance(value, Value) else str(value)
