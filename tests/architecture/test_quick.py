"""What `make quick` chooses for a change, in a small package and small tests of it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import grimp
import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    return importlib.import_module("run_quick")


@pytest.fixture
def graph() -> grimp.ImportGraph:
    """`clay` is imported by `cup`, that by `tea`; the root hands all of them out."""
    made = grimp.ImportGraph()
    for importer, imported in (
        ("mentis.pots.cup", "mentis.earth.clay"),
        ("mentis.kitchen.tea", "mentis.pots.cup"),
        ("mentis", "mentis.kitchen.tea"),
        ("mentis", "mentis.earth.clay"),
    ):
        made.add_import(importer=importer, imported=imported)
    for package in ("mentis.earth", "mentis.pots", "mentis.kitchen"):
        made.add_module(package)
    return made


TESTS = {
    "tests/earth/test_clay.py": set[str](),
    "tests/earth/deep/test_sand.py": set[str](),
    "tests/kitchen/test_tea.py": {"mentis.kitchen.tea"},
    "tests/kitchen/test_oven.py": {"mentis.earth.clay"},
    "tests/pots/test_cup.py": {"mentis.pots.cup"},
    "tests/pots/test_root.py": {"mentis"},
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            ["src/mentis/earth/clay.py"],
            {
                "tests/earth/test_clay.py": 1,
                "tests/kitchen/test_oven.py": 1,
                "tests/pots/test_cup.py": 2,
                "tests/earth/deep/test_sand.py": 3,
            },
        ),
        (["tests/pots/test_cup.py"], {"tests/pots/test_cup.py": 0}),
        (["tests/pots/wheel.py"], {"tests/pots/test_cup.py": 1, "tests/pots/test_root.py": 1}),
        (
            ["src/mentis/earth/shipped/mud.json"],
            {"tests/earth/test_clay.py": 3, "tests/earth/deep/test_sand.py": 3},
        ),
        (["README.md", "docs/pots.md", "tests/conftest.py"], {}),
    ],
    ids=["module", "test", "helper", "data", "elsewhere"],
)
def test_the_tests_near_a_change_are_ranked(
    quick: ModuleType, graph: grimp.ImportGraph, changed: list[str], expected: dict[str, int]
) -> None:
    assert quick.ranks(changed, TESTS, graph) == expected


def test_what_a_test_file_imports_is_found_wherever_it_stands(quick: ModuleType) -> None:
    source = """
import mentis.pots.cup
from mentis import Tea
from mentis.testing import Sieve
from mentis.earth import clay

def test_it():
    from mentis.kitchen.oven import Oven
"""
    homes = {"Tea": "mentis.kitchen.tea", "Sieve": "mentis.pots.sieve"}
    modules = {*homes.values(), "mentis.earth", "mentis.earth.clay", "mentis.pots.cup"}
    modules.add("mentis.kitchen.oven")
    assert quick.imported(source, modules, homes) == modules - {"mentis.earth"}


def test_the_names_of_the_root_are_led_to_their_homes(quick: ModuleType) -> None:
    assert quick.doors()["ScriptedProvider"] == "mentis.call.scripted"


def test_the_nearest_few_come_first_and_the_architecture_before_the_rest(
    quick: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "NEAREST", 2)
    near = {"far": 3, "own": 0, "b": 1, "a": 1}
    assert quick.order(near, ["always"]) == ["own", "a", "always", "b", "far"]
