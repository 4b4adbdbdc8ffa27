"""The `mentis` command: which commands there are, and what happens when one fails."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from io import StringIO
from typing import NoReturn, cast

import click

from mentis.errors import MentisError, UsageError

from .output import STOPPED, say, say_all, show_error

# Name: module, help. The help stands here so that `mentis --help` loads no command at all.
COMMANDS = {
    "init": ("init", "Make a home with a shipped persona."),
    "chat": ("chat", "Talk to a persona; the answer streams and the turn is recorded."),
    "sessions": ("sessions", "See conversations, title them, say something anew, sum them up."),
    "afterthought": ("afterthought", "Let a persona think once more, and write if it wants to."),
    "tick": ("tick", "Let an agent think for one moment, with what it senses."),
    "run": ("run", "Let an agent live: it goes on ticking until it is told to stop."),
    "sense": ("sense", "Give an agent something to sense, and see what waits for it."),
    "beat": ("beat", "Let an agent have a moment of its own, and see those it had."),
    "deliver": ("deliver", "Tell what came of acts after the turn that asked for them."),
    "live": ("live", "Print what a voice session is opened with, and what has changed since."),
    "demo": ("demo", "Show one real turn, end to end, and check every claim."),
    "recall": ("recall", "Show which tools, skills and memories come to mind for a task, and why."),
    "assemble": ("assemble", "Print the prompt for a task as one text, or as JSON."),
    "compose": ("compose", "Show what the model would be told, block by block, and why."),
    "render": ("render", "Show the exact payload that would be sent."),
    "normalise": ("normalise", "Read a recorded answer of any wire format into one form."),
    "call": ("call", "Send a payload or a message and print what comes back."),
    "prompts": ("prompts", "See, edit and check the blocks the prompt is made of."),
    "persona": ("persona", "See and make personas, and keep their memory files."),
    "acts": ("acts", "See what waits for your yes, decide, and what became of acts."),
    "tools": ("tools", "See, try, add and trust what the agent can do."),
    "skills": ("skills", "See the skills of a home, and check their files."),
    "memory": ("memory", "Keep, search, check and move what a persona remembers."),
    "people": ("people", "Keep what the agent knows of people, told when they take part."),
    "state": ("state", "See what a persona wants and holds in mind, how that changed; go back."),
    "status": ("status", "Record windows, read the record, verify it."),
    "ledger": ("ledger", "Look at the record, prove and seal it, hand it over."),
    "cost": ("cost", "Say what calls to models cost, and why."),
    "why": ("why", "Say what the model was told in a recorded turn, and why."),
    "replay": ("replay", "Put a recorded turn together again, and say whether it is the same."),
    "fork": ("fork", "Change one block of a recorded turn, and see what else changes."),
    "guardian": ("guardian", "See the rules for windows, check one, prove a profile."),
    "record": ("record", "Record what another agent asks of models; start it, or stand by."),
    "mcp": (
        "mcp",
        "Serve the ledger and the prompts to an MCP client on standard input and output.",
    ),
    "serve": (
        "serve",
        "Let existing clients talk to the agents of a home, as if each were a model.",
    ),
    "studio": (
        "studio",
        "Open a window on a home in the browser: talk, and see what the model was told and why.",
    ),
    "tokens": ("tokens", "Make, list and revoke the tokens that clients reach your agents with."),
    "manifest": (
        "manifest",
        "Prepare tools, skills and screening patterns, and check what is prepared.",
    ),
    "screening": (
        "screening",
        "Test the filter for text from outside, ask why, make it fit your text.",
    ),
    "eval": ("eval", "Measure the parts that choose, on fixed sets of examples."),
    "routes": (
        "routes",
        "See and add where requests can go, whether they get there, and trust them with keys.",
    ),
    "models": ("models", "Fetch, find and remove packaged model weights."),
    "settings": (
        "settings",
        "Show every setting, its value and where it came from; set and unset one.",
    ),
    "completion": ("completion", "Print the script that completes commands in your shell."),
    "version": ("version", "Print the version of Mentis and of Python."),
}
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
        return getattr(module, cmd_name)

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
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: mentis demo",
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
    if "--json" in args:
        show_error(UsageError(error.format_message(), hint="--help says how"), as_json=True)
        return
    held = StringIO()
    error.show(held)
    say(held.getvalue().removesuffix("\n"))


def _tell(error: Exception, args: list[str]) -> None:
    match error:
        case click.Abort():
            say("stopped")
        case MentisError():
            show_error(error, as_json="--json" in args)
        case OSError(errno=errno.ENOSPC):
            say(f"mentis: {error}")
        case _:
            _report(error, args)


def _report(error: Exception, args: list[str]) -> None:
    from .crash import write_report

    say(f"mentis: this is a defect in Mentis: {type(error).__name__}: {error}")
    say(f"The full report is in {write_report(error, args)}")
