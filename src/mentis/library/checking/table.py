"""Every rule of the checker: its code, how grave it is, and what it finds. The one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mentis.values.value import Value

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Rule(Value):
    code: str
    severity: Severity
    what: str


RULES: tuple[Rule, ...] = (
    # files and entries
    Rule("prompt-file", "error", "a file or an entry cannot be read"),
    Rule("prompt-no-blocks", "error", "the shipped manifest has no block"),
    Rule("prompt-missing-field", "error", "a required field is missing"),
    Rule("prompt-bad-value", "error", "a field has a type or a value that is not allowed"),
    Rule("prompt-unsafe-file", "error", "`domain_file` is not the plain name of a .json file"),
    Rule("prompt-no-content", "error", "the domain file holds no entry for the block"),
    Rule(
        "prompt-stray-content", "warning", "a domain file holds an entry no manifest places there"
    ),
    # wordings
    Rule("prompt-no-variants", "error", "a block has no variant"),
    Rule("prompt-no-wording", "error", "a text variant has no content, or another no messages"),
    Rule("prompt-bad-message", "error", "a message lacks its role or content, or has a wrong one"),
    Rule("prompt-no-default", "warning", "a block has no default variant to fall back on"),
    Rule("prompt-empty-default", "warning", "the default variant is empty"),
    Rule("prompt-fence", "error", "text closes or imitates a marker that Mentis sets itself"),
    Rule("prompt-max-tokens", "warning", "a text is longer than the block's own `max_tokens`"),
    # places and conditions
    Rule("prompt-target-position", "error", "target and position do not go together"),
    Rule("prompt-type-target", "warning", "messages stand where only text is told"),
    Rule("prompt-duplicate-order", "warning", "blocks told together have the same order"),
    Rule("prompt-unknown-variant", "warning", "`variant_condition` names a variant no block has"),
    Rule("prompt-unknown-key", "warning", "a `requires_` condition asks for an unregistered key"),
    Rule("prompt-lone-group", "warning", "a group has one member, so there is nothing to choose"),
    Rule("prompt-keep-with", "warning", "`keep_with` names a block there is not, or itself"),
    # placeholders
    Rule("prompt-unknown-placeholder", "warning", "a placeholder in a text is not registered"),
    Rule("prompt-odd-braces", "warning", "braces look like a placeholder and are plain text"),
    Rule("prompt-placeholders-used", "warning", "`placeholders_used` is not what the texts use"),
    Rule("prompt-turn-in-stable", "error", "a block declared stable tells what changes each turn"),
    Rule("prompt-turn-undeclared", "warning", "a value that changes each turn moves a whole block"),
    Rule("prompt-bad-phase", "error", "`resolve_phase` is not one of the three phases"),
    Rule("prompt-phase-source", "error", "phase and source of a placeholder do not go together"),
    Rule("prompt-no-function", "error", "a computed placeholder names no function"),
    Rule("prompt-unused-placeholder", "warning", "an own placeholder is used nowhere"),
)
SEVERITIES: dict[str, Severity] = {rule.code: rule.severity for rule in RULES}
# What an import plan may say. Nothing of it is written by the import.
IMPORT_RULES: tuple[Rule, ...] = (
    Rule("import-invalid", "error", "a block or placeholder of the archive is wrong; it stays out"),
    Rule("import-constitution", "error", "the archive would change the constitution; needs force"),
    Rule("import-ignored", "warning", "a member of the archive is no part of a prompt set"),
)
