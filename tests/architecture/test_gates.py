"""The project's own checks find what they are for, shown on a small project made wrong."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mentis import errors

TOOLS = Path(__file__).resolve().parents[2] / "tools"


class Project:
    """A folder that the checks take for the project."""

    def __init__(self, folder: Path, checks: ModuleType) -> None:
        self.folder = folder
        self._checks = checks

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def findings(self, check: str) -> list[str]:
        return [str(finding) for finding in getattr(self._checks, check)()]

    def files(self) -> tuple[Path, ...]:
        return tuple(path for path in sorted(self.folder.rglob("*")) if path.is_file())


def tool(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    return importlib.import_module(name)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    checks = tool(monkeypatch, "check_project")
    made = Project(tmp_path, checks)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "PACKAGE", tmp_path / "src/mentis")
    monkeypatch.setattr(checks, "project_files", made.files)
    return made


def test_prompt_text_in_code_is_found(project: Project) -> None:
    prompt = "You are a helpful assistant who never says more than is needed."
    project.write("src/mentis/call/bad.py", f'SYSTEM = "{prompt}"\nF = f"{{SYSTEM}} {prompt}"\n')
    project.write("src/mentis/call/good.py", f'"""{prompt}"""\nSHORT = "You are here."\n')
    project.write("src/mentis/surfaces/cli/help.py", f'HELP = "{prompt}"\n')
    message = "prompt text in code; it belongs in the library"
    assert project.findings("prompts_are_data") == [
        f"src/mentis/call/bad.py:1: {message}",
        f"src/mentis/call/bad.py:2: {message}",
    ]


def test_unfinished_work_is_found(project: Project) -> None:
    project.write("src/mentis/a.py", "x = 1\n# TODO: more\n")
    assert project.findings("nothing_is_left_unfinished") == ["src/mentis/a.py:2: unfinished: TODO"]


def test_paths_of_one_machine_and_registries_are_found(project: Project) -> None:
    somebody = "/".join(["", "home", "ada", "x"])
    registry = ".".join(["pypi", "org"])
    project.write("docs/a.md", f"see {somebody}\nfrom {registry}\nthe agent home/ada/persona\n")
    assert project.findings("no_machine_is_named") == [
        f"docs/a.md:1: a path of one machine: {somebody.removesuffix('x')}",
        f"docs/a.md:2: a package registry is named: {registry}",
    ]


def test_large_files_are_found_and_binary_ones_are_not_read(project: Project) -> None:
    (project.folder / "weights.bin").write_bytes(b"\xff" * 1_000_001)
    assert project.findings("files_are_small") == [
        "weights.bin:1: 1000001 bytes; 1000000 is the limit"
    ]
    assert project.findings("no_machine_is_named") == []


def test_sleeping_tests_are_found(project: Project) -> None:
    project.write("tests/test_a.py", "time.sleep(1)\nawait_(anyio.sleep(0))\nsleep(x)\n")
    message = "a test waits for an event, never for time"
    assert project.findings("tests_do_not_sleep") == [
        f"tests/test_a.py:1: {message}",
        f"tests/test_a.py:3: {message}",
    ]


def test_long_functions_are_found(project: Project) -> None:
    project.write(
        "src/mentis/a.py", "def f():\n" + "    x = 1\n" * 59 + "\n\ndef g():\n" + "    x = 1\n" * 60
    )
    assert project.findings("functions_are_short") == [
        "src/mentis/a.py:63: g has 61 lines; 60 is the limit"
    ]


def test_rooms_without_a_short_readme_are_found(project: Project) -> None:
    for room in ("call", "codec", "net"):
        project.write(f"src/mentis/{room}/__init__.py", "")
    project.write("src/mentis/codec/README.md", "line\n" * 16)
    project.write("src/mentis/net/README.md", "line\n" * 15)
    assert project.findings("rooms_have_short_readmes") == [
        "src/mentis/call/README.md:1: a room opens with a README",
        "src/mentis/codec/README.md:16: 16 lines; a room's README has 15",
    ]


def test_the_error_tree_is_drawn_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(tool(monkeypatch, "errors_drawn").disagreements()) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BadInput ", "BadImput ", "BadInput is not in the drawing"),
        ("bad-input", "bad-imput", "BadInput is drawn with the code 'bad-imput'"),
        ("StoreLocked ", "StoreJammed ", "StoreJammed is drawn but does not exist"),
        ("│   └── ReplyError", "├── ReplyError", "ReplyError is drawn under MentisError"),
        ("   store-full        no space left", "   store-full  ", "StoreFull is drawn without"),
    ],
    ids=["missing", "code", "unreal", "parent", "meaning"],
)
def test_a_drawing_that_went_stale_is_found(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    drawn = errors.__doc__ or ""
    assert old in drawn
    monkeypatch.setattr(errors, "__doc__", drawn.replace(old, new))
    found = [text for _, text in tool(monkeypatch, "errors_drawn").disagreements()]
    assert any(text.startswith(message) for text in found), found


def test_the_written_reference_is_up_to_date_until_something_differs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reference = tool(monkeypatch, "reference")
    assert "cli.md" in reference.out_of_date(tmp_path)
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/Old.schema.json").write_text("{}", encoding="utf-8")
    reference.write(tmp_path)
    assert reference.out_of_date(tmp_path) == []
    (tmp_path / "errors.md").write_text("", encoding="utf-8")
    (tmp_path / "schemas/Old.schema.json").write_text("{}", encoding="utf-8")
    assert reference.out_of_date(tmp_path) == ["errors.md", "schemas/Old.schema.json"]


def test_a_pure_room_below_the_floor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run_tests = tool(monkeypatch, "run_tests")
    full = {"num_statements": 90, "num_branches": 10, "covered_lines": 90, "covered_branches": 10}
    rooms = {room if room.endswith(".py") else f"{room}/a.py": full for room in run_tests.PURE}
    assert run_tests.too_low(run_tests.tally_rooms(rooms)) == []
    rooms["codec/a.py"] = full | {"covered_branches": 4}
    del rooms["facts/a.py"]
    assert run_tests.too_low(run_tests.tally_rooms(rooms)) == [
        "facts: not measured at all; is it still there?",
        "codec: 94.0 percent covered, 95 is the floor",
    ]
