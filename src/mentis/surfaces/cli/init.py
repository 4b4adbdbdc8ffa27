"""`mentis init`."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

import click

from mentis.errors import UsageError

from .options import home_option, home_path
from .output import emit_json, json_option, say


@click.command(epilog="For example: mentis init my-home && mentis --home my-home chat")
@click.argument("folder", required=False)
@home_option
@json_option
def init(folder: str | None, *, as_json: bool) -> None:
    """Make a home with a shipped persona.

    FOLDER is where; without it, the home that --home or MENTIS_HOME names, else ~/.mentis.
    Nothing that exists is overwritten.
    """
    from mentis.home.create import create_home
    from mentis.stores.files.key_folder import config_folder

    if folder == "":
        raise UsageError("the folder has no name", hint="is a variable of your shell not set?")
    path = create_home(home_path() if folder is None else Path(folder))
    if as_json:
        emit_json({"home": str(path)})
        return
    say(f"Made a home in {path}")
    say("  mentis.toml                which model answers")
    say("  profile.toml               who you are")
    say("  personas/ada/persona.toml  who it is")
    say(f"The key that signs its record is in {config_folder(os.environ)}; keep a copy of it.")
    say(f"Next: mentis --home {quote(str(path))} chat")
