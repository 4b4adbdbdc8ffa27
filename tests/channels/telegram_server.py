"""A server on loopback that speaks the Bot API as it is documented, for one bot.

It keeps what is written until a later offset acknowledges it, and everything that is sent.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

BOT = {"id": 99, "is_bot": True, "first_name": "Ada", "username": "ada_bot"}
ANN = {"id": 42, "is_bot": False, "first_name": "Ann"}
BOB = {"id": 7, "is_bot": False, "first_name": "Bob", "last_name": "Ray"}
HOME = {"id": 42, "type": "private", "first_name": "Ann"}
GARDEN = {"id": -100, "type": "supergroup", "title": "Garden"}
TOKEN = "99:secret"  # noqa: S105  # of a server that is made here


class TelegramServer:
    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.acknowledged = 0
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.failures: list[tuple[int, dict[str, Any]]] = []  # of the next messages that are sent
        self.files: dict[str, bytes] = {}
        self._number, self._came = 100, anyio.Event()

    def write(self, text: str, *, who: Any = ANN, where: Any = HOME, **more: Any) -> int:  # noqa: ANN401  # as JSON
        self._number += 1
        message = {"message_id": self._number, "date": 1_767_225_600, "text": text}
        self._add("message", {**message, "from": who, "chat": where, **more})
        return self._number

    def edit(self, number: int, text: str) -> None:
        message = {"message_id": number, "date": 1_767_225_600, "edit_date": 1_767_225_660}
        self._add("edited_message", {**message, "text": text, "from": ANN, "chat": HOME})

    def press(self, data: str, who: Any = ANN, where: Any = HOME) -> None:  # noqa: ANN401  # as JSON
        message = {"message_id": 1, "date": 1_767_225_600, "chat": where, "from": BOT}
        press = {"id": f"p{len(self.updates)}", "from": who, "chat_instance": "1", "data": data}
        self._add("callback_query", {**press, "message": message})

    def _add(self, kind: str, told: dict[str, Any]) -> None:
        self.updates.append({"update_id": len(self.updates) + 1, kind: told})
        self._came.set()

    def sent(self, method: str = "sendMessage") -> list[dict[str, Any]]:
        return [told for name, told in self.calls if name == method]

    async def answer(self, request: Request) -> Response:
        if request.path_params["token"] != TOKEN:
            return JSONResponse(
                {"ok": False, "error_code": 401, "description": "Unauthorized"}, 401
            )
        method = request.path_params["method"]
        form = await request.form()
        told = {
            name: value if isinstance(value, str) else await value.read()
            for name, value in form.items()
        }
        if method == "getUpdates":
            return _ok(await self._updates(int(str(told.get("offset", 0)))))
        self.calls.append((method, told))
        if method.startswith(("send", "edit")) and method != "sendChatAction" and self.failures:
            status, body = self.failures.pop(0)
            return JSONResponse({"ok": False, "error_code": status, **body}, status)
        return _ok(self._result(method, told))

    def _result(self, method: str, told: dict[str, Any]) -> Any:  # noqa: ANN401  # as JSON
        if method == "getMe":
            return BOT
        if method == "getFile":
            name = str(told["file_id"])
            return {"file_id": name, "file_unique_id": name, "file_path": name}
        if method in ("sendMessage", "editMessageText", "sendPhoto"):
            self._number += 1
            message = {"message_id": self._number, "date": 1_767_225_600, "from": BOT}
            return {**message, "chat": {"id": int(told["chat_id"]), "type": "private"}}
        return True

    async def _updates(self, offset: int) -> list[dict[str, Any]]:
        self.acknowledged = max(self.acknowledged, offset - 1)
        found = [one for one in self.updates if one["update_id"] > self.acknowledged]
        if not found:
            self._came = anyio.Event()
            with anyio.move_on_after(1):
                await self._came.wait()
        return [one for one in self.updates if one["update_id"] > self.acknowledged]

    async def file(self, request: Request) -> Response:
        return Response(self.files[request.path_params["name"]])


def _ok(result: Any) -> Response:  # noqa: ANN401  # as JSON
    return JSONResponse({"ok": True, "result": json.loads(json.dumps(result))})


@asynccontextmanager
async def served(routes: Sequence[BaseRoute]) -> AsyncGenerator[str]:
    """Its address, while it runs."""
    config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server._serve)  # pyright: ignore[reportPrivateUsage]  # signals are the test's
        with anyio.fail_after(20):
            bell = anyio.Event()
            while not server.started:
                with anyio.move_on_after(0.02):
                    await bell.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True


@asynccontextmanager
async def telegram_server() -> AsyncGenerator[tuple[TelegramServer, str]]:
    server = TelegramServer()
    routes = [
        Route("/bot{token}/{method}", server.answer, methods=["GET", "POST"]),
        Route("/file/bot{token}/{name}", server.file),
    ]
    async with served(routes) as address:
        yield server, address
