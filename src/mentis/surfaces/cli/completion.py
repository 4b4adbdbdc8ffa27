"""`mentis completion`: shell completion, as click makes it."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mentis.errors import Defect

from .output import emit


@click.command(epilog='For example: eval "$(mentis completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands in your shell."""
    from .main import cli

    maker = get_completion_class(shell)
    if maker is None:
        raise Defect(f"click knows no completion for {shell}")
    emit(maker(cli, {}, "mentis", "_MENTIS_COMPLETE").source())
