"""A channel that is killed at a chosen moment, and the next process that finds what it left.

For each moment a child is forked and dies there; then another one lives on the same home until all
is answered and sent. One JSON line each says what the platform saw. Forking is safe here: this
process has one thread and has opened no database.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.channels.bell import Bell
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.channel_adapter import Receive
from mentis.stores.files.channel_owners import ChannelOwner, ChannelOwners
from mentis.stores.files.key_folder import config_folder
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.channel import (
    ChannelAbilities,
    ChannelFile,
    ChannelStart,
    RoomAnswer,
    RoomMessage,
)
from mentis.values.rendering import Rendering
from mentis.values.route import Route

CHANNEL = '\n[channels.chat]\nkind = "telegram"\nkey_env = "CHAT_TOKEN"\n'
# opened, received, turn (and what it brings), answered, sending, sent
APPENDS = ("opened", "received", "turn", "answered", "sending", "sent")


def note(file: Path, line: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Platform:
    """Keeps a message until it is acknowledged, as the platforms do, and everything it is sent."""

    def __init__(self, folder: Path, moment: str) -> None:
        self.abilities = ChannelAbilities(idempotent=moment.startswith("keyed"))
        self._folder, self._moment = folder, moment.removeprefix("keyed ")

    async def run(
        self,
        receive: Receive,
        start: ChannelStart,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()
        if not lines(self._folder / "acknowledged"):
            message = RoomMessage("42", "m1", "42", "Hello?", name="Ann", private=True)
            await receive(message)
            if self._moment == "before acknowledging":
                die()
            note(self._folder / "acknowledged", "m1")
        await anyio.sleep_forever()

    async def send(self, answer: RoomAnswer) -> str:
        if self._moment == "before the platform has it":
            die()
        note(self._folder / "sent", json.dumps([answer.key, answer.text]))
        if self._moment == "after the platform has it":
            die()
        return "1"

    async def show_typing(self, room: str) -> None:
        pass

    async def fetch(self, file: ChannelFile, most: int) -> bytes:
        raise NotImplementedError


class Dying(ScriptedProvider):
    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        die()
        async with super().open(rendering, route) as events:
            yield events


def arm(moment: str) -> None:
    when, _, what = moment.partition(" ")
    if what not in APPENDS:
        return
    real, count = SqliteLedger.append, 0

    def append(*args: Any, **rest: Any) -> Any:  # noqa: ANN401  # whatever it is called with
        nonlocal count
        drafts: list[Any] = args[2]
        stages = [d.body.get("channel", {}).get("stage", d.kind) for d in drafts]
        here = what in stages
        if here and when == "before":
            die()
        result = real(*args, **rest)
        if here:
            die()
        return result

    SqliteLedger.append = append


async def live(home: Path, moment: str) -> dict[str, object]:
    platform, folder = Platform(home.parent, moment), home.parent
    news, kind = Bell(), Dying if moment == "in the call" else ScriptedProvider
    async with Agent.open(home, parts=Parts(provider=kind(["Hello."] * 3))) as agent:
        (runner,) = agent.channels(adapters={"chat": platform}, on_news=lambda _: news.ring())
        arm(moment.removeprefix("keyed "))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            with anyio.fail_after(30):
                while not _over(runner.parts.log, folder):
                    await news.wait(0.05)
            tasks.cancel_scope.cancel()
        turns = [entry for entry in agent.entries() if entry.kind == "turn"]
        return {
            "intact": agent.verify().intact,
            "answered": sum("failure" not in _turn(one.body) for one in turns),
            "unknown": runner.parts.log.unknown(),
        }


def _over(log: Any, folder: Path) -> bool:  # noqa: ANN401  # of one channel
    arrived = bool(lines(folder / "acknowledged")) and log.is_known("channel/chat/42/m1")
    return arrived and not log.receipts() and not log.outgoing()


def _turn(body: Any) -> dict[str, Any]:  # noqa: ANN401  # of an entry
    return body["turn"]


def in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  # told by its exit code
            print(f"{error!r}", file=sys.stderr, flush=True)  # noqa: T201
            os._exit(1)
    return os.waitpid(child, 0)[1]


def made(folder: Path) -> Path:
    folder.mkdir()
    home = Path(create_home(folder / "home"))
    with (home / "mentis.toml").open("a") as file:
        file.write(CHANNEL)
    owners = ChannelOwners(config_folder(os.environ), home)
    now = datetime.now(UTC)
    person = ChannelOwner(owner="42", name="Ann", room="42")
    owners.pair("chat", owners.new_code("chat", now), now, person=person)
    return home


def main(folder: Path, moments: list[str]) -> None:
    for number, moment in enumerate(moments):
        home = made(folder / str(number))
        status = in_child(lambda home=home, moment=moment: anyio.run(live, home, moment))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        keyed = "keyed" if moment.startswith("keyed") else ""

        def tell(
            home: Path = home, moment: str = moment, *, killed: bool = killed, keyed: str = keyed
        ) -> None:
            found = anyio.run(live, home, keyed)
            sent = [json.loads(line) for line in lines(home.parent / "sent")]
            line = json.dumps({"moment": moment, "killed": killed, "sent": sent, **found})
            os.write(1, f"{line}\n".encode())

        in_child(tell)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
