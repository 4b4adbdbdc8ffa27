"""The core is light, and does what it can without its extras; what it cannot names the extra."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from mentis.surfaces.cli.main import run
sys.exit(max(run(line.split()) for line in sys.argv[1:]))
"""
ABSENT = (
    *("rich", "pygments", "prompt_toolkit", "jsonschema_rs", "yaml", "watchfiles"),
    *("numpy", "xllamacpp", "uvicorn", "starlette", "mcp", "pypdf", "genai_prices", "bpe_openai"),
)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module("install_size")


def test_the_core_weighs_less_than_45_megabytes(sizes: ModuleType) -> None:
    found = sizes.core_sizes()
    assert sizes.total_megabytes(found) < sizes.LIMIT, "\n".join(sizes.table_lines(found))
    weighed = {one.name for one in found}
    assert {"mentis", "cryptography", "pydantic-core"} <= weighed
    assert weighed.isdisjoint({"rich", "pygments", "jsonschema-rs"})


def core(home: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Several commands in one process that has the core alone."""
    words = [sys.executable, "-c", CORE.format(absent=ABSENT), *lines]
    environ = {"MENTIS_HOME": str(home), "MENTIS_CONFIG": str(home.parent / "config"), "PATH": ""}
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=False)


def test_the_core_alone_makes_a_home_talks_in_it_and_verifies_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert core(home, f"init {home}").returncode == 0
    settings = home / "mentis.toml"
    script = '[routes.default]\nreplies = ["One.", "Two."]\n'
    settings.write_text(settings.read_text("utf-8").replace("[routes]", script), "utf-8")
    done = core(
        home,
        "chat Hello",
        "status watch --once",
        "tick",
        "sessions list --json",
        "status verify",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("One.\n")
    assert "integrity verified" in done.stdout


def test_a_skill_and_the_check_of_a_call_name_the_extra_that_they_need(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["jsonschema_rs"] = sys.modules["yaml"] = None
from mentis.act.payloads import fault_in
from mentis.errors import MentisError
from mentis.recall.skills import front_matter
from mentis.values.tool import ToolDeclaration
for ask in (
    lambda: fault_in({}, ToolDeclaration("double", "", {"type": "object"})),
    lambda: front_matter("---\\nname: x\\n---\\n", where="x"),
):
    try:
        ask()
    except MentisError as error:
        print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "pip install 'mentis[tools]'\n" * 2


def test_every_extra_that_is_named_exists() -> None:
    named = {
        extra
        for folder in ("src", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md"}
        for found in re.findall(r"mentis\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert named <= PROJECT["optional-dependencies"].keys()
    assert {"chat", "tools", "serve"} <= named
