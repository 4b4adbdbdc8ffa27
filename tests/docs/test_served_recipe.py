"""The commands of the guide to routes that serve a model, run as they are written."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mentis.record.record import open_record

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "routes.md"


def commands(port: int) -> list[str]:
    """Those of the block that serves; only the port is another, as 8080 may be taken here."""
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = [one for one in blocks if "mentis models serve" in one]
    return [line[2:].replace("8080", str(port)) for line in block.splitlines()]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


WAIT = "until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.1; done"


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
def test_the_recipe_that_serves_a_model_works_as_written(tmp_path: Path) -> None:
    port = free_port()
    export, serve, *rest = commands(port)
    script = "\n".join(
        ["set -eu", "mentis init home", export, serve, WAIT.format(port=port), *rest]
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = tmp_path / "said.txt"  # a pipe would stay open for as long as the server has it
    with said.open("w", encoding="utf-8") as file:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "MENTIS_HOME": "home", "COLUMNS": "200"},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            shell.wait(timeout=300)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)  # the server goes with it
    out = said.read_text(encoding="utf-8")
    assert shell.returncode == 0, out
    assert "ready: its server answered" in out
    assert "it holds 2048 tokens" in out
    with open_record(tmp_path / "home", readonly=True) as record:
        (entry,) = [one for one in record.every_entry() if one.kind == "turn"]
    assert entry.body["route"] == {"name": "served", "backend": "openai", "model": "smollm2"}
