"""Resolve the dependencies and write the hashed locks. Neither names a registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Written by `make lock`. Installed with `pip install --no-deps --require-hashes -r`.\n"
PROJECT = "pyproject.toml"
# The build backend is locked too: the project itself is installed without build isolation.
LOCKS = {
    # What `make demo` shows, and what a container gets.
    "run.txt": [
        *(PROJECT, "--extra", "chat", "--extra", "tools", "--extra", "watch"),
        *("--extra", "embedded", "--extra", "serve", "--group", "build"),
    ],
    # `pip install mentis` with nothing else; weighed by tools/install_size.py.
    "core.txt": [PROJECT],
    "dev.txt": [PROJECT, "--all-extras", "--group", "dev"],
    "bench.txt": [PROJECT, "--all-extras", "--group", "bench"],
    "frameworks.txt": [PROJECT, "--extra", "otlp", "--group", "frameworks"],
    "router.txt": [PROJECT, "--extra", "recall", "--group", "router"],
    "litellm.txt": ["--group", "litellm"],
    "schemathesis.txt": ["--group", "schemathesis"],
    "agentdojo.txt": [PROJECT, "--extra", "tools", "--group", "agentdojo"],
}
# Programs of other people, which want nothing of ours.
PROGRAMS = {
    "programs-sdks.txt": "tools/programs/sdks.in",
    "programs-aider.txt": "tools/programs/aider.in",
    "programs-synapse.txt": "tools/programs/synapse.in",
    "programs-cards.txt": "tools/programs/cards.in",
}


def compile_lock(name: str, selection: list[str]) -> None:
    command = [sys.executable, "-m", "uv", "pip", "compile", *selection]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--quiet"]
    command += ["--no-header", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    (ROOT / "locks" / name).write_text(HEADER + done.stdout, encoding="utf-8")


if __name__ == "__main__":
    chosen = LOCKS | {name: [file] for name, file in PROGRAMS.items()}
    for lock, sources in chosen.items():
        compile_lock(lock, sources)
        print(f"locks/{lock}")
