"""Groups of commands whose older names still work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click


class RenamedGroup(click.Group):
    """`names` are older names of commands; `rm` and `remove` mean the same everywhere.

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
