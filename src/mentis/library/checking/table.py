"""Every rule of the checker: its code, how grave it is, and what it finds. The one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mentis.values.value import Value

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class CheckRule(Value):
    code: str
    severity: Severity
    what: str


RULES: tuple[CheckRule, ...] = (
    # files and entries
    CheckRule("prompt-file", "error", "a file or an entry cannot be read"),
    CheckRule("prompt-no-blocks", "error", "the shipped manifest has no block"),
    CheckRule("prompt-missing-field", "error", "a required field is missing"),
    CheckRule("prompt-bad-value", "error", "a field has a type or a value that is not allowed"),
    CheckRule("prompt-unsafe-file", "error", "`domain_file` is not the plain name of a .json file"),
    CheckRule("prompt-no-content", "error", "the domain file holds no entry for the block"),
    CheckRule(
        "prompt-stray-content", "warning", "a domain file holds an entry no manifest places there"
    ),
    # wordings
    CheckRule("prompt-no-variants", "error", "a block has no variant"),
    CheckRule(
        "prompt-no-wording", "error", "a text variant has no content, or another no messages"
    ),
    CheckRule(
        "prompt-bad-message", "error", "a message lacks its role or content, or has a wrong one"
    ),
    CheckRule("prompt-no-default", "warning", "a block has no default variant to fall back on"),
    CheckRule("prompt-empty-default", "warning", "the default variant is empty"),
    CheckRule("prompt-fence", "error", "text closes or imitates a marker that Mentis sets itself"),
    CheckRule("prompt-max-tokens", "warning", "a text is longer than the block's own `max_tokens`"),
    # places and conditions
    CheckRule("prompt-target-position", "error", "target and position do not go together"),
    CheckRule("prompt-type-target", "warning", "messages stand where only text is told"),
    CheckRule("prompt-duplicate-order", "warning", "blocks told together have the same order"),
    CheckRule(
        "prompt-unknown-variant", "warning", "`variant_condition` names a variant no block has"
    ),
    CheckRule(
        "prompt-unknown-key", "warning", "a `requires_` condition asks for an unregistered key"
    ),
    CheckRule(
        "prompt-lone-group", "warning", "a group has one member, so there is nothing to choose"
    ),
    CheckRule("prompt-keep-with", "warning", "`keep_with` names a block there is not, or itself"),
    # placeholders
    CheckRule("prompt-unknown-placeholder", "warning", "a placeholder in a text is not registered"),
    CheckRule("prompt-odd-braces", "warning", "braces look like a placeholder and are plain text"),
    CheckRule(
        "prompt-placeholders-used", "warning", "`placeholders_used` is not what the texts use"
    ),
    CheckRule(
        "prompt-turn-in-stable", "error", "a block declared stable tells what changes each turn"
    ),
    CheckRule(
        "prompt-turn-undeclared", "warning", "a value that changes each turn moves a whole block"
    ),
    CheckRule("prompt-bad-phase", "error", "`resolve_phase` is not one of the three phases"),
    CheckRule(
        "prompt-phase-source", "error", "phase and source of a placeholder do not go together"
    ),
    CheckRule("prompt-no-function", "error", "a computed placeholder names no function"),
    CheckRule("prompt-unused-placeholder", "warning", "an own placeholder is used nowhere"),
)
SEVERITIES: dict[str, Severity] = {rule.code: rule.severity for rule in RULES}
# What an import plan may say. Nothing of it is written by the import.
IMPORT_RULES: tuple[CheckRule, ...] = (
    CheckRule(
        "import-invalid", "error", "a block or placeholder of the archive is wrong; it stays out"
    ),
    CheckRule(
        "import-constitution", "error", "the archive would change the constitution; needs force"
    ),
    CheckRule("import-ignored", "warning", "a member of the archive is no part of a prompt set"),
)
