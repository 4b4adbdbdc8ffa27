"""A home, a provider on loopback and an agent between them; what passes there is the golden.

Only seams that outlive the inside are used: the public names of `mentis`, and its command line.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import tomllib
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args, get_type_hints
from unittest.mock import patch

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mentis import Agent, Entry, MentisError, TurnResult, create_home, open_route_keys
from mentis.__main__ import main
from mentis.codec.forms import to_object
from mentis.testing import CountingIds, ListedScreener
from mentis.values.action import Outcome
from mentis.values.entry import Uptime

from .server import Answer, Server, serving

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET = b"golden secret of thirty-two byte"
KEY = "golden-key"
# A command line has a clock, salts and a key of its own: what it stamps is never the same twice.
_NOW = re.compile(r"(?!2026-01-01)20\d\d-\d\d-\d\dT[\d:.]+(Z|\+00:00)")
_HEAD = re.compile(r"head [0-9a-f]{64}")
_OF_NOW = {"clock", "signature", "signed"}
# Parts of results that stand elsewhere in the golden, or are too large to read.
_QUIET = {"composed", "rendering", "entry", "calls", "caching", "trace"}


class GoldenClock:
    """It stands still until a case moves it on: how often it is read must change nothing."""

    def __init__(self, start: datetime = START) -> None:
        self.start = start
        self.passed = 0.0

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    def uptime(self) -> Uptime:
        return Uptime("golden", round(self.passed * 1000))


class GoldenIds(CountingIds):
    """One salt for all: how many were taken before must not change the hash of an entry."""

    def salt(self) -> bytes:
        return b"golden salt 16 b"


def steady_salt() -> bytes:
    """For what is kept beside the record, as above."""
    return b"\x5a" * 16


def steady_digest(_data: bytes) -> str:
    """Of a file of the home: its settings name a port and a key of the moment."""
    return "6b" * 32


def parts_of(**given: object) -> Any:  # noqa: ANN401  # its class has no public name
    """What `Agent.open` takes as its parts, wherever the class of them lives."""
    hint = get_type_hints(Agent.open)["parts"]
    (kind,) = (one for one in get_args(hint) if one is not NoneType)
    return kind(**given)


# The goldens name what was done; these methods have another name by now.
METHODS = {
    "deliverable": "deliverable_outcomes",
    "first": "start_conversation",
    "go_on": "run_fork",
    "title": "make_title",
}


@dataclass
class Stage:
    home: Path
    server: Server
    portal: BlockingPortal
    clock: GoldenClock = field(default_factory=GoldenClock)
    ids: GoldenIds = field(default_factory=GoldenIds)
    handlers: tuple[object, ...] = ()
    channels: tuple[object, ...] = ()
    rules: tuple[object, ...] = ()
    steps: list[object] = field(default_factory=list[object])
    _opened: ExitStack = field(default_factory=ExitStack)
    _agent: Agent | None = None

    def configure(self, text: str) -> None:
        """Add to the settings; the address of the server stands for URL."""
        with (self.home / "mentis.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n{text.replace('URL', self.server.url)}\n")
        keys = open_route_keys(self.home)
        for name in tomllib.loads((self.home / "mentis.toml").read_text("utf-8")).get("routes", ()):
            target = keys.target(name)
            if target is not None and target.variable == "GOLDEN_KEY":
                keys.trust(target)

    def take_steps(self, most: int = 12) -> None:
        """Let a turn go on after its first answer."""
        file = self.home / "mentis.toml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("max_steps = 1\n", f"max_steps = {most}\n"), encoding="utf-8")

    def answers(self, *answers: Answer) -> None:
        self.server.answers.extend(answers)

    def parts(self, **more: object) -> Any:  # noqa: ANN401  # as above
        given: dict[str, object] = {
            "clock": self.clock,
            "ids": self.ids,
            "secret": SECRET,
            "screener": ListedScreener({}),
            "handlers": self.handlers,
            "channels": self.channels,
            "rules": self.rules,
        }
        return parts_of(**{**given, **more})

    def agent(self, route: str = "default", persona: str | None = None) -> Agent:
        """The agent, opened anew if it was closed; `close` it to change the settings."""
        if self._agent is None:
            opened = Agent.open(self.home, route=route, persona=persona, parts=self.parts())
            self._agent = self._opened.enter_context(self.portal.wrap_async_context_manager(opened))
        return self._agent

    def close(self) -> None:
        self._agent = None
        self._opened.close()

    def do(self, name: str, *args: object, **named: object) -> Any:  # noqa: ANN401  # of any method
        """Let the agent do it, and keep what came of it; a minute passes afterwards."""
        method = getattr(self.agent(), METHODS.get(name, name))

        async def called() -> object:
            done = method(*args, **named)
            return await done if hasattr(done, "__await__") else done

        try:
            result = self.portal.call(called)
        except MentisError as error:
            self.note(name, error)
            return error
        finally:
            self.clock.passed += 60
        self.note(name, result)
        return result

    def note(self, name: str, value: object) -> None:
        self.steps.append({name: self.plain(value)})

    def mentis(self, *args: str | Path, stdin: str = "", shown: bool = True) -> str:
        """A command line in this process; its words and exit code are kept if `shown`."""
        self.close()
        words = [*map(str, args)]
        code, out, err = command_line(*words, "--home", str(self.home), stdin=stdin)
        if shown:
            told = {"exit": code, "out": _parsed(out), "err": err}
            self.steps.append(self.plain({f"mentis {' '.join(words)}": told}))
        return out

    def plain(self, value: object) -> object:
        """As JSON without what is of this machine or this moment."""
        return self._cleaned(_plain(value))

    def _cleaned(self, value: object) -> object:
        match value:
            case dict():
                items = cast("dict[str, object]", value).items()
                return {self._text(key): self._cleaned(one) for key, one in items}
            case list():
                return [self._cleaned(one) for one in cast("list[object]", value)]
            case str():
                return self._text(value)
            case _:
                return value

    def _text(self, text: str) -> str:
        text = text.replace(str(self.home.parent), "FOLDER").replace(self.server.url, "URL")
        text = text.replace(f"Env: {sys.platform} ", "Env: PLATFORM ")
        return _HEAD.sub("head HASH", _NOW.sub("TIME", text))

    def golden(self) -> dict[str, object]:
        """Everything that went out, was answered, recorded, and comes of it again."""
        agent = self.agent()
        entries = agent.entries()
        verdict = agent.verify()
        sessions = {
            one.name: [_turn(turn) for turn in agent.history(session=one.name)]
            for one in agent.sessions()
        }
        replays = {str(one.index): self._replay(one) for one in entries if "inputs" in one.body}
        return {
            "steps": self.steps,
            "sent": self._cleaned(self.server.sent),
            "left": len(self.server.answers),
            "entries": [self._cleaned(one) for one in _entries(entries)],
            "sessions": sessions,
            "replays": replays,
            "verify": self._cleaned(
                {
                    "intact": verdict.intact,
                    "findings": [_plain(one) for one in verdict.findings],
                    "notes": list(verdict.notes),
                    "completeness": verdict.completeness,
                }
            ),
        }

    def _replay(self, entry: Entry) -> object:
        steps = len(cast("list[object]", entry.body.get("steps") or ()))
        if not steps:
            return self._replay_step(entry, 1)
        return [self._replay_step(entry, step + 1) for step in range(steps)]

    def _replay_step(self, entry: Entry, step: int) -> object:
        try:
            done = self.agent().replay(entry.index, step=step)
        except MentisError as error:
            return self.plain(error)
        return {
            "identical": done.identical,
            "notes": list(done.notes),
            "sha256": hashlib.sha256(done.rendering.body()).hexdigest(),
        }


def command_line(*words: str, stdin: str = "") -> tuple[int, str, str]:
    """`mentis` with these words, in this process: its exit code, and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["mentis", *words]),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main()
    return code, out.getvalue(), err.getvalue()


