"""The `mentis` command: which commands there are, and what happens when one fails."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from io import StringIO
from keyword import iskeyword
from textwrap import fill
from typing import NoReturn, cast

import click

from mentis.errors import MentisError, UsageError

from .logs import log_error, log_scope, log_usage, logs_json
from .notices import told_notices
from .output import STOPPED, say, say_all, show_error

# Group: name: module, help. The help stands here so that `mentis --help` loads no command at all.
START = "Start here"
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    START: {
        "init": ("init", "Create a home with a persona, and choose which model answers."),
        "chat": ("chat", "Talk to a persona; answers stream, and turns are recorded."),
        "studio": ("studio", "Open the studio in your browser: eight screens on a home."),
        "why": ("why", "Show what the model was told in a recorded turn, and why."),
        "cost": ("cost", "Show what model calls cost, and why."),
        "verify": ("status_verify", "Check every entry against its hash and its predecessor."),
    },
    "Talk": {
        "sessions": ("sessions", "List, search, title, edit and summarise conversations."),
        "afterthought": (
            "afterthought",
            "Let a persona think once more, and write if it wants to.",
        ),
        "deliver": ("deliver", "Deliver the results of acts that arrived after their turn."),
        "compare": (
            "compare",
            "Answer messages in two ways, check each answer, compare pass rates.",
        ),
        "live": ("live", "Print the prompt that opens a voice session, and its updates."),
        "channels": (
            "channels",
            "Talk to an agent on Telegram, Discord or Matrix.",
        ),
        "serve": ("serve", "Serve the agents of a home to existing clients, as models."),
        "tokens": ("tokens", "Create, list and revoke the tokens that clients use."),
    },
    "Prompts and personas": {
        "prompts": ("prompts", "See, edit and check the blocks that prompts are made of."),
        "persona": ("persona", "See and create personas, and edit their memory files."),
        "compose": ("compose", "Show what the model would be told, block by block, and why."),
        "render": ("render", "Show the exact payload that would be sent."),
        "recall": ("recall", "Show which tools, skills and memories a task recalls, and why."),
        "assemble": ("assemble", "Print the prompt for a task as one text, or as JSON."),
    },
    "Memory": {
        "memory": ("memory", "Add, search, check, export and import memories."),
        "people": ("people", "Keep notes on people, for conversations they take part in."),
        "state": ("state", "See and edit a persona's goals and what it holds in mind."),
        "screening": ("screening", "Test, explain and calibrate the filter for outside text."),
    },
    "Tools": {
        "tools": ("tools", "List, try, add and trust the tools of an agent."),
        "skills": ("skills", "List the skills of a home, and check their files."),
        "acts": ("acts", "Approve or deny acts, and see what became of each."),
        "mcp": ("mcp", "Serve the record and the prompts to an MCP client, on stdio."),
    },
    "The record": {
        "export": (
            "ledger",
            "Write one file that an auditor can check without Mentis.",
        ),
        "ledger": ("ledger", "Inspect, prove and seal the record; erase, rotate, repair."),
        "status": ("status", "Record status windows; list, count and check entries."),
        "guardian": ("guardian", "List the rules for windows, check one, prove a profile."),
        "replay": ("replay", "Rebuild the prompt of a recorded turn, and compare every byte."),
        "fork": ("fork", "Change one block of a recorded turn, and see the difference."),
        "record": ("record", "Record the model calls of another program."),
        "witness": ("witness", "Run a witness, which countersigns records that only grow."),
    },
    "Living": {
        "run": ("run", "Let an agent live: tick after tick, until you stop it."),
        "tick": ("tick", "Let an agent think for one moment, with what it senses."),
        "sense": ("sense", "Queue something for an agent to sense, and manage the queue."),
        "worker": ("worker", "Serve the agents of a home in a database, beside other workers."),
        "workers": ("worker", "List the workers of a home, and have some end."),
        "send": (
            "worker",
            "Put a message of the owner into the inbox of an agent that workers serve.",
        ),
        "beat": ("beat", "Give an agent a moment of its own, and list past ones."),
    },
    "In and out": {
        "import": (
            "import_",
            "Move in from another program: what you had there becomes yours here.",
        ),
        "doctor": ("doctor", "Read logs of other programs: what costs, and what to change."),
        "backup": ("backup", "Add a backup of a home to a file, while everything runs."),
        "restore": ("backup", "Turn a backup into a home: a new one, or in its old place."),
        "move": ("move", "Move a home into a PostgreSQL database, or back."),
        "view": ("move", "Exchange the files of a home in a database with its folder."),
        "adopt": ("adopt", "Turn a copy into a home of its own, with a new log and key."),
    },
    "Setup": {
        "routes": ("routes", "List, add, check and trust the routes to models."),
        "trust": ("trust", "List what a home may reach, run, read or send; take it back."),
        "models": ("models", "Find models on this machine, add a file, choose who answers."),
        "settings": ("settings", "Show every setting and where it comes from; set, unset."),
        "upgrade": ("upgrade", "Show what this version changes in a home; --apply does it."),
        "completion": ("completion", "Print the script that completes commands in your shell."),
        "version": ("version", "Print the version of Mentis and of Python."),
    },
    "For developers": {
        "demo": ("demo", "Show one real turn, end to end, and check every claim."),
        "call": ("call", "Send a payload or a message, and print what comes back."),
        "normalise": (
            "normalise",
            "Convert a recorded answer from any wire format to one common form.",
        ),
        "manifest": ("manifest", "Embed tools, skills and screening patterns ahead of time."),
        "eval": ("eval", "Measure selection, memory, screening and answers on sets of examples."),
    },
}
COMMANDS = {name: found for group in GROUPS.values() for name, found in group.items()}
_OLD_NAMES = {"grillo": "beat"}


class LazyGroup(click.Group):
    """A group that imports a command only when it is run."""

    # ruff: noqa: ARG002  # click's own signatures

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = _OLD_NAMES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"mentis.surfaces.cli.{COMMANDS[cmd_name][0]}")
        return getattr(module, f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in (*COMMANDS, *_OLD_NAMES) and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # One left edge for all groups.
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), text) for name, (_, text) in commands.items()]
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            say(_first_screen(ctx))
            ctx.exit(2)
        return super().parse_args(ctx, args)


def _first_screen(ctx: click.Context) -> str:
    """Fits 80 by 24, the next prompt included: what a newcomer needs, and the names of the rest."""
    formatter = ctx.make_formatter()
    formatter.write("Git blame for everything your agent was told and did.\n")
    with formatter.section(START):
        formatter.write_dl([(name, text) for name, (_, text) in GROUPS[START].items()])
    formatter.write("\nMore:\n")
    width = max(map(len, GROUPS))
    for title in (title for title in GROUPS if title != START):
        head = f"  {title.ljust(width)}  "
        names = fill(
            " ".join(GROUPS[title]), 80, initial_indent=head, subsequent_indent=" " * len(head)
        )
        formatter.write(f"{names}\n")
    formatter.write("\nmentis --help says what each does, mentis COMMAND --help how.\n")
    return formatter.getvalue().rstrip("\n")


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Six commands are enough to begin: those under Start here. See it work: mentis demo",
)
@click.option("--home", metavar="FOLDER", help="The home to work in (or set MENTIS_HOME).")
@click.option("--debug", is_flag=True, help="Show the whole traceback when something breaks.")
@click.version_option(package_name="mentis", prog_name="mentis")
@click.pass_context
def cli(ctx: click.Context, home: str | None, debug: bool) -> None:
    """Git blame for everything your agent was told and did.

    Mentis compiles a persona into the exact bytes a model sees, runs the turn, and keeps a
    record that nobody can quietly rewrite.
    """
    ctx.obj = {"home": home, "debug": debug}


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command: exit code 0 when it did what it says, 1 when it failed, 2 on wrong usage.

    130 when Ctrl-C cut it short.
    """
    sys.exit(run(sys.argv[1:] if args is None else args))


