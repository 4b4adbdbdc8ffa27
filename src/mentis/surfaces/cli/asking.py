"""A person at a terminal is asked; anything else has to say --yes."""

from __future__ import annotations

import getpass
import sys

import click

from mentis.errors import UsageError

from .output import as_talk


def refuse_unasked() -> None:
    """UsageError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise UsageError("this is not asked without a terminal", hint="say --yes if you mean it")


def confirm(question: str) -> None:
    """Abort unless the answer is yes."""
    refuse_unasked()
    if not click.confirm(as_talk(question), err=True):
        raise click.Abort


def login() -> str:
    """Who is at it, as far as the system knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no variable, and no entry for this user
        return "owner"
