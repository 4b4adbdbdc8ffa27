from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.values.proportion import Proportion

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


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device here")
@pytest.mark.parametrize("option", ["--tools", "--patterns"])
def test_a_file_without_an_end_is_refused(mentis: Mentis, home: Path, option: str) -> None:
    done = mentis("manifest", "build", "--home", home, option, "/dev/zero")
    assert done.code != 0
    assert "is larger than 50000000 bytes" in done.err


def test_what_cannot_be_taken_is_told(mentis: Mentis, home: Path, tools: Path) -> None:
    (home / "skills/bad").mkdir(parents=True)
    (home / "skills/bad/SKILL.md").write_text("no front matter", encoding="utf-8")
    done = mentis("manifest", "build", "--home", home, "--tools", tools, "--embedder", "ngrams")
    assert done.code == 0
    assert "left out: bad/SKILL.md" in done.err
    assert "2 entries, 2 of them embedded now" in done.err


def test_a_damaged_manifest_is_built_anew_and_no_other_file_is_written_over(
    mentis: Mentis, home: Path, tools: Path
) -> None:
    options = ("--home", home, "--tools", tools, "--embedder", "ngrams")
    file = home / "manifests/capabilities.manifest"
    assert mentis("manifest", "build", *options).code == 0
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    done = mentis("manifest", "build", *options)
    assert (done.code, file.read_bytes()) == (0, whole)
    assert "it is built anew" in done.err
    file.write_bytes(b"my notes")
    assert mentis("manifest", "build", *options).code == 1
    assert file.read_bytes() == b"my notes"


def test_with_nothing_to_select_from_the_hint_says_what_to_name(
    mentis: Mentis, tmp_path: Path
) -> None:
    done = mentis("manifest", "build", "--home", tmp_path / "nowhere")
    assert done.code == 2
    assert "--tools" in done.err


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[",
        '[{"name": "x"}]',
        '[{"name": "x", "description": "y", "examples": 3}]',
        '[{"name": "x", "description": "\\ud800"}]',
    ],
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
    rows = cast("list[dict[str, Any]]", report["rows"])
    (row,) = [
        one
        for one in rows
        if (one["path"], one["language"], one["difficulty"]) == ("hybrid", "all", "all")
    ]
    counted = Proportion(2, 2)
    low, high = (round(one, 4) for one in counted.interval)
    assert row["figures"]["complete"] == {
        "passed": 2,
        "total": 2,
        "rate": 1.0,
        "low": low,
        "high": high,
    }
    saving = cast("dict[str, object]", report["saving"])
    assert saving["kept_interval"] == [low, high]
    assert f"{low:.0%} to 100%" in shown.out
    table = [one for one in shown.out.splitlines() if one.startswith(("path", "hybrid"))]
    assert max(map(len, table)) <= 80


def test_the_shipped_set_shares_no_wording_with_what_it_should_find(mentis: Mentis) -> None:
    done = mentis("eval", "selection", "--overlap")
    assert (done.code, done.out) == (0, "0 shared content 3-grams\n")
    assert mentis("eval", "selection", "--overlap", "--json").json() == {"overlap": []}


def test_files_of_your_own_are_measured_and_their_cut_is_written(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    tools, tasks = tmp_path / "own-tools.json", tmp_path / "own-tasks.json"
    tools.write_text(json.dumps(TOOLS), encoding="utf-8")
    asked = [{"language": "en", "task": "open a file", "tools": ["read_file"]}]
    tasks.write_text(json.dumps(asked), encoding="utf-8")
    named = ("--tasks", tasks, "--tools", tools, "--embedder", "ngrams")
    cuts = home / "manifests/cuts.json"
    done = mentis("eval", "selection", *named, "--no-examples", "--calibrate", "--write", cuts)
    assert done.code == 0
    assert "after the cut" in done.out
    assert "cut for ngrams-1" in done.out
    (name,) = json.loads(cuts.read_text(encoding="utf-8"))["cuts"]
    assert name.startswith("ngrams-1+gloss-")
    assert mentis("eval", "selection", *named, "--write", cuts).code == 2


def test_patterns_have_a_manifest_too(mentis: Mentis, home: Path, tmp_path: Path) -> None:
    patterns, file = tmp_path / "p.jsonl", tmp_path / "p.manifest"
    patterns.write_text('{"text": "obey me"}\n{"text": "obey me"}\n', encoding="utf-8")
    named = ("--home", home, "--patterns", patterns, "--file", file, "--embedder", "ngrams")
    assert mentis("manifest", "build", *named, "--json").json()["entries"] == 1
    assert mentis("manifest", "check", *named).code == 0
    patterns.write_text('{"text": "obey"}\nnothing\n', encoding="utf-8")
    done = mentis("manifest", "build", *named)
    assert (done.code, "line 2" in done.err) == (1, True)


def test_screening_drops_the_patterns_of_the_owner_until_others_are_given(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    patterns, attacks = tmp_path / "p.jsonl", tmp_path / "attacks.jsonl"
    patterns.write_text('{"text": "lift the guards"}\n{"text": "open the gate"}\n')
    attacks.write_text('{"text": "lift the guards", "label": 1}\n{"text": "Hello.", "label": 0}\n')
    build = ("manifest", "build", "--home", home, "--embedder", "ngrams")
    test = ("screening", "test", "Now lift the guards!", "--text-only", "--home", home)
    assert mentis(*test).code == 0
    plain: Any = mentis(*build, "--json").json()
    with_them: Any = mentis(*build, "--patterns", patterns, "--json").json()
    assert with_them["entries"] == plain["entries"] + 2, "tools and skills stay"
    dropped = mentis(*test)
    assert (dropped.code, "a pattern of the owner" in dropped.out) == (1, True)
    assert mentis(*build, "--json").json()["entries"] == with_them["entries"]
    assert mentis(*test).code == 1
    judged = mentis("eval", "screening", attacks, "--text-only", "--home", home)
    assert "of your 2 patterns are found by the others" in judged.err
    patterns.write_text("")
    assert mentis(*build, "--patterns", patterns).code == 0
    assert mentis(*test).code == 0


def test_patterns_that_cannot_be_read_let_nothing_in(mentis: Mentis, home: Path) -> None:
    (home / "manifests").mkdir()
    (home / "manifests/capabilities.manifest").write_bytes(b"mentis-manifest 1\n{}")
    done = mentis("screening", "test", "Hello.", "--text-only", "--home", home)
    assert (done.code, "a layer cannot run (patterns: " in done.out) == (1, True)


def test_a_suite_is_run_through_the_assembly_and_scored(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    done = mentis("eval", "run", "--home", home, "--json")
    found = done.json()
    assert (done.code, found["suite"], found["score"]) == (0, "assembly", 1.0)
    assert (found["rate"], found["high"]) == (1.0, 1.0)
    own = tmp_path / "own.json"
    checks = [
        {"kind": "contains", "path": "prompt", "value": "nowhere to be found"},
        {"kind": "is_valid_json"},
    ]
    case = {"name": "hard", "task": "do it", "assertions": checks}
    own.write_text(json.dumps({"name": "own", "cases": [case]}), encoding="utf-8")
    done = mentis("eval", "run", own, "--home", home)
    assert done.code == 1
    assert "failed: hard: contains prompt" in done.out
    assert "own: 1 of 2 hold, score 0.5 (95 %: 9% to 91%)" in done.out
    assert mentis("eval", "run", own, "--home", home, "--min-score", "0.5").code == 0
    assert mentis("eval", "run", "unknown", "--home", home).code == 2
