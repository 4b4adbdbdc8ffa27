"""What it costs to begin: fresh interpreters, measured with everything they do."""

from __future__ import annotations

import os
import subprocess
import sys

from .harness import Pair, Run, benchmark


def interpreter(*arguments: str) -> Run:
    environ = dict(os.environ) | {"NO_COLOR": "1"}

    def run() -> object:
        command = [sys.executable, *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=environ)

    return run


@benchmark("import mentis", against="import json", gate=1.5)
def import_mentis() -> Pair:
    return interpreter("-c", "import mentis"), interpreter("-c", "import json")


@benchmark("mentis --help", against="import click", gate=1.5)
def help_text() -> Pair:
    return interpreter("-m", "mentis", "--help"), interpreter("-c", "import click")
