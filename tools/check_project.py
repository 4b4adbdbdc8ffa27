"""The checks that no other tool makes. Each finding is one line: file, line, what is wrong."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

import errors_drawn
import reference
from mentis.settings.settings import describe

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/mentis"
README_LINES = 15
FUNCTION_LINES = 60
FILE_BYTES = 1_000_000
PROMPT_CHARACTERS = 60

# How prompts talk to a model. They belong into library data, where an owner can see them.
PROMPT = re.compile(
    r"\b(You are|You must|You will|Your (answer|task|role|reply)|Answer (in|as|with)"
    r"|Do not (mention|reveal)|Never (mention|reveal)|As an AI|Respond (with|in)|Reply (with|in)"
    r"|Du bist|Du sollst|Antworte)\b"
)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
MACHINE = re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+|Users/\w+)/")
REGISTRY = re.compile(
    r"pypi\.org|files\.pythonhosted|registry\.npmjs|(?<!no-emit-)index[-]url"  # not itself
)


@dataclass(frozen=True, slots=True)
class Finding:
    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}: {self.message}"


@cache
def project_files() -> tuple[Path, ...]:
    """What git keeps or would keep."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / name for name in sorted(set(listed.split("\0"))) if name)
    return tuple(path for path in paths if path.is_file())


@cache
def text_of(path: Path) -> str:
    """The text of a file; nothing for one that is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path), str(path))


def python_files(folder: Path) -> Iterator[Path]:
    return (
        path for path in project_files() if path.suffix == ".py" and path.is_relative_to(folder)
    )


def reference_is_up_to_date() -> Iterator[Finding]:
    for name in reference.out_of_date(ROOT / reference.FOLDER):
        yield Finding(ROOT / reference.FOLDER / name, 1, "out of date; run `make docs`")


def commands_are_documented() -> Iterator[Finding]:
    page = ROOT / reference.FOLDER / "cli.md"
    written = text_of(page) if page.exists() else ""
    for context, command in reference.commands():
        name = context.command_path
        if not (command.help or "").strip():
            yield Finding(page, 1, f"the command `{name}` has no help text")
        if f"## `{name}`" not in written:
            yield Finding(page, 1, f"the command `{name}` is not described")
        for option in command.params:
            if isinstance(option, click.Option) and not option.help:
                yield Finding(page, 1, f"the option {option.opts[-1]} of `{name}` has no help text")


def settings_are_documented() -> Iterator[Finding]:
    for setting in describe():
        if not setting.doc.strip():
            page = ROOT / reference.FOLDER / "settings.md"
            yield Finding(page, 1, f"the setting {setting.key} has no description")


def errors_are_documented() -> Iterator[Finding]:
    for line, message in errors_drawn.disagreements():
        yield Finding(PACKAGE / "errors.py", line, message)


def rooms_have_short_readmes() -> Iterator[Finding]:
    for init in sorted(PACKAGE.glob("*/__init__.py")):
        readme = init.with_name("README.md")
        if not readme.exists():
            yield Finding(readme, 1, "a room opens with a README")
        elif (lines := len(text_of(readme).splitlines())) > README_LINES:
            yield Finding(readme, lines, f"{lines} lines; a room's README has {README_LINES}")


def prompts_are_data() -> Iterator[Finding]:
    for path in python_files(PACKAGE):
        if path.is_relative_to(PACKAGE / "surfaces"):
            continue  # help texts speak to people
        tree = tree_of(path)
        docstrings = set(_docstrings(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node not in docstrings and _is_prompt(node.value):
                yield Finding(path, node.lineno, "prompt text in code; it belongs in the library")


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()) as text):
                yield text
            case _:
                pass


def _is_prompt(literal: object) -> bool:
    if not isinstance(literal, str) or len(literal) <= PROMPT_CHARACTERS:
        return False
    return PROMPT.search(literal) is not None


def nothing_is_left_unfinished() -> Iterator[Finding]:
    for path in project_files():
        if path.is_relative_to(ROOT / "src"):
            yield from _lines_with(path, UNFINISHED, "unfinished")


def no_machine_is_named() -> Iterator[Finding]:
    for path in project_files():
        yield from _lines_with(path, MACHINE, "a path of one machine")
        yield from _lines_with(path, REGISTRY, "a package registry is named")


def _lines_with(path: Path, pattern: re.Pattern[str], message: str) -> Iterator[Finding]:
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        if found := pattern.search(line):
            yield Finding(path, number, f"{message}: {found.group()}")


def files_are_small() -> Iterator[Finding]:
    for path in project_files():
        if (size := path.stat().st_size) > FILE_BYTES:
            yield Finding(path, 1, f"{size} bytes; {FILE_BYTES} is the limit")


def tests_do_not_sleep() -> Iterator[Finding]:
    for path in python_files(ROOT / "tests"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and _sleeps(node):
                yield Finding(path, node.lineno, "a test waits for an event, never for time")


def _sleeps(call: ast.Call) -> bool:
    """`sleep(0)` only lets others run."""
    match call:
        case ast.Call(args=[ast.Constant(value=0)]):
            return False
        case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep")):
            return True
        case _:
            return False


def functions_are_short() -> Iterator[Finding]:
    for path in python_files(ROOT / "src"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    message = f"{node.name} has {lines} lines; {FUNCTION_LINES} is the limit"
                    yield Finding(path, node.lineno, message)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    reference_is_up_to_date,
    commands_are_documented,
    settings_are_documented,
    errors_are_documented,
    rooms_have_short_readmes,
    prompts_are_data,
    nothing_is_left_unfinished,
    no_machine_is_named,
    files_are_small,
    tests_do_not_sleep,
    functions_are_short,
)


def main() -> int:
    findings = [finding for check in CHECKS for finding in check()]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
