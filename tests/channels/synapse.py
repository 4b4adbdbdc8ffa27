"""A real homeserver: Synapse on loopback with SQLite, and people who write to it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest

PLACE = Path(__file__).parents[2] / ".venv-programs" / "synapse"
CONFIG = """
server_name: localhost
pid_file: {folder}/pid
listeners:
  - port: {port}
    bind_addresses: ["127.0.0.1"]
    type: http
    resources: [{{names: [client]}}]
database: {{name: sqlite3, args: {{database: {folder}/homeserver.db}}}}
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
log_config: {folder}/log.yaml
registration_shared_secret: shared
enable_registration: true
enable_registration_without_verification: true
report_stats: false
macaroon_secret_key: macaroon
form_secret: form
trusted_key_servers: []
rc_message: {{per_second: {rate}, burst_count: {burst}}}
rc_registration: {{per_second: 1000, burst_count: 1000}}
"""
LOG = "version: 1\nroot: {level: WARNING}\n"


class Person:
    """Somebody with a client of their own."""

    def __init__(self, address: str, name: str) -> None:
        self._address = address
        body = {"username": name, "password": name, "auth": {"type": "m.login.dummy"}}
        made = self._call("POST", "/register", body)
        self.id, self.token = str(made["user_id"]), str(made["access_token"])

    def room(self, *others: str, name: str = "", direct: bool = False) -> str:
        body: dict[str, Any] = {"invite": list(others), "is_direct": direct}
        body |= {"name": name} if name else {}
        body["preset"] = "trusted_private_chat" if direct else "private_chat"
        return str(self._call("POST", "/createRoom", body)["room_id"])

    def join(self, room: str) -> None:
        self._call("POST", f"/rooms/{quote(room)}/join", {})

    def write(self, room: str, text: str, number: int, **more: object) -> str:
        content = {"msgtype": "m.text", "body": text, **more}
        path = f"/rooms/{quote(room)}/send/m.room.message/{number}"
        return str(self._call("PUT", path, content)["event_id"])

    def members(self, room: str) -> list[str]:
        found = self._call("GET", f"/rooms/{quote(room)}/joined_members")
        return list(found["joined"])

    def read(self, room: str) -> list[dict[str, Any]]:
        """All messages of a room, the oldest first."""
        path = f"/rooms/{quote(room)}/messages?dir=b&limit=100"
        chunk = cast("list[dict[str, Any]]", self._call("GET", path)["chunk"])
        return [one for one in reversed(chunk) if one["type"] == "m.room.message"]

    def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        token = getattr(self, "token", "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        url = f"{self._address}/_matrix/client/v3{path}"
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310  # loopback
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return json.load(answer)


@contextmanager
def synapse(folder: Path, *, rate: float = 1000, burst: int = 1000) -> Generator[str]:
    """Its address, while it runs."""
    python = PLACE / "bin" / "python"
    if not python.is_file():
        reason = PLACE / "reason.txt"
        why = reason.read_text() if reason.is_file() else "tools/install_programs.py does it"
        pytest.skip(f"Synapse is not installed: {why}")
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = CONFIG.format(folder=folder, port=port, rate=rate, burst=burst)
    (folder / "homeserver.yaml").write_text(told)
    (folder / "log.yaml").write_text(LOG)
    command = [str(python), "-m", "synapse.app.homeserver", "-c", str(folder / "homeserver.yaml")]
    subprocess.run([*command, "--generate-keys"], check=True, capture_output=True)
    running = subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr)
    address = f"http://127.0.0.1:{port}"
    try:
        _until_there(running, address)
        yield address
    finally:
        running.terminate()
        running.wait(30)


def _until_there(running: subprocess.Popen[bytes], address: str) -> None:
    for _ in range(600):
        assert running.poll() is None, "Synapse ended"
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):  # noqa: S310  # loopback
                return
        except OSError:
            try:
                running.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
    raise TimeoutError(address)
