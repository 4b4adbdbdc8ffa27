"""Doors: what a served turn and a recorded call cost.

Every server is a process of its own that says what it has used of the processor; the model behind
it answers at once, so that nothing else is measured. A served turn is held against `Agent.chat` in
process; the recorder against a bare reverse proxy of the same stack, and against LiteLLM's proxy
in an environment of its own (`make bench-full`).
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import httpx2
from anyio.from_thread import start_blocking_portal

from mentis import Agent, create_home, open_tokens

from .harness import weight

ROUNDS, CALLS, TURNS, PIECES, STREAMS = 5, 40, 5, 5000, 200
ROUTE = f"""
[routes.default]
backend = "scripted"
model = "m"
replies = [{"'Yes, it is.', " * 1000}]
[recall]
embedder = "off"
[web]
requests_per_minute = 1000000
"""
CONFIG = tempfile.TemporaryDirectory()  # the tokens that are made here are nobody's own
os.environ["MENTIS_CONFIG"] = CONFIG.name
ROOT = Path(__file__).resolve().parent.parent
LITELLM = ROOT / ".venv-litellm/bin/python"
ENVIRON = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
TALKS = itertools.count()
SCALE = 1_000_000  # a weight is a whole number: microseconds


@dataclass
class Server:
    """A program that serves, and what it has used of the processor."""

    url: str
    process: subprocess.Popen[bytes]
    answers: int

    def cpu(self) -> float:
        if self.process.stdin is None:
            raise RuntimeError("the server was started without a standard input")
        self.process.stdin.write(b"?")
        self.process.stdin.flush()
        return float(os.read(self.answers, 100))


def start(module: str, *arguments: str, python: str = sys.executable, port: int = 0) -> Server:
    """Run it metered until this process ends; it is there when it takes a connection."""
    port = port or free_port()
    heard, said = os.pipe()
    told = [text.replace("{port}", str(port)) for text in arguments]
    process = subprocess.Popen(
        [python, str(Path(__file__).with_name("metered.py")), str(said), module, *told],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(said,),
        env=ENVIRON,
    )
    os.close(said)
    atexit.register(process.kill)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return Server(f"http://127.0.0.1:{port}", process, heard)
    raise RuntimeError(f"{module} does not serve (exit code {process.poll()})")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def new_home(more: str) -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    home = create_home(Path(folder.name) / "home")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(more)
    return home


# The recorder


@cache
def stub() -> Server:
    return start("bench.stub_model", "{port}")


@cache
def bare() -> Server:
    return start("bench.bare_proxy", "{port}", stub().url)


@cache
def recorder() -> Server:
    home = new_home(f'\n[recorder.targets]\nstub = "{stub().url}"\n')
    server = start("mentis", "record", "--home", str(home), "--port", "{port}")
    return Server(f"{server.url}/stub", server.process, server.answers)


def body(number: int, talk: int = 0) -> dict[str, object]:
    """A conversation of about 20 kB, one message longer each time, as an agent's calls are; `talk`
    tells conversations apart.
    """
    form = {"type": "object", "properties": {"word": {"type": "string"}}}
    tools: list[dict[str, object]] = [
        {
            "type": "function",
            "function": {"name": f"tool_{n}", "description": "It does. " * 20, "parameters": form},
        }
        for n in range(20)
    ]
    said = [{"role": "system", "content": "You are of help. " * 200}]
    said += [
        {"role": "user", "content": f"Question {n} of {talk}: is it so? " * 5}
        for n in range(number)
    ]
    return {"model": "m", "stream": True, "tools": tools, "messages": said}


async def ask(
    client: httpx2.AsyncClient, url: str, number: int, talk: int = 0
) -> tuple[float, int]:
    """Seconds until the first byte of the answer, and how many bytes there were."""
    begun, first, size = time.perf_counter(), 0.0, 0
    headers = {"authorization": "Bearer sk-none"}
    async with client.stream("POST", url, json=body(number, talk), headers=headers) as answer:
        answer.raise_for_status()
        async for piece in answer.aiter_raw():
            first = first or time.perf_counter() - begun
            size += len(piece)
    return first, size


async def calls(url: str, count: int) -> list[float]:
    talk = next(TALKS)
    async with httpx2.AsyncClient(timeout=60) as client:
        return [(await ask(client, url, number, talk))[0] for number in range(1, count + 1)]


def settled(server: Server) -> float:
    """Its processor time once it rests: the record is written after the call."""
    before = -1.0
    while (now := server.cpu()) - before > 0.005:
        before = now
        time.sleep(0.3)
    return now


def used(server: Server, path: str = "/v1/chat/completions", count: int = CALLS) -> float:
    before = settled(server)
    asyncio.run(calls(server.url + path, count))
    return settled(server) - before


def against(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int = ROUNDS
) -> tuple[int, int]:
    """The round in the middle, of rounds in which who goes first changes; the first warms up."""
    ours()
    theirs()
    pairs = list[tuple[float, float]]()
    for number in range(rounds):
        first, second = (ours, theirs) if number % 2 else (theirs, ours)
        one, other = first(), second()
        pairs.append((one, other) if number % 2 else (other, one))
    ratio = median(mine / yours for mine, yours in pairs)
    return round(ratio * SCALE), SCALE


def recorded_processor(pieces: int) -> tuple[int, int]:
    """The record of a call costs what its prompt is long, the relay what its answer is."""
    path, count = f"/{pieces}/v1/chat/completions", CALLS // 2
    return against(lambda: used(recorder(), path, count), lambda: used(bare(), path, count))


@weight("doors/recorded call, processor", against="a bare reverse proxy, 500 pieces", gate=1.5)
def recorded_answer() -> tuple[int, int]:
    return recorded_processor(500)


@weight("doors/recorded short call, processor", against="the same, 100 pieces", gate=1.5)
def recorded_short_answer() -> tuple[int, int]:
    return recorded_processor(100)


@weight("doors/recorded call, first byte", against="a bare reverse proxy", gate=1.5)
def recorded_first_byte() -> tuple[int, int]:
    def first(server: Server) -> float:
        return median(asyncio.run(calls(server.url + "/v1/chat/completions", CALLS)))

    return against(lambda: first(recorder()), lambda: first(bare()))


@weight("doors/recorded stream, time", against="a bare reverse proxy", gate=1.05)
def recorded_stream() -> tuple[int, int]:
    def stream(server: Server) -> float:
        begun = time.perf_counter()
        asyncio.run(calls(f"{server.url}/{PIECES}/v1/chat/completions", 1))
        return time.perf_counter() - begun

    return against(lambda: stream(recorder()), lambda: stream(bare()), rounds=2 * ROUNDS)


@weight("doors/200 streams at once", against="those that came to their end", gate=1)
def streams_at_once() -> tuple[int, int]:
    async def all_of_them() -> int:
        async with httpx2.AsyncClient(timeout=120, limits=httpx2.Limits()) as client:
            path = f"{recorder().url}/v1/chat/completions"
            asked = (ask(client, path, number % 20) for number in range(STREAMS))
            ended = await asyncio.gather(*asked, return_exceptions=True)
            sizes = [one[1] for one in ended if not isinstance(one, BaseException)]
            return sizes.count(max(sizes, default=0))

    return STREAMS, asyncio.run(all_of_them())


@cache
def litellm() -> Server:
    if not LITELLM.exists():
        raise SystemExit("LiteLLM's proxy is not installed: make .venv-litellm/.litellm")
    config = Path(CONFIG.name) / "litellm.yaml"
    route = {"model": "openai/m", "api_base": f"{stub().url}/v1", "api_key": "none"}
    told = {
        "model_list": [{"model_name": "m", "litellm_params": route}],
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
    }
    config.write_text(json.dumps(told), encoding="utf-8")  # YAML takes JSON
    given = ("--config", str(config), "--port", "{port}", "--host", "127.0.0.1")
    return start("litellm.proxy.proxy_cli", *given, python=str(LITELLM))


@weight("doors/recorded call, LiteLLM", against="LiteLLM's proxy", gate=0.2, slow=True)
def recorded_against_litellm() -> tuple[int, int]:
    return against(lambda: used(recorder()), lambda: used(litellm()), rounds=3)


# The agent as a model


@weight("doors/served turn, processor", against="Agent.chat in process", gate=1.3)
def served_turn() -> tuple[int, int]:
    home = new_home(ROUTE)
    token = open_tokens(home).new("bench")
    server = start("mentis", "serve", "--home", str(home), "--port", "{port}", "--no-log")
    entered = start_blocking_portal()
    portal = entered.__enter__()
    agent = Agent.open(new_home(ROUTE))
    numbers = iter(range(1_000_000))

    async def over_http() -> None:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(timeout=60, headers=headers) as client:
            listed = await client.get(f"{server.url}/v1/models")
            model = listed.json()["data"][0]["id"]
            for _ in range(CALLS // TURNS):
                said = list[dict[str, str]]()
                for number in range(TURNS):
                    said.append({"role": "user", "content": f"Is it {next(numbers)}, {number}?"})
                    asked = {"model": model, "messages": said}
                    answer = await client.post(f"{server.url}/v1/chat/completions", json=asked)
                    if answer.is_error:
                        raise RuntimeError(answer.text)
                    said.append(answer.json()["choices"][0]["message"])

    async def in_process() -> None:
        for _ in range(CALLS // TURNS):
            session = f"s{next(numbers)}"
            for number in range(TURNS):
                await agent.chat(f"Is it {next(numbers)}, {number}?", session=session)

    def served() -> float:
        before = server.cpu()
        asyncio.run(over_http())
        return server.cpu() - before

    def chatted() -> float:
        before = time.process_time()
        portal.call(in_process)
        return time.process_time() - before

    try:
        return against(served, chatted)
    finally:
        portal.call(agent.aclose)
        entered.__exit__(None, None, None)
