"""`mentis assemble`: the prompt for a task as one text, or as JSON with all that led to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from mentis.values.words import quantity

from .files import read_bytes
from .options import home_option, home_path, persona_option, session_option
from .output import say
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.home.events import Event
    from mentis.values.assembly import AssembledPrompt

mode_option = click.option(
    "--mode",
    type=click.Choice(["plan", "act", "review", "auto"]),
    default="auto",
    show_default=True,
    help="How the task is taken; auto goes by hints, then by its words.",
)

connect_option = click.option(
    "--connect", is_flag=True, help="Start and ask the tool servers, to choose from theirs too."
)


@click.command(epilog='For example: mentis assemble "Investigate why the build fails" --json')
@click.argument("task")
@mode_option
@click.option("--interactive", is_flag=True, help="Hint: somebody is there to ask; means plan.")
@click.option("--git-changes", is_flag=True, help="Hint: work has begun; means act.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder the task is about; without it, the one you are in.",
)
@click.option("--timings", is_flag=True, help="Add how long each part took; not the same twice.")
@click.option("--events", is_flag=True, help="Print the event as a line of JSON on stderr.")
@connect_option
@session_option
@persona_option
@home_option
@prints_report
def assemble(  # noqa: PLR0913  # one for each option
    task: str,
    *,
    mode: str,
    interactive: bool,
    git_changes: bool,
    root: Path | None,
    timings: bool,
    events: bool,
    connect: bool,
    session: str,
    persona: str | None,
) -> Report:
    """Print the prompt for a task as one text, or as JSON.

    Constitution and rules, runtime context, untrusted context, tools and skills, task: each part
    stands under its heading. Nothing is sent. The same inputs give the same bytes. TASK can be -
    to read it from stdin.
    """
    from mentis.app.unstored import open_anyhow
    from mentis.assemble.result import assembled_data
    from mentis.home.parts import Parts

    words = given_task(task)
    with open_anyhow(
        home_path(), persona=persona, parts=Parts(on_event=_tell if events else None)
    ) as agent:

        async def made_now() -> AssembledPrompt:
            if connect:
                await agent.connect()
            return await agent.assemble(
                words,
                mode=mode,
                root=root or Path.cwd(),
                interactive=interactive,
                git_changes=git_changes,
                session=session,
                timings=timings,
            )

        made = anyio.run(made_now)
    return Report(assembled_data(made), (made.prompt, _lines(made)))


def given_task(task: str) -> str:
    """The task, from stdin if it is a dash."""
    from mentis.errors import BadInput

    if task != "-":
        return task
    try:
        return read_bytes("-").decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"stdin is not UTF-8: {error}", hint="save it as UTF-8") from error


def _lines(made: AssembledPrompt) -> Iterator[Text]:
    metrics = made.metrics
    why = f": {metrics.decided.why}" if metrics.decided.why else ""
    tokens, whole = metrics.estimatedTokens, metrics.monolithicTokens
    fewer = f", {1 - tokens / whole:.0%} fewer" if whole > tokens else ""
    yield Note(
        f"mode {made.mode} ({metrics.decided.rule}{why}), {tokens} tokens of {whole} with every"
        f" tool and skill{fewer}; {quantity(metrics.embeddingCalls, 'text', 'texts')} embedded"
    )
    for cut in metrics.cuts:
        yield Note(f"cut: {cut.layer}: {cut.what}, {cut.tokens} tokens ({cut.reason})")
    for step in metrics.degraded:
        yield Note(f"note: {step.part}: {step.reason}")
    if metrics.timings is not None:
        took = ", ".join(f"{part} {ms:g}" for part, ms in metrics.timings.items())
        yield Note(f"milliseconds: {took}")


def _tell(event: Event) -> None:
    import json

    say(json.dumps({"event": event.name, **event.facts}, ensure_ascii=False))
