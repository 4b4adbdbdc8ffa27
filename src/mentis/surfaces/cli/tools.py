"""`mentis tools`: what the agent can do."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from mentis.errors import BadInput, OutsideHome, UsageError
from mentis.values.words import quantity

from .acts_show import outcome_lines
from .asking import confirm, login, refuse_unasked
from .groups import RenamedGroup
from .options import home_option, home_path, persona_option
from .output import say
from .report import Note, Report, Text, prints_report
from .shown import safe
from .tables import TextTable
from .tools_show import act_lines, act_row, problem_lines, tool_lines, tool_row

if TYPE_CHECKING:
    from mentis.settings.tables import TableValue
    from mentis.tools.toolbox import Listing, Toolbox
    from mentis.values.json import JsonObject

_MOST_PAYLOAD = 1024 * 1024
connect_option = click.option(
    "--connect", is_flag=True, help="Start and ask the servers, to list what they offer."
)


@click.group(cls=RenamedGroup)
def tools() -> None:
    """List, try, add and trust the tools of an agent.

    A tool of the settings is a source of acts: a Python file or module, an MCP server, operations
    of an OpenAPI document. What runs code is used only once you trust it.
    """


@tools.command("list", epilog="For example: mentis tools list --connect")
@connect_option
@persona_option
@home_option
@prints_report
def list_tools(*, connect: bool, persona: str | None) -> Report:
    """List every act: its source, its effects, its state, and why it is off."""
    with _open(persona) as box:
        found = _listed(box, connect=connect)

    def text() -> Iterator[Text]:
        columns = ("act", "source", "scope", "external", "idempotent", "state")
        yield TextTable(columns, [act_row(row) for row in found.acts])
        if found.tools:
            columns = ("tool", "kind", "acts", "state")
            yield TextTable(columns, [tool_row(row) for row in found.tools])
        for line in problem_lines(found):
            yield Note(line)

    return Report(found, text())


@tools.command(epilog="For example: mentis tools show web_fetch")
@click.argument("name")
@persona_option
@home_option
@prints_report
def show(name: str, *, persona: str | None) -> Report:
    """Show one act or one tool in full, with what the model is told of it.

    A server is started or called to ask it for its acts.
    """
    from mentis.codec.forms import to_object

    with _open(persona) as box:
        found = _listed(box, connect=box.is_server(name))
        tool = next((row for row in found.tools if row.name == name), None)
        if tool is None:
            shown = box.show(name)
            lines, told = act_lines(shown), to_object(shown)
        else:
            lines, told = tool_lines(tool), to_object(tool)
    return Report(told, (line for line in lines))


@tools.command(epilog="For example: mentis tools check weather")
@click.argument("name", required=False)
@persona_option
@home_option
@prints_report
def check(name: str | None, *, persona: str | None) -> Report:
    """Start every tool, and check what it declares against the rules.

    With NAME only that one. Exit code 1 when anything is wrong.
    """
    with _open(persona) as box:
        if name is not None:
            box.tool(name)
        found = _listed(box, connect=True)
    rows = [row for row in found.tools if name in (None, row.name)]
    wrong = any(row.problems for row in rows)

    def text() -> Iterator[Text]:
        for row in rows:
            yield from tool_lines(row)
        on = sum(row.state == "on" for row in found.acts)
        yield Note(f"{quantity(len(rows), 'tool')}; {quantity(on, 'act')} can be done in all")

    return Report({"ready": not wrong, "tools": rows}, text(), code=1 if wrong else 0)


@tools.command(epilog='For example: mentis tools add time --command "uvx mcp-server-time"')
@click.argument("name")
@click.option("--command", metavar="LINE", help="An MCP server: the program and its arguments.")
@click.option("--url", metavar="URL", help="An MCP server, or where an OpenAPI document is called.")
@click.option("--openapi", metavar="FILE", help="An OpenAPI document, as JSON.")
@click.option("--operation", "operations", multiple=True, metavar="ID", help="One to take from it.")
@click.option("--python", metavar="FILE|MODULE", help="Functions with @tool; a file in the home.")
@click.option("--env", multiple=True, metavar="NAME", help="A variable the program is given.")
@click.option("--key-env", metavar="NAME", help="The variable with the secret for a server.")
@click.option("--key", "keys", multiple=True, metavar="SCHEME=NAME", help="The same for OpenAPI.")
@persona_option
@home_option
@prints_report
def add(  # noqa: PLR0913  # one for each option
    name: str,
    *,
    command: str | None,
    url: str | None,
    openapi: str | None,
    operations: tuple[str, ...],
    python: str | None,
    env: tuple[str, ...],
    key_env: str | None,
    keys: tuple[str, ...],
    persona: str | None,
) -> Report:
    """Write a tool into the settings, trust it, and see whether it works.

    One of --command, --url, --openapi, --python. A server is not started yet: `check` does that.
    Exit code 1 when it was added and something is wrong with it.
    """
    home = home_path()
    values = _sources(home, command=command, url=url, openapi=openapi, python=python)
    lists = {"operations": operations, "env": env}
    values |= {key: list(given) for key, given in lists.items() if given}
    if key_env:
        values["key_env"] = key_env
    if keys:
        values["keys"] = dict(_pair(one) for one in keys)
    with _open(persona) as box:
        box.add(name, values)
    with _open(persona) as box:  # with the settings as they are now
        row = next(row for row in box.listing().tools if row.name == name)
    return Report(row, (line for line in tool_lines(row)), code=1 if row.problems else 0)


@tools.command(epilog="For example: mentis tools trust weather")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@persona_option
@home_option
@prints_report
def trust(name: str, *, yes: bool, persona: str | None) -> Report:
    """Trust a tool of the settings as it is now, with its definitions.

    `builtin` is what the settings of `[acts]` open: programs, hosts, a folder elsewhere, `open`. A
    server is started or called for that. What is remembered, outside the home, is the content of a
    file, a command line, a definition: if it changes, you are asked again. Exit code 1 when it
    still cannot be used.
    """
    with _open(persona) as box:
        wanted, definitions = box.untrusted_digest(name), box.has_definitions(name)
        if wanted is not None:
            if not yes:
                _show_source(box, name)
                confirm("let it run, with the rights you have?")
            box.trust(name, wanted)
    with _open(persona) as box:  # now that it may be used
        if definitions:
            approved, found = _trust_definitions(box, name, yes=yes)
        else:
            approved, found = (), box.listing()
    row = next(row for row in found.tools if row.name == name)

    def text() -> Iterator[Text]:
        yield from tool_lines(row)
        for one in approved:
            yield f"  trusted as it is now: {safe(one)}"

    return Report({"tool": row, "approved": list(approved)}, text(), code=1 if row.problems else 0)


@tools.command(epilog="For example: mentis tools remove weather")
@click.argument("name")
@persona_option
@home_option
@prints_report
def remove(name: str, *, persona: str | None) -> Report:
    """Remove a tool from the settings, and forget that it was trusted."""
    with _open(persona) as box:
        box.remove(name)
    return Report({"removed": name}, f"removed: {name}")


@tools.command(epilog="""For example: mentis tools call remember '{"text": "Tea at four."}'""")
@click.argument("name")
@click.argument("payload", default="{}", metavar="[JSON]")
@persona_option
@home_option
@prints_report
def call(name: str, payload: str, *, persona: str | None) -> Report:
    """Run one act by hand, to try it.

    The arguments are JSON, or - for standard input. They are checked against the schema, and the
    act is recorded like any other; nobody is asked, for you are the one who asks. Exit code 1 when
    it was not done.
    """
    import anyio

    arguments = _payload(payload)
    with _open(persona) as box:
        outcome, faults = anyio.run(box.call, name, arguments)
    for fault in faults:
        say(f"{fault.name}: {safe(fault.why)}")
    return Report(
        outcome, (line for line in outcome_lines(outcome)), code=0 if outcome.state == "done" else 1
    )


def _open(persona: str | None) -> Toolbox:
    from mentis.tools.toolbox import open_toolbox

    return open_toolbox(home_path(), persona)


def _listed(box: Toolbox, *, connect: bool) -> Listing:
    import anyio

    async def list_connected() -> Listing:
        async with box.connect():
            return await anyio.to_thread.run_sync(box.listing)

    return anyio.run(list_connected) if connect else box.listing()


def _show_source(box: Toolbox, name: str) -> None:
    refuse_unasked()
    row = next(row for row in box.listing().tools if row.name == name)
    for line in tool_lines(row):
        say(line)


def _trust_definitions(box: Toolbox, name: str, *, yes: bool) -> tuple[tuple[str, ...], Listing]:
    """What was approved, and how everything stands then."""
    import anyio

    async def settle() -> tuple[tuple[str, ...], Listing]:
        async with box.connect() as connected:
            blocked = box.blocked_acts(name)
            if blocked and not yes:
                for line in (line for shown in blocked for line in act_lines(shown)):
                    say(line)
                await anyio.to_thread.run_sync(confirm, "take these definitions as they are?")
            shown = {one.digest for one in blocked}
            approved = await connected.approve(name, shown, by=login()) if blocked else ()
            return approved, await anyio.to_thread.run_sync(box.listing)

    return anyio.run(settle)


def _sources(
    home: Path, *, command: str | None, url: str | None, openapi: str | None, python: str | None
) -> dict[str, TableValue]:
    if [bool(command or (url and not openapi)), bool(openapi), bool(python)].count(True) != 1:
        raise UsageError(
            "what is it?", hint="give one of --command, --url, --openapi (with --url), --python"
        )
    values: dict[str, TableValue] = {}
    if command:
        values["command"] = _words(command)
    if openapi:
        values["document"] = _from_home(home, openapi)
    if url:
        values["url"] = url
    if python:
        is_file = python.endswith(".py") or "/" in python
        values["file" if is_file else "module"] = _code_in_home(home, python) if is_file else python
    return values


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command: {error}", hint="quote it as a shell would have it") from error


def _from_home(home: Path, given: str) -> str:
    """A file as the home names it: relative where it is inside, wherever it was named from."""
    path, inside = Path(given), home.resolve()
    if not path.is_absolute() and (home / path).exists():
        return given
    found = path.resolve()
    if not found.exists():
        hint = "name it as it is called in the home, or from where you are"
        raise UsageError(f"there is no file {given!r}", hint=hint)
    return str(found.relative_to(inside)) if found.is_relative_to(inside) else str(found)


def _code_in_home(home: Path, given: str) -> str:
    """As `_from_home`; code of another place is not run."""
    name = _from_home(home, given)
    if Path(name).is_absolute():
        hint = f"copy it there first: cp {shlex.quote(given)} {shlex.quote(str(home))}/"
        raise OutsideHome(f"{given} is not in the home {home}", hint=hint, name=given)
    return name


def _pair(given: str) -> tuple[str, str]:
    scheme, equals, variable = given.partition("=")
    if not (scheme and equals and variable):
        raise UsageError(
            f"--key {given!r} is no SCHEME=NAME", hint="for example: --key api=API_KEY"
        )
    return scheme, variable


def _payload(given: str) -> JsonObject:
    from mentis.codec.strict_json import read_outside

    text = sys.stdin.read(_MOST_PAYLOAD + 1) if given == "-" else given
    if len(text) > _MOST_PAYLOAD:
        raise BadInput("the arguments are longer than 1 MiB", hint="that cannot be recorded")
    found = read_outside(text, what="the arguments")
    if not isinstance(found, dict):
        raise BadInput("the arguments are no JSON object", hint="""write them as '{"name": ...}'""")
    return cast("JsonObject", found)
