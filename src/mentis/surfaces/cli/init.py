"""`mentis init`."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

import click

from mentis.errors import UsageError

from .options import home_option, home_path, home_place
from .output import say
from .report import Report, json_wanted, prints_report


@click.command(epilog="For example: mentis init my-home && mentis --home my-home chat")
@click.argument("folder", required=False)
@click.option(
    "--route", "named", metavar="MODEL", help="Who answers: BACKEND/MODEL, or a GGUF file."
)
@click.option("--yes", is_flag=True, help="Take the best model that is found; ask nothing.")
@click.option("--database", metavar="URL", help="The home lies in a PostgreSQL database.")
@click.option("--schema", default="mentis", metavar="NAME", help="A schema for this home alone.")
@click.option(
    "--secret",
    type=click.Path(path_type=Path, dir_okay=False),
    help="secret.key of the home that is there already: FOLDER shows that one.",
)
@home_option
@prints_report
def init(
    folder: str | None,
    *,
    named: str | None,
    yes: bool,
    database: str | None,
    schema: str,
    secret: Path | None,
) -> Report | None:
    """Create a home with a persona, and choose which model answers.

    FOLDER is where; without it, the home that --home or MENTIS_HOME names, else ~/.mentis.
    Nothing that exists is overwritten.

    At a terminal you are offered what this machine has: running servers (Ollama, llama.cpp, LM
    Studio, vLLM), keys in the environment, GGUF files. Elsewhere nothing is searched for or asked,
    and the embedded model, a test engine, answers; --yes and --route choose a model there, too.
    """
    from mentis.home.create import create_home
    from mentis.home.found_models import best_model, choose_model
    from mentis.stores.files.key_folder import config_folder

    from .model_choice import (
        asks_here,
        look_for_models,
        named_by_route,
        pick_model,
        take_model,
    )
    from .move import lay_out

    if folder == "":
        raise UsageError("the folder has no name", hint="is a variable of your shell unset?")
    model = None if named is None else named_by_route(named)
    if database is not None or secret is not None:
        place = home_place() if folder is None else Path(folder)
        return lay_out(place, database, secret, schema, chosen=model is not None or yes)
    path = create_home(home_path() if folder is None else Path(folder))
    if json_wanted():
        model = best_model(look_for_models()) if model is None and yes else model
        if model is None:
            return Report({"home": str(path)})
        choose_model(path, model)
        return Report({"home": str(path), "model": model.model, "route": dict(model.route)})
    say(f"Made a home in {path}")
    say("  mentis.toml                which model answers")
    say("  profile.toml               who you are")
    say("  personas/ada/persona.toml  who it is")
    say(f"The key that signs its record is in {config_folder(os.environ)}; keep a copy of it.")
    if model is not None:
        take_model(path, model)
    elif yes or asks_here():
        say("Looking for a model to talk to ...")
        search = look_for_models()
        take_model(path, best_model(search) if yes else pick_model(search), search)
    say(f"Next: mentis --home {quote(str(path))} chat")
    return None
