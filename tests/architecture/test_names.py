"""Names can be searched for: one class a name, no module that says "What", few participles."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/mentis"
MOST_PARTICIPLES = 0.04  # of the public names
# On one worker: the package is parsed once.
pytestmark = pytest.mark.xdist_group("names")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module("house_names")


def test_no_public_class_name_stands_for_two_classes(names: ModuleType) -> None:
    assert list(names.doubled_class_names(PACKAGE)) == []


def test_no_docstring_of_a_module_begins_with_what(names: ModuleType) -> None:
    assert names.what_docstrings(PACKAGE) == []


@pytest.mark.parametrize("kind", ["function", "class"])
def test_hardly_any_public_name_is_a_bare_participle(names: ModuleType, kind: str) -> None:
    public = [one for one in names.definitions(PACKAGE) if one.kind == kind and one.public]
    bare = [one for one in public if names.is_participle(one.name)]
    assert len(bare) < MOST_PARTICIPLES * len(public)
