"""The measurements of the code, taken of small packages whose figures can be counted by hand."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import CodeType, ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _tool(monkeypatch, "house")


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _tool(monkeypatch, "house_code")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _tool(monkeypatch, "house_names")


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _tool(monkeypatch, "house_walk")


def _tool(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    return importlib.import_module(name)


def package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "pack"


def test_a_room_is_sized_without_blank_lines_comments_and_docstrings(
    code: ModuleType, tmp_path: Path
) -> None:
    head = '"""A module.\n\nMore of it."""\n\nimport os\n\n\n'
    text = f'{head}# why\ndef f():\n    """Do."""\n    return os\n'
    root = package(tmp_path, {"one/a.py": text, "loose.py": "class A: ...\n"})
    one, loose, total = code.room_sizes(root)
    assert (one.room, one.files, one.lines, one.code_lines, one.import_lines) == (
        "one",
        1,
        11,
        3,
        1,
    )
    assert (one.functions, one.median, one.p90, one.longest, one.classes) == (1, 2, 2, 2, 0)
    assert (loose.room, loose.code_lines, loose.functions, loose.classes) == ("loose", 1, 0, 1)
    assert (total.room, total.files, total.lines, total.code_lines) == ("total", 2, 12, 4)


def test_a_function_is_short_by_its_lines_without_the_docstring(
    code: ModuleType, tmp_path: Path
) -> None:
    short = 'def f():\n    """Do\n    it."""\n    a = 1\n    return a\n'
    longer = "def g():\n    a = 1\n    b = 2\n    return a + b\n"
    assert code.short_functions(package(tmp_path, {"a.py": short + longer})) == 1


def test_imports_are_followed_wherever_they_stand(code: ModuleType, tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "one/__init__.py": "from . import a\n",
        "one/a.py": "import os\nfrom pack.two.b import thing\nfrom ..two import c\n",
        "two/__init__.py": "",
        "two/b.py": "def f():\n    from .c import x\n    return x\n",
        "two/c.py": "if TYPE_CHECKING:\n    import pack.one.a\n",
    }
    root = package(tmp_path, files)
    assert code.import_graph(root) == {
        "pack": frozenset(),
        "pack.one": {"pack.one.a"},
        "pack.one.a": {"pack.two.b", "pack.two.c"},
        "pack.two": frozenset(),
        "pack.two.b": {"pack.two.c"},
        "pack.two.c": {"pack.one.a"},
    }
    assert code.room_edges(root) == {("one", "two"): 2, ("two", "one"): 1}
    assert code.mutual_rooms(root) == [code.Pair("", "one", "two", 2, 1)]
    assert code.modules_with_one_importer(root) == ["pack.two.b"]


def test_clusters_of_a_room_are_its_packages_and_the_first_words_of_its_modules(
    code: ModuleType, tmp_path: Path
) -> None:
    files = {
        "one/deep/a.py": "from pack.one import words\n",
        "one/words.py": "from pack.one import words_more\n",
        "one/words_more.py": "from pack.one.deep import b\n",
        "one/deep/b.py": "",
        "one/deep/__init__.py": "",
        "one/__init__.py": "from .words import x\n",
        "one/alone.py": "from .words import x\n",
    }
    pairs = code.mutual_clusters(package(tmp_path, files))
    assert pairs == [code.Pair("one", "deep", "words", 1, 1)]


def test_protocols_are_listed_with_their_methods_the_widest_first(
    code: ModuleType, tmp_path: Path
) -> None:
    text = (
        "class Small(Protocol):\n    def f(self): ...\n"
        "class Wide(Protocol[T]):\n    def f(self): ...\n    async def g(self): ...\n"
        "class Other:\n    def f(self, wide: Wide): ...\n"
    )
    found = code.protocols(package(tmp_path, {"ports/a.py": text}))
    assert [(one.name, one.module, one.size, one.signatures) for one in found] == [
        ("Wide", "pack.ports.a", 2, 1),
        ("Small", "pack.ports.a", 1, 0),
    ]


def test_a_wide_dataclass_tells_how_many_functions_have_a_parameter_of_it(
    code: ModuleType, tmp_path: Path
) -> None:
    fields = "".join(f"    a{number}: int\n" for number in range(13))
    wide = f"@dataclass(frozen=True)\nclass Wide:\n    x: ClassVar[int] = 1\n{fields}"
    rest = f"@dataclass\nclass Narrow:\n    x: ClassVar[int] = 1\n{fields.partition('    a12')[0]}"
    uses = "def f(one: Wide, *, two: list[Wide]): ...\ndef g(*rest: Wide | None) -> None: ...\n"
    root = package(tmp_path, {"a.py": wide + rest, "b.py": uses + "def h() -> Wide: ...\n"})
    assert code.wide_dataclasses(root) == [code.WideObject("Wide", "a", "pack.a", 13, 2, 1)]


def test_public_class_names_defined_twice_are_found_with_their_places(
    names: ModuleType, tmp_path: Path
) -> None:
    files = {
        "a.py": "class Told: ...\nclass _Own: ...\nclass Once: ...\n",
        "b.py": "class _Own: ...\n\ndef f():\n    class Told: ...\n",
    }
    found = names.doubled_class_names(package(tmp_path, files))
    places = {name: [(one.path.name, one.line) for one in at] for name, at in found.items()}
    assert places == {"Told": [("a.py", 1), ("b.py", 4)]}


@pytest.mark.parametrize(
    "name", ["told", "_told", "Kept", "listed", "written", "unheard", "Rebuilt"]
)
def test_one_participle_alone_is_a_bare_participle(names: ModuleType, name: str) -> None:
    assert names.is_participle(name)


@pytest.mark.parametrize(
    "name",
    ["open", "feed", "Token", "read", "put", "told_history", "TurnKept", "budget", "__init__"],
)
def test_verbs_nouns_and_names_of_several_words_are_no_bare_participles(
    names: ModuleType, name: str
) -> None:
    assert not names.is_participle(name)


def test_the_share_of_participles_is_told_for_all_and_for_public_names(
    names: ModuleType, tmp_path: Path
) -> None:
    text = (
        "def told(): ...\ndef _kept(): ...\ndef budget(): ...\nclass Held: ...\nclass Lease: ...\n"
    )
    root = package(tmp_path, {"a.py": text})
    assert names.participle_share(root) == {
        "function": names.Share(2, 3, 1, 2),
        "class": names.Share(1, 2, 1, 2),
    }
    assert [one.name for one in names.participles(root)] == ["told", "_kept", "Held"]


def test_modules_whose_docstring_begins_with_what_are_found(
    names: ModuleType, tmp_path: Path
) -> None:
    files = {
        "a.py": '"""What a turn may cost."""\n',
        "b.py": '"""Whatever comes."""\n',
        "c.py": '"""Budget: what a turn may cost."""\n',
        "d.py": 'def f():\n    """What it does."""\n',
        "e.py": '"""\nWhat comes late."""\n',
    }
    root = package(tmp_path, files)
    assert [path.name for path in names.what_docstrings(root)] == ["a.py", "e.py"]


def test_settings_that_no_page_names_are_found(names: ModuleType, tmp_path: Path) -> None:
    write_docs(tmp_path)
    assert names.settings_without_page(tmp_path) == ["limits.bytes"]


def test_every_setting_in_force_is_named_on_a_guide_concept_or_example(names: ModuleType) -> None:
    assert names.settings_without_page(TOOLS.parent) == []


def write_docs(project: Path) -> None:
    rows = "| `run.interval` | x |\n| `limits.bytes` | x |\n"
    older = "\n## Older names\n\n| older |\n|---|\n| `limits.octets` | x |\n"
    pages = {
        "docs/reference/settings.md": f"| key |\n|---|\n{rows}{older}",
        "docs/guides/a.md": "With `interval = 3` it waits.\n",
        "docs/design/b.md": "limits.bytes\n",
    }
    for name, text in pages.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_a_walk_counts_from_its_beginning_the_functions_files_and_crossings(
    walking: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "one/a.py": (
            "import walked.two.b as b\n\n"
            "def number():\n    return 1\n\n"
            "def before():\n    b.number()\n\n"
            "async def run_turn():\n    class Local: ...\n"
            "    return [await b.ask() for _ in range(2)] + [number()]\n"
        ),
        "two/b.py": (
            "import asyncio\n\n"
            "def number():\n    return 1\n\n"
            "async def ask():\n    await asyncio.sleep(0)\n    return number()\n"
        ),
    }
    package(tmp_path, files).rename(tmp_path / "walked")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    module = importlib.import_module("walked.one.a")
    root = tmp_path / "walked"
    recorder = walking.Recorder(root, _is_turn)
    recorder.start()
    try:
        module.before()
        asyncio.run(module.run_turn())
    finally:
        found = recorder.stop()
    assert found == walking.Walk(
        calls=6, functions=4, files=2, crossings=2, functions_by_room={"one": 2, "two": 2}
    )


def _is_turn(code: CodeType) -> bool:
    return code.co_name == "run_turn"


def test_the_report_says_why_a_walk_was_not_measured(
    house: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(kind: str) -> None:
        raise subprocess.CalledProcessError(1, kind, stderr="Traceback\nNoHome: there is none\n")

    monkeypatch.setattr(house, "walk", fails)
    write_docs(tmp_path)
    root = package(
        tmp_path, {"one/a.py": "def told(): ...\n", "two/b.py": "from pack.one import a\n"}
    )
    figures = house.measure(tmp_path, root)
    report = list(house.report(figures))
    assert "  turn: not measured: NoHome: there is none" in report
    assert "  two: one 1" in report
    assert "  function  1 of 1 (100%); public 1 of 1 (100%)" in report
    assert json.loads(json.dumps(asdict(figures)))["settings_without_page"] == ["limits.bytes"]
