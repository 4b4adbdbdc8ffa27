"""Mentis without what only POSIX has: it is imported whole, and a home lives."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .other_system import ABSENT, HIDDEN

OTHER = Path(__file__).with_name("other_system.py")
PACKAGE = Path(__file__).resolve().parents[2] / "src" / "mentis"
SCRIPT = '[routes.default]\nreplies = ["One.", "Two.", "Three."]\n'
HIDDEN_NAMES = {whole.__name__: names for whole, names in HIDDEN.items()}
NAMED = re.compile(rf"\b(?:{'|'.join(ABSENT.union(*HIDDEN.values()))})\b")


def other(system: str, task: str, *words: str | Path) -> str:
    command = [sys.executable, str(OTHER), system, task, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("system", [pytest.param("posix", marks=pytest.mark.slow), "windows"])
def test_every_module_is_imported_where_what_only_posix_has_is_absent(system: str) -> None:
    count = sum(1 for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert int(other(system, "imports").split()[0]) >= count


def test_a_home_is_made_talked_to_lives_and_is_verified_as_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "config"))
    home = tmp_path / "home"
    other("windows", "command", "init", home)
    settings = home / "mentis.toml"
    settings.write_text(settings.read_text("utf-8").replace("[routes]", SCRIPT), "utf-8")
    said = other("windows", "commands", home, "chat Hello", "sense add rain", "run --ticks 1")
    assert said.startswith("One.\n")
    assert "1 thought" in said
    assert other("windows", "commands", home, "status verify").startswith("ok ")


def test_a_lock_is_one_processs_alone_and_free_when_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, str(OTHER), "windows", "hold", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert other_asks(path) == "not to be had"
        holder.kill()
        holder.wait()
        assert other_asks(path) == "held"


def other_asks(path: Path) -> str:
    command = [sys.executable, str(OTHER), "windows", "hold", str(path)]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_only_the_room_system_names_what_only_posix_has() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "system"
        if NAMED.search(text := path.read_text(encoding="utf-8"))  # not every file is parsed
        for line, name in posix_names(ast.parse(text))
    ]
    assert found == []


def test_names_of_posix_are_found_in_code() -> None:
    code = (
        "import fcntl\nfrom os import fork\nfrom pwd import getpwnam\nimport os\nos.killpg(1, 9)\n"
    )
    assert [name for _, name in posix_names(ast.parse(code))] == [
        "fcntl",
        "os.fork",
        "pwd",
        "os.killpg",
    ]


def posix_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, one.name) for one in node.names if one.name in ABSENT)
            case ast.ImportFrom(module=str(module), level=0) if module in ABSENT:
                yield node.lineno, module
            case ast.ImportFrom(module=str(module), level=0):
                hidden = HIDDEN_NAMES.get(module, frozenset())
                names = (one.name for one in node.names if one.name in hidden)
                yield from ((node.lineno, f"{module}.{name}") for name in names)
            case ast.Attribute(value=ast.Name(id=module)) if node.attr in HIDDEN_NAMES.get(
                module, ()
            ):
                yield node.lineno, f"{module}.{node.attr}"
            case _:
                pass
