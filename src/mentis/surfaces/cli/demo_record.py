"""The part of the demo with somebody else's program: its calls, recorded and explained."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.values.json import json_object

from .output import emit, say

if TYPE_CHECKING:
    from mentis.values.entry import Entry
    from mentis.values.route import Route

    from .demo import Checks

NAME = "guest"
_SECONDS = 120
# It speaks OpenAI's format, imports nothing of ours, and writes the time into its question.
PROGRAM = """
import hashlib, json, os, urllib.request

url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
key = "Bearer " + os.environ["OPENAI_API_KEY"]
headers = {"content-type": "application/json", "authorization": key}
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
system = {"role": "system", "content": "You tell the weather of a city, in one short sentence."}
for clock in ("12:01", "12:02"):
    messages = [system, {"role": "user", "content": f"It is {clock}. How is Rome?"}]
    question = {"model": os.environ["MODEL"], "messages": messages, "max_tokens": 12}
    body = json.dumps(question).encode()
    with direct.open(urllib.request.Request(url, body, headers)) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"]
    print(hashlib.sha256(body).hexdigest(), " ".join(said.split()))
"""


def show_recorded_program(home: Path, route: Route, checks: Checks) -> None:
    """Serve the embedded model on loopback, and record a program that asks it."""
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        say("Left out: recording another program, which needs pip install 'mentis[serve]'.")
        return
    checks.part("8. A program that knows nothing of Mentis is recorded, and explained")
    done = _run(home, route)
    entries = _entries(home)
    if not checks.quiet:
        for line in (*done.stdout.splitlines(), *done.stderr.splitlines()):
            emit(f"  {line}")
    sent = [line.split(" ", 1)[0] for line in done.stdout.splitlines()]
    kept = [json_object(entry.body.get("request")).get("digest") for entry in entries]
    checks.claim(
        "it got its answers, and its exit code was passed on",
        done.returncode == 0 and len(sent) == 2,
        f"{len(sent)} answers, code {done.returncode}",
    )
    checks.claim(
        "what was recorded is what it sent, byte for byte",
        bool(sent) and kept == [f"sha256:{one}" for one in sent],
        f"{len(kept)} entries",
    )
    _explain(entries, checks)


def _run(home: Path, route: Route) -> subprocess.CompletedProcess[str]:
    from mentis.engines.embedded import path_of
    from mentis.engines.engine import EngineKey, serve_engine

    key = secrets.token_hex(16)
    shape = EngineKey(path_of(route.model), route.context_tokens, route.threads)
    with (
        tempfile.TemporaryDirectory(prefix="mentis-demo-") as folder,
        serve_engine(shape, port=0, key=key) as address,
    ):
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        given = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": key, "MODEL": route.model}
        mentis = [sys.executable, "-m", "mentis", "--home", str(home)]
        return subprocess.run(  # noqa: S603  # this program, and the one above
            [*mentis, "record", "--as", NAME, "--", sys.executable, str(program)],
            env={**os.environ, **given},
            check=False,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )


def _entries(home: Path) -> list[Entry]:
    from mentis.record.record import open_record

    with open_record(home, f"recorded/{NAME}", readonly=True) as record:
        return list(record.store.entries(record.agent))


def _explain(entries: list[Entry], checks: Checks) -> None:
    """The second call beside the first: where they part, and what the model's cache made of it."""
    from mentis.record.foreign_calls import foreign_call

    found = foreign_call(entries[-1]) if entries else None
    cache = json_object(entries[-1].body.get("cache") if entries else None)
    byte, place = cache.get("byte"), cache.get("place")
    if found is not None and (used := found.usage) is not None and not checks.quiet:
        emit(f"  why: it is what the call before said, up to byte {byte}, in {place}; so")
        emit(f"  {used.cache_read} of {used.input} tokens came from the model's cache")
    checks.claim(
        "the first byte that differs from the call before is named, and where it stands",
        isinstance(byte, int) and place == "message 1 (user)",
        f"{place}, byte {byte}",
    )
    linked = all(late.prev == early.hash for early, late in pairwise(entries))
    checks.claim("its calls are a record of their own, hash by hash", len(entries) == 2 and linked)
