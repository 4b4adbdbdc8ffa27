"""Groups of commands, and choices, whose other names work too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click


class RenamedGroup(click.Group):
    """`names` are other names of commands; `rm` and `remove` mean the same everywhere.

    Help lists what a command is called now.
    """

    def __init__(self, *args: Any, names: Mapping[str, str] | None = None, **options: Any) -> None:  # noqa: ANN401  # click's own
        super().__init__(*args, **options)
        self._names = {"rm": "remove", "remove": "rm", **(names or {})}

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
