"""Options of an export: which texts go with it, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mentis.errors import UsageError

if TYPE_CHECKING:
    from mentis.record.redaction import RedactionRule


@dataclass(frozen=True, slots=True)
class DisclosureOptions:
    with_texts: bool
    patterns: tuple[str, ...]
    fields: tuple[str, ...]
    files: tuple[Path, ...]

    def rules(self) -> list[RedactionRule]:
        from mentis.record.redaction import make_rules, read_rules

        named = [rule for file in self.files for rule in read_rules(file)]
        return [*named, *make_rules(self.patterns, self.fields)]

    def refuse(self, with_what: str) -> None:
        if self.with_texts or self.patterns or self.fields or self.files:
            raise UsageError(
                f"{with_what} has no texts in it, and nothing to leave out",
                hint="give --with-texts and rules with --format bundle",
            )


def disclosure_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and hands them over as one value, `disclosed`."""

    @click.option(
        "--with-texts",
        is_flag=True,
        help="Put conversations, prompts and results beside their digests.",
    )
    @click.option(
        "--redact",
        multiple=True,
        metavar="PATTERN",
        help="Leave out every text and field that this regular expression finds; repeatable.",
    )
    @click.option(
        "--leave-out",
        multiple=True,
        metavar="FIELD",
        help="Leave out a field (payload) or the text of a digest (digests/payload); may hold *.",
    )
    @click.option(
        "--rules",
        "files",
        multiple=True,
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help="Rules in TOML: [[rule]] with name, field, pattern.",
    )
    @wraps(command)
    def with_disclosure(
        *args: object,
        with_texts: bool,
        redact: tuple[str, ...],
        leave_out: tuple[str, ...],
        files: tuple[Path, ...],
        **rest: object,
    ) -> object:
        chosen = DisclosureOptions(with_texts, redact, leave_out, files)
        return command(*args, disclosed=chosen, **rest)

    return with_disclosure
