"""A server on loopback that speaks Discord's gateway and REST as documented, for one bot."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from .telegram_server import served

BOT = {"id": "99", "username": "ada", "discriminator": "0", "avatar": None, "bot": True}
ANN = {"id": "42", "username": "ann", "global_name": "Ann", "discriminator": "0", "avatar": None}
BOB = {"id": "7", "username": "bob", "global_name": "Bob", "discriminator": "0", "avatar": None}
DIRECT, GARDEN, GUILD = "500", "600", "900"
KEY = "secret.discord.key"
APPLICATION = {
    "id": "99",
    "name": "ada",
    "flags": 0,
    "description": "",
    "icon": None,
    "bot_public": True,
    "bot_require_code_grant": False,
    "verify_key": "",
    "owner": ANN,
    "team": None,
    "summary": "",
}
ABOUT = {"users/@me": BOT, "oauth2/applications/@me": APPLICATION}
AT = "2026-01-01T00:00:00.000000+00:00"


class DiscordServer:
    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.messages: list[dict[str, Any]] = []
        self.failures: list[tuple[int, dict[str, Any]]] = []
        self._sockets: list[WebSocket] = []
        self._sequence, self._number = 0, 1000

    async def write(self, room: str, text: str, who: Any = ANN, **more: Any) -> str:  # noqa: ANN401  # as JSON
        message = self._made(room, text, who, **more)
        await self._dispatch("MESSAGE_CREATE", message)
        return message["id"]

    async def edit(self, number: str, text: str) -> None:
        message = next(one for one in self.messages if one["id"] == number)
        edited = "2026-01-01T00:01:00.000000+00:00"
        await self._dispatch(
            "MESSAGE_UPDATE", {**message, "content": text, "edited_timestamp": edited}
        )

    async def press(self, data: str, who: Any = ANN, room: str = DIRECT) -> None:  # noqa: ANN401  # as JSON
        self._number += 1
        told = {
            "id": str(self._number),
            "application_id": "99",
            "type": 3,
            "token": "t",
            "version": 1,
        }
        about = {"channel_id": room, "channel": {"id": room, "type": 1}, "user": who}
        message = next(one for one in reversed(self.messages) if one["author"] is BOT)
        rest = {"message": message, "data": {"custom_id": data, "component_type": 2}}
        more: dict[str, Any] = {
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 1,
        }
        await self._dispatch("INTERACTION_CREATE", {**told, **about, **rest, **more})

    def sent(self, method: str = "POST") -> list[dict[str, Any]]:
        found = [(how, path, told) for how, path, told in self.calls if how == method]
        return [told for _, path, told in found if "/messages" in path]

    def _made(self, room: str, text: str, who: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401  # as JSON
        self._number += 1
        lists = ("mentions", "mention_roles", "attachments", "embeds")
        message = {"id": str(self._number), "channel_id": room, "author": who, "content": text}
        message |= {"timestamp": AT, "edited_timestamp": None, "type": 0, "tts": False}
        message |= {"mention_everyone": False, "pinned": False, **{name: [] for name in lists}}
        message |= {"guild_id": GUILD} if room == GARDEN else {"channel_type": 1}
        self.messages.append({**message, **more})
        return self.messages[-1]

    async def _dispatch(self, name: str, told: object) -> None:
        self._sequence += 1
        event = {"op": 0, "s": self._sequence, "t": name, "d": told}
        for one in self._sockets:
            await one.send_text(json.dumps(event))

    async def gateway(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(json.dumps({"op": 10, "d": {"heartbeat_interval": 40_000}}))
        try:
            while True:
                told = json.loads(await socket.receive_text())
                if told["op"] == 1:
                    await socket.send_text(json.dumps({"op": 11}))
                elif told["op"] == 2:
                    self._sockets.append(socket)
                    await self._greet()
        except WebSocketDisconnect:
            self._sockets = [one for one in self._sockets if one is not socket]

    async def _greet(self) -> None:
        application = {"id": "99", "flags": 0}
        ready = {"v": 10, "user": BOT, "guilds": [{"id": GUILD, "unavailable": True}]}
        ready |= {"session_id": "s", "resume_gateway_url": "", "application": application}
        await self._dispatch("READY", ready)
        channel = {"id": GARDEN, "type": 0, "name": "garden", "position": 0, "guild_id": GUILD}
        channel |= {"permission_overwrites": [], "nsfw": False, "parent_id": None}
        lists = ("emojis", "stickers", "threads", "voice_states", "presences", "stage_instances")
        guild: dict[str, Any] = {
            "id": GUILD,
            "name": "Club",
            "owner_id": "42",
            "member_count": 2,
            "roles": [],
        }
        guild |= {"channels": [channel], "members": [], "features": [], **{n: [] for n in lists}}
        guild |= {"guild_scheduled_events": [], "soundboard_sounds": [], "premium_tier": 0}
        guild |= {"verification_level": 0, "default_message_notifications": 0, "nsfw_level": 0}
        guild |= {"explicit_content_filter": 0, "mfa_level": 0, "preferred_locale": "en-US"}
        guild |= {"system_channel_flags": 0, "premium_progress_bar_enabled": False, "icon": None}
        await self._dispatch("GUILD_CREATE", guild)

    async def answer(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bot {KEY}":
            return JSONResponse({"message": "401: Unauthorized", "code": 0}, 401)
        path, method = request.path_params["path"], request.method
        body = await request.body()
        told: dict[str, Any] = json.loads(body) if body.startswith(b"{") else {}
        self.calls.append((method, path, told))
        if method == "POST" and path.endswith("/messages") and self.failures:
            status, failure = self.failures.pop(0)
            return JSONResponse(failure, status, {"Via": "1.1 google"})
        return self._result(method, path, told, request)

    def _result(self, method: str, path: str, told: Any, request: Request) -> Response:  # noqa: ANN401  # as JSON
        if path in ABOUT:
            return JSONResponse(ABOUT[path])
        parts = path.split("/")
        if method == "GET" and parts[-1] == "messages":
            after = int(request.query_params.get("after", 0))
            found = [one for one in self.messages if one["channel_id"] == parts[1]]
            return JSONResponse([one for one in reversed(found) if int(one["id"]) > after])
        if method == "GET" and parts[0] == "channels":
            return JSONResponse({"id": parts[1], "type": 1, "recipients": [ANN]})
        if parts[-1] == "messages" or method == "PATCH":
            return JSONResponse(self._made(parts[1], str(told.get("content")), BOT))
        return Response(status_code=204)


@asynccontextmanager
async def discord_server() -> AsyncGenerator[tuple[DiscordServer, str]]:
    server = DiscordServer()
    routes: list[BaseRoute] = [
        WebSocketRoute("/gateway", server.gateway),
        WebSocketRoute("/gateway/", server.gateway),
        Route("/api/v10/{path:path}", server.answer, methods=["GET", "POST", "PATCH", "PUT"]),
    ]
    async with served(routes) as address:
        yield server, address
