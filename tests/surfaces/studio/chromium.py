"""A real browser, told what to do over its debugging protocol. Debian's chromium is enough."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx2
from websockets.sync.client import ClientConnection, connect

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
_NOTICES = ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")


class Chromium:
    """One page. `faults` are what its console would show in red, and every dialog."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self.faults: list[str] = []
        for part in ("Page", "Runtime", "Log"):
            self.call(f"{part}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method: str, **given: object) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": given}))
        while True:
            told: dict[str, Any] = json.loads(self._socket.recv(timeout=30))
            if told.get("method") in _NOTICES:
                self.faults.append(json.dumps(told["params"])[:500])
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]

    def js(self, code: str) -> Any:  # noqa: ANN401  # whatever the page says
        given = {"expression": code, "awaitPromise": True, "returnByValue": True}
        return self.call("Runtime.evaluate", **given)["result"].get("value")

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def wait(self, code: str) -> None:
        """Until it holds: pages have their own pace."""
        until = time.monotonic() + 20
        while not self.js(f"Boolean({code})"):
            assert time.monotonic() < until, f"never: {code}"

    def click(self, label: str) -> None:
        """The button or link that a person sees under this name."""
        found = (
            "[...document.querySelectorAll('button, a, summary')].find("
            f"one => one.offsetParent && one.textContent.trim() === {json.dumps(label)})"
        )
        self.wait(found)
        self.js(f"{found}.click()")

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        given = {"key": key, "windowsVirtualKeyCode": code, "text": "\r" if key == "Enter" else ""}
        self.call("Input.dispatchKeyEvent", type="keyDown", **given)
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    @property
    def text(self) -> str:
        return self.js("document.body.innerText")


@contextmanager
def chromium() -> Generator[Chromium]:
    assert BROWSER is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "about:blank"]
        command += ["--remote-debugging-port=0", f"--user-data-dir={folder}"]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert running.stderr is not None
            found = (re.search(r"ws://([^/]+)/", line) for line in running.stderr)
            place = next(match[1] for match in found if match)
            pages = httpx2.get(f"http://{place}/json").json()
            address = next(one["webSocketDebuggerUrl"] for one in pages if one["type"] == "page")
            with connect(address, max_size=None) as socket:
                yield Chromium(socket)
        finally:
            running.terminate()
            running.wait(20)
            assert running.stderr is not None
            running.stderr.close()
