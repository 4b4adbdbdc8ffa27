"""Logs for a service: `--log-format json` makes every line on stderr one JSON object.

Each has `time`, `level` and `event`, and where they apply `persona`, `session` and `entry`. What
was said is in none of them: events tell names and numbers, and key-shaped text is struck out.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from .output import saying_through

if TYPE_CHECKING:
    from mentis.errors import MentisError
    from mentis.tick.events import TickEvent

F = TypeVar("F", bound=Callable[..., object])
_LOG = logging.getLogger("mentis.service")
# Facts of events that name things; others are told only if they are numbers.
_GRAVE = {"warning: ": logging.WARNING, "mentis: ": logging.ERROR}
_SECTIONS = ("input_ir_", "output_ir_", "final_")  # the text of a tick, which is not told here
_NAMES = frozenset({"session", "act", "kind", "code", "stage"})
_scopes: list[ExitStack] = []  # of the command lines that run in this process; the innermost last
_begun: set[ExitStack] = set()


class JsonLogFormatter(logging.Formatter):
    """`event` and `facts` of a record become members; one without them is an event `log`."""

    def format(self, record: logging.LogRecord) -> str:
        from mentis.net.redact import redact_bytes

        event: str = getattr(record, "event", "log")
        facts: Mapping[str, object] = getattr(record, "facts", {})
        line: dict[str, object] = {
            "time": _moment(record.created),
            "level": record.levelname.lower(),
            "event": event,
        }
        if event == "log":
            line |= {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        written = json.dumps({**line, **facts}, ensure_ascii=True, default=str)
        return redact_bytes(written.encode(), ()).decode("utf-8", "replace")


def _moment(seconds: float) -> str:
    when = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{when.isoformat(timespec='milliseconds')}Z"


def log_option(command: F) -> F:
    """Add `--log-format`, which takes effect before the command begins."""
    return click.option(
        "--log-format",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        envvar="MENTIS_LOG_FORMAT",
        show_envvar=True,
        expose_value=False,
        is_eager=True,
        callback=_choose,
        help="Lines on stderr for people, or JSON for a service: events, never what was said.",
    )(command)


def _choose(ctx: click.Context, _param: click.Parameter, chosen: str) -> None:
    if chosen == "json" and not ctx.resilient_parsing and _scopes:
        scope = _scopes[-1]
        if scope not in _begun:
            _begun.add(scope)
            scope.enter_context(_json_lines())
            scope.callback(_begun.discard, scope)


@contextmanager
def log_scope() -> Generator[None]:
    """For the length of a command line, whatever it chooses."""
    with ExitStack() as scope:
        _scopes.append(scope)
        try:
            yield
        finally:
            _scopes.remove(scope)


@contextmanager
def _json_lines() -> Generator[None]:
    """Other people's libraries are heard from warnings on; our own events all."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLogFormatter())
    root, ours = logging.getLogger(), (_LOG, logging.getLogger("mentis.record"))
    levels = [logger.level for logger in ours]
    root.addHandler(handler)
    for logger in ours:
        logger.setLevel(logging.INFO)
    try:
        with saying_through(_log_message):
            yield
    finally:
        root.removeHandler(handler)
        for logger, level in zip(ours, levels, strict=True):
            logger.setLevel(level)


def logs_json() -> bool:
    """Whether lines on stderr are JSON just now."""
    return bool(_scopes) and _scopes[-1] in _begun


def log_event(event: str, *, level: int = logging.INFO, **facts: object) -> None:
    _LOG.log(level, event, extra={"event": event, "facts": facts})


def _log_message(text: str) -> None:
    """A line for people; how grave it is stands at its beginning."""
    for begins, level in _GRAVE.items():
        if text.startswith(begins):
            return log_event("message", level=level, message=text.removeprefix(begins))
    return log_event("message", message=text)


def log_usage(error: click.ClickException, args: Sequence[str]) -> bool:
    """Whether a command line that could not be read would have asked for logs, and now has one."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    service = context is not None and any(
        one.name == "log_format" for one in context.command.params
    )
    asked = os.environ.get("MENTIS_LOG_FORMAT") == "json" or "json" in args
    if not logs_json() and not (service and asked):
        return False
    with ExitStack() as scope:
        if not logs_json():
            scope.enter_context(_json_lines())
        log_event("error", level=logging.ERROR, code="usage", message=error.format_message())
    return True


def log_defect(error: Exception, report: Path) -> None:
    """Without its message, which may say what was said; the report has it."""
    name = type(error).__name__
    log_event("defect", level=logging.ERROR, exception=name, report=str(report))


def log_error(error: MentisError) -> None:
    """The end of a command that failed."""
    told = {"code": error.code, "message": error.message, "hint": error.hint or ""}
    log_event("error", level=logging.ERROR, **told)


def log_tick(agent: str) -> Callable[[TickEvent], None]:
    """A listener of a living agent: every event with its numbers and the names in it."""
    persona = agent.rpartition("/")[2]

    def listen(event: TickEvent) -> None:
        if event.event.startswith(_SECTIONS):
            return
        told = {
            name: fact
            for name, fact in event.facts.items()
            if name in _NAMES or isinstance(fact, int | float)
        }
        failed = event.event.endswith(("_failed", "_refused", "_alarm", "_violated"))
        level = logging.WARNING if failed else logging.INFO
        log_event(event.event, level=level, agent=agent, persona=persona, **told)

    return listen
