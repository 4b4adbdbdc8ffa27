"""`mentis channels`: where people already talk, and how to answer them there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .asking import confirm
from .groups import RenamedGroup
from .options import call_parts, home_option, home_path, persona_option, route_option
from .output import printable, say
from .report import Note, Report, Text, prints_report
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.channels.channels import Channels
    from mentis.channels.parts import ChannelNews

_KINDS = ("telegram", "discord", "matrix")
_UNSAID = {"received", "rewritten", "answered", "sent"}


@click.group(cls=RenamedGroup)
def channels() -> None:
    """Talk to an agent on Telegram, Discord or Matrix.

    A room is a session. Everybody is a guest there but you, once you have paired. Keys are named by
    a variable and never written into the home.
    """


@channels.command(epilog="For example: mentis channels add telegram phone")
@click.argument("kind", type=click.Choice(_KINDS))
@click.argument("name")
@click.option(
    "--key-env",
    default="",
    metavar="VARIABLE",
    help="Variable, or entry of the keyring, that holds the token; by default TELEGRAM_BOT_TOKEN,"
    " DISCORD_BOT_TOKEN or MATRIX_ACCESS_TOKEN.",
)
@click.option("--url", default="", metavar="URL", help="Server; of a Matrix account, required.")
@click.option("--user", default="", metavar="ID", help="Id of a Matrix account: @ada:example.org.")
@click.option("--persona", default="", metavar="ID", help="Who answers there.")
@home_option
@prints_report
def add(*, kind: str, name: str, key_env: str, url: str, user: str, persona: str) -> Report:
    """Add a channel to the settings, and let its key go to its server.

    Nothing is called yet. Then pair it, so that it knows you: mentis channels pair NAME.
    """
    made = _opened().add(kind, name, key_env=key_env, persona=persona, url=url, user=user)
    lines: list[Text] = [f"{made.name}: {made.kind}, {made.persona} answers, at {made.server}"]
    if not os.environ.get(made.key_env):
        lines.append(Note(f"its key is read from {made.key_env}, which is not set here"))
    lines.append(Note(f"next: mentis channels pair {made.name}, and mentis run"))
    return Report(made, lines)


@channels.command("list")
@home_option
@prints_report
def list_all() -> Report:
    """List the channels: where they lead, who owns them, what waits."""
    found = _opened().list()
    columns = ["name", "kind", "persona", "server", "state", "owner", "rooms", "waiting", "unknown"]

    def text() -> Iterator[Text]:
        if not found:
            yield Note("There is none yet: mentis channels add telegram NAME")
            return
        rows = [[safe(str(getattr(one, column))) for column in columns] for one in found]
        yield TextTable(columns, rows)
        for one in found:
            if one.state == "untrusted":
                yield Note(f"{one.name}: look at it, then: mentis channels trust {one.name}")
            elif one.state == "unpaired":
                yield Note(f"{one.name} knows no owner: mentis channels pair {one.name}")

    return Report(list(found), text())


@channels.command(epilog="For example: mentis channels pair phone")
@click.argument("name")
@home_option
@prints_report
def pair(*, name: str) -> Report:
    """Print a code that makes you the owner there.

    Send it to the agent in a private room while `mentis run` or `mentis channels run` runs. It
    counts once, for 15 minutes. Whoever was the owner before is a guest from then on.
    """
    code = _opened().pair(name)
    note = Note("Send this to the agent in a private room, within 15 minutes:")
    return Report({"name": name, "code": code}, (note, code))


@channels.command(epilog="For example: mentis channels trust phone")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@prints_report
def trust(*, name: str, yes: bool) -> Report:
    """Let the key of a channel go to its server, as the settings name both now.

    `channels add` does so itself; this is for a channel of a home that came from elsewhere.
    """
    opened = _opened()
    now = opened.status(name)
    if now.state == "untrusted":
        if not yes:
            say(f"{now.name}: {now.key_env}, and what is said in its rooms, to {now.server}")
            confirm("may it be used?")
        opened.trust(name)
    done = opened.status(name)
    return Report(done, f"{done.name}: {done.key_env} may go to {done.server}")


@channels.command(epilog="For example: mentis channels rm phone")
@click.argument("name")
@home_option
@prints_report
def rm(*, name: str) -> Report:
    """Take a channel out of the settings, with its owner. Its sessions and entries stay."""
    _opened().remove(name)
    return Report({"name": name, "removed": True}, Note(f"{name} is used no more"))


@channels.command(epilog="For example: mentis channels run phone")
@click.argument("names", nargs=-1)
@persona_option
@route_option
@home_option
@prints_report
def run(*, names: tuple[str, ...], persona: str | None, route: str) -> Report:
    """Answer in the rooms of these channels, or of all, until you stop it.

    `mentis run` does the same beside everything else an agent does by itself. Ctrl-C or SIGTERM
    ends it; what has no answer by then is answered by the next run.
    """
    import anyio

    from mentis.app.agent import Agent
    from mentis.channels.running import run_until_told

    sent: dict[str, int] = {}

    def heard(news: ChannelNews) -> None:
        sent[news.event] = sent.get(news.event, 0) + 1
        say_news(news)

    async def live() -> None:
        async with Agent.open(home_path(), persona=persona, route=route, parts=call_parts()) as one:
            await run_until_told(one.channels(names, on_news=heard), say)

    anyio.run(live)
    counts = {event.replace(" ", "_"): count for event, count in sorted(sent.items())}
    return Report(counts, [f"{event:<12} {count}" for event, count in counts.items()])


def say_news(news: ChannelNews) -> None:
    """What a person would want to know; that messages come and are answered they see themselves."""
    if news.event not in _UNSAID:
        where = f" {printable(news.room)}" if news.room else ""
        why = f": {printable(news.reason)}" if news.reason else ""
        say(f"channel {news.channel}: {news.event}{where}{why}")


def _opened() -> Channels:
    from mentis.channels.channels import open_channels

    return open_channels(home_path(), call_parts())
