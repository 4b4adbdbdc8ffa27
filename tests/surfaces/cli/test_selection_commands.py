from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Mentis

TOOLS = [
    {"name": "read_file", "description": "Open a file.", "examples": ["show notes"]},
    {"name": "make_call", "description": "Dial a phone number.", "stances": ["act"]},
]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), encoding="utf-8")
    return path


def test_a_manifest_is_built_once_and_then_only_what_changed(
    mentis: Mentis, home: Path, tools: Path
) -> None:
    skill = home / "skills/poetry"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: Write poems.\n---\n", encoding="utf-8")
    options = ("--home", home, "--tools", tools, "--embedder", "ngrams", "--json")

    before = mentis("manifest", "check", *options)
    assert before.code == 1

    first = mentis("manifest", "build", *options)
    assert first.code == 0
    assert (first.json()["entries"], first.json()["embedded"]) == (3, 3)
    assert (home / "manifests/capabilities.manifest").is_file()
    assert mentis("manifest", "check", *options).json()["current"] is True

    (skill / "SKILL.md").write_text("---\ndescription: Write verse.\n---\n", encoding="utf-8")
    stale = mentis("manifest", "check", *options)
    assert stale.code == 1
    assert stale.json()["differences"] == [{"name": "poetry", "what": "has changed"}]
    assert mentis("manifest", "build", *options).json()["embedded"] == 1


def test_what_cannot_be_taken_is_told(mentis: Mentis, home: Path, tools: Path) -> None:
    (home / "skills/bad").mkdir(parents=True)
    (home / "skills/bad/SKILL.md").write_text("no front matter", encoding="utf-8")
    done = mentis("manifest", "build", "--home", home, "--tools", tools, "--embedder", "ngrams")
    assert done.code == 0
    assert "left out: bad/SKILL.md" in done.err
    assert "2 entries, 2 of them embedded now" in done.err


def test_with_nothing_to_select_from_the_hint_says_what_to_name(mentis: Mentis, home: Path) -> None:
    done = mentis("manifest", "build", "--home", home)
    assert done.code == 2
    assert "--tools" in done.err


@pytest.mark.parametrize(
    "content", ["{}", "[", '[{"name": "x"}]', '[{"name": "x", "description": "y", "examples": 3}]']
)
def test_a_file_that_holds_no_tools_is_refused(
    mentis: Mentis, home: Path, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    done = mentis("manifest", "build", "--home", home, "--tools", path, "--embedder", "ngrams")
    assert done.code == 1
    assert "bad.json" in done.err


def test_the_evaluation_prints_figures_for_a_set_of_your_own(
    mentis: Mentis, tmp_path: Path
) -> None:
    rows = {
        "tools": TOOLS,
        "tasks": [
            {"language": "en", "difficulty": "easy", "task": "open a file", "tools": ["read_file"]},
            {"language": "de", "difficulty": "easy", "task": "ruf an", "tools": ["make_call"]},
            {"language": "en", "difficulty": "none", "task": "hello"},
        ],
    }
    for name, lines in rows.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    done = mentis("eval", "selection", tmp_path, "--embedder", "ngrams", "--json")
    assert done.code == 0
    report = done.json()
    assert (report["tools"], report["tasks"], report["overlap"]) == (2, 3, [])
    shown = mentis("eval", "selection", tmp_path, "--embedder", "ngrams")
    assert "recall@5" in shown.out
    assert "tokens:" in shown.out


def test_the_shipped_set_shares_no_wording_with_what_it_should_find(mentis: Mentis) -> None:
    done = mentis("eval", "selection", "--overlap")
    assert (done.code, done.out) == (0, "0 shared content 3-grams\n")
    assert mentis("eval", "selection", "--overlap", "--json").json() == {"overlap": []}
