"""Options that many commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar, cast, get_args

import click

from mentis.errors import BadInput, MentisError
from mentis.values.recalled import Stimulus
from mentis.values.request import HistoryScope, ReplyTo

from .files import read_stream
from .missing_key import say_missing_key
from .output import say

if TYPE_CHECKING:
    from mentis.home.parts import Parts
    from mentis.prompts.prompts import Prompts
    from mentis.values.options import CallOptions

T = TypeVar("T")
R = TypeVar("R")
_EXCHANGED = "mentis.exchanged"
MAX_INDEX = 2**53  # no ledger is longer, and a database counts no further


class Number(click.IntRange):
    """A whole number; how far a database counts is no range to tell anybody."""

    name = "number"

    def _describe_range(self) -> str:
        return "" if self.max == MAX_INDEX else super()._describe_range()


def _remember_home(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """`--home` after the command means the same as before it."""
    if value is not None:
        ctx.obj = {**cast("dict[str, object]", ctx.obj or {}), "home": value}


home_option = click.option(
    "--home",
    metavar="FOLDER",
    expose_value=False,
    is_eager=True,  # before what looks into the home, wherever it stands
    callback=_remember_home,
    help="The home to work in (or set MENTIS_HOME).",
)


def _say_default(ctx: click.Context, _param: click.Parameter, persona: str | None) -> str | None:
    """Of several personas, say which one is taken where none was named."""
    if persona is None and not ctx.resilient_parsing:
        default = _default_persona()
        if default:
            say(f"persona {default}: the default of this home")
    return persona


def _default_persona() -> str:
    """Empty where there is no choice to be told of; what is wrong is said by the command."""
    from mentis.stores.files.home import MARKER, Home

    home = Home(home_path())
    if not (home.path / MARKER).is_file() or len(home.personas()) < 2:
        return ""
    from mentis.settings.sources import load_settings

    try:
        return load_settings(home.path, os.environ).model.persona
    except MentisError:
        return ""


persona_option = click.option(
    "--persona",
    metavar="ID",
    callback=_say_default,
    help="Which persona; by default that of `mentis persona use`, or the only one.",
)
every_persona_option = click.option(
    "--persona", metavar="ID", help="Which persona; by default all of the home."
)
step_option = click.option(
    "--step",
    type=Number(1, 1000),
    default=1,
    show_default=True,
    help="Which answer of the turn: one that used tools has several.",
)
route_option = click.option(
    "--route", default="default", show_default=True, metavar="NAME", help="Which route to use."
)
session_option = click.option(
    "--session", default="main", show_default=True, metavar="NAME", help="Which conversation."
)

attach_option = click.option(
    "--attach",
    "attached",
    multiple=True,
    metavar="FILE",
    help="Attach an image, a sound, a video, a PDF or a text; an https address is passed on.",
)
scope_option = click.option(
    "--scope",
    type=click.Choice(get_args(HistoryScope)),
    help="Which past is told: this conversation, with recaps of others, or all as one.",
)
reply_to_option = click.option(
    "--reply-to", metavar="TEXT", help="The earlier message this one answers."
)


def _options(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> CallOptions | None:
    """Values as JSON where they are, else as text; `headers.X-Title=...` sets one of a table."""
    from mentis.codec.option_check import options_from
    from mentis.codec.strict_json import json_or_text

    chosen: dict[str, object] = {}
    for one in given:
        name, sign, text = one.partition("=")
        if not sign or not name:
            raise click.UsageError(f"--set takes NAME=VALUE, and {one!r} is none")
        value = json_or_text(text, what=f"--set {name}")
        name, _, inner = name.partition(".")
        if inner:
            table = chosen.setdefault(name, {})
            cast("dict[str, object]", table)[inner] = value if name == "body" else text
        elif name in ("stop", "betas"):
            chosen[name] = value if isinstance(value, list) else [text]
        else:
            chosen[name] = value
    return options_from(chosen, "--set") if chosen else None


set_option = click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_options,
    help="An option of the call, before the route's: temperature=0, reasoning_effort=high, ...",
)


def takes_choice(kind: type[T]) -> Callable[[Callable[[T], R]], Callable[..., R]]:
    """Hand a command its options as one value: a new option is a field, and no parameter more."""

    def decorate(command: Callable[[T], R]) -> Callable[..., R]:
        @wraps(command)
        def run(**chosen: object) -> R:
            return command(kind(**chosen))

        return run

    return decorate


def home_path() -> Path:
    """The home that was asked for: the option, then MENTIS_HOME, then ~/.mentis. One that lies in
    a database is the newest there is, and what a command changes in its files goes there.
    """
    path = home_place()
    say_missing_key(path)
    if (path / "view.json").is_file():
        _exchange_files(path)
    return path


def home_place() -> Path:
    """The same, and nothing is looked at."""
    return Path(home_named() or Path.home() / ".mentis")


def _exchange_files(home: Path) -> None:
    from mentis.home.view import push_view, refresh

    root = click.get_current_context().find_root()
    if root.meta.get(_EXCHANGED):
        return
    root.meta[_EXCHANGED] = True
    refresh(home, os.environ)
    root.call_on_close(lambda: push_view(home, os.environ))


def home_named() -> str | None:
    """The home as somebody named it, if somebody did."""
    chosen = cast("dict[str, str | None]", click.get_current_context().obj or {}).get("home")
    return chosen or os.environ.get("MENTIS_HOME")


def given_text(text: str | None, file: TextIO | None) -> str | None:
    """The text given with --text or --from-file, if one was."""
    if file is None:
        return text
    try:
        return read_stream(file)
    except UnicodeDecodeError as error:
        raise BadInput(f"{file.name} is not UTF-8: {error}", hint="save it as UTF-8") from error


def given_message(
    text: str,
    attached: Sequence[str],
    reply_to: str | None,
    *,
    scope: HistoryScope | None = None,
) -> Stimulus:
    """The words of a message, with what was given to go with them."""
    from mentis.ask.attachments import attach

    return Stimulus(
        text,
        attachments=tuple(attach(source) for source in attached),
        reply_to=None if reply_to is None else ReplyTo(reply_to),
        scope=scope,
    )


def call_parts() -> Parts:
    """For what makes calls: loading and trying again are told, in our own words only."""
    from stamina.instrumentation import set_on_retry_hooks

    from mentis.home.parts import Parts

    set_on_retry_hooks(())  # it would write lines of its own; this process is ours
    return Parts(on_loading=say, on_retry=say)


def open_prompts(route: str = "default") -> Prompts:
    """The prompts of the home that was asked for, as `route` is told them."""
    from mentis.prompts.prompts import Prompts

    return Prompts.open(home_path(), route=route, author="command line")
