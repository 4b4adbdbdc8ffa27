"""Groups of commands, and choices, whose other names work too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

_WHOLE = 10_000  # letters; no sentence is cut


class RenamedGroup(click.Group):
    """`names` are other names of commands; `rm` and `remove` mean the same everywhere.

    Help lists what a command is called now.
    """

    def __init__(self, *args: Any, names: Mapping[str, str] | None = None, **options: Any) -> None:  # noqa: ANN401  # click's own
        super().__init__(*args, **options)
        self._names = {"rm": "remove", "remove": "rm", **(names or {})}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its whole first sentence, however narrow the terminal is."""
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in named if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in self._names:
            found = super().get_command(ctx, self._names[cmd_name])
        return found


class RenamedChoice(click.Choice[str]):
    """A choice; `older` are other words for some of it, which help does not list."""

    def __init__(self, choices: Sequence[str], older: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._older = older

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401  # click's own
        return super().convert(self._older.get(value, value), param, ctx)
