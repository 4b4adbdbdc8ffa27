"""A home whose signing key is not here says so before anything else, once a command."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mentis.errors import MentisError

from .output import say

_TOLD = "mentis.missing_key"
_MENDING = ("mentis ledger checkpoint", "mentis status health")  # they have more to say of it


def say_missing_key(path: Path) -> None:
    """One line on stderr. What is wrong with the home itself is for the command to say."""
    from mentis.stores.files.home import MARKER, Home

    context = click.get_current_context()
    if _TOLD in context.meta or context.command_path in _MENDING or not (path / MARKER).is_file():
        return
    context.meta[_TOLD] = True
    from mentis.home.signing import missing_key
    from mentis.settings.sources import load_settings

    try:
        fault = missing_key(Home(path), load_settings(path, os.environ), os.environ)
    except MentisError:
        return
    if fault is not None:
        say(f"warning: {fault.reason}; {fault.remedy}")
