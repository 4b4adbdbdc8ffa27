"""`mentis version`."""

from __future__ import annotations

import platform
from importlib.metadata import version as installed_version

import click

from .report import Report, prints_report


@click.command()
@prints_report
def version() -> Report:
    """Print the version of Mentis and of Python."""
    found = {"mentis": installed_version("mentis"), "python": platform.python_version()}
    return Report(found, f"mentis {found['mentis']} (Python {found['python']})")
