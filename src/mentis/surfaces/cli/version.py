"""`mentis version`."""

from __future__ import annotations

import platform
from importlib.metadata import version as installed_version

import click

from .output import emit, emit_json, json_option


@click.command()
@json_option
def version(*, as_json: bool) -> None:
    """Print the version of Mentis and of Python."""
    found = {"mentis": installed_version("mentis"), "python": platform.python_version()}
    if as_json:
        emit_json(found)
    else:
        emit(f"mentis {found['mentis']} (Python {found['python']})")