def run(args: list[str]) -> int:
    """The exit code of a command line; everything that can go wrong is reported here."""
    say_all()
    try:
        with told_notices(), log_scope():
            return _run(args)
    except BaseException as error:
        if not _interrupted(error):
            raise
        say("stopped")
        return STOPPED


def _run(args: list[str]) -> int:
    try:
        result: object = cli.main(args, prog_name="mentis", standalone_mode=False)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        _show_usage(error, args)
        return 2
    except SystemExit:
        # click ends so, and only so, when the reader went away (`mentis ... | head`).
        return _gone()
    except BrokenPipeError:
        return _gone()
    except Exception as error:  # the surface is the last boundary: it reports
        if "--debug" in args or _interrupted(error):
            raise
        _tell(error, args)
        return 2 if isinstance(error, UsageError) else 1
    return result if isinstance(result, int) else 0


def _interrupted(error: BaseException) -> bool:
    """Ctrl-C, however it arrives: click makes an `Abort` of it, a task group a group."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return group.subgroup(KeyboardInterrupt) is not None
    if isinstance(error, click.Abort):
        return isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    return isinstance(error, KeyboardInterrupt)


def _gone() -> int:
    """Nobody listens any more, and nothing is wrong: what is still buffered has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _show_usage(error: click.ClickException, args: list[str]) -> None:
    if log_usage(error, args):
        return
    if "--json" in args:
        show_error(UsageError(error.format_message(), hint="--help says how"), as_json=True)
        return
    held = StringIO()
    error.show(held)
    say(held.getvalue().removesuffix("\n"))


def _tell(error: Exception, args: list[str]) -> None:
    from .crash import tell_defect

    match error:
        case click.Abort():
            say("stopped")
        case MentisError() if logs_json():
            log_error(error)
        case MentisError():
            show_error(error, as_json="--json" in args)
        case OSError(errno=errno.ENOSPC):
            say(f"mentis: {error}")
        case _:
            tell_defect(error, args)