@contextmanager
def staged(folder: Path) -> Generator[Stage]:
    home = create_home(folder / "home")
    (secret,) = home.glob("*.key")
    secret.write_text(SECRET.hex(), encoding="utf-8")  # for command lines, which get no parts
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write("\n[turn]\nmax_steps = 1\n")  # steps have cases of their own
    with serving() as server, start_blocking_portal() as portal:
        stage = Stage(home, server, portal)
        try:
            yield stage
        finally:
            stage.close()


def _plain(value: object) -> object:  # noqa: PLR0911  # one for each kind of value
    match value:
        case MentisError():
            return {"code": value.code, "message": value.message, "hint": value.hint}
        case TurnResult():
            return {
                "text": value.reply.text,
                "stop": value.reply.stop,
                "actions": [one.type for one in value.reply.actions],
                "errors": [_plain(one) for one in value.reply.errors],
                "outcomes": [_plain(one) for one in value.outcomes],
                "entry": value.entry.index,
                "calls": len(value.model_calls),
                "passed_over": [_plain(one) for one in value.passed_over],
                "degraded": [_plain(one) for one in value.composed.trace.degraded],
            }
        case Entry():
            return {"entry": value.index}
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return hashlib.sha256(value).hexdigest()
        case dict():
            items = cast("dict[object, object]", value).items()
            return {str(key): _plain(one) for key, one in items}
        case list() | tuple() | set() | frozenset():
            return [_plain(one) for one in cast("Iterable[object]", value)]
        case _:
            return _fields(value)


def _fields(value: object) -> object:
    names = getattr(type(value), "__dataclass_fields__", None)
    if names is None:
        return str(value)
    told = {name: getattr(value, name) for name in names if name not in _QUIET}
    if isinstance(value, Outcome) and value.turn is None:  # it came later, and is not written then
        del told["turn"]
    return {name: _plain(one) for name, one in told.items()}


def _entries(entries: Iterable[Entry]) -> Iterable[dict[str, object]]:
    """Every column but the salts, which are all the same. From the first entry on that a command
    line stamped, no hash is the same twice.
    """
    by_command = False
    for entry in entries:
        told = to_object(entry)
        del told["salts"]
        by_command = by_command or not entry.time.startswith(f"{START:%Y-%m-%d}")
        if by_command:
            told |= {"hash": "", "prev": "", "fields": sorted(entry.fields)}
            told["body"] = {key: one for key, one in entry.body.items() if key not in _OF_NOW}
        yield told


def _turn(turn: Any) -> dict[str, object]:  # noqa: ANN401
    return {"role": turn.role, "kind": turn.kind, "state": turn.state, "text": turn.text}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


Case = Callable[[Stage], None]
