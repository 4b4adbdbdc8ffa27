from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from mentis.errors import BadInput
from mentis.recall.evaluation import figures, overlap
from mentis.recall.evaluation_set import EvaluationSource, Task, load_set
from mentis.recall.phrasebook import load_phrases
from mentis.values.proportion import Proportion

# The tasks were written before examples and tuning. Whoever changes one measures another thing.
TASKS = "607eab1a874aa1a7c85dec7ad45a1ba3b4f4404bd9f63818424081f90a0c4c45"


def test_the_tasks_are_those_that_were_fixed_before_anything_was_tuned() -> None:
    data = (files("mentis.recall") / "data/selection/tasks.jsonl").read_bytes()
    assert sha256(data).hexdigest() == TASKS


def test_the_set_is_as_large_and_as_mixed_as_it_says() -> None:
    found = load_set()
    kinds = Counter(one.kind for one in found.capabilities)
    assert kinds["tool"] >= 60
    assert kinds["skill"] >= 40
    assert Counter(one.language for one in found.tasks) == dict.fromkeys(
        ("en", "de", "fr", "pt", "es"), 80
    )
    assert {one.difficulty for one in found.tasks} == {"easy", "paraphrased", "none"}
    held = sum(one.held_out for one in found.tasks)
    assert held == len(found.half("held"))
    assert 180 <= held <= 220
    assert all(one.examples for one in found.capabilities)


def test_no_task_shares_three_content_words_in_a_row_with_what_it_should_find() -> None:
    assert overlap(load_set()) == ()


def write(folder: Path, **files_: list[dict[str, object]]) -> Path:
    for name, rows in files_.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


TOOL: dict[str, object] = {"name": "a", "description": "open the garden door"}
TASK: dict[str, object] = {
    "language": "en",
    "difficulty": "easy",
    "task": "please open my garden door now",
    "tools": ["a"],
}


def test_a_set_of_your_own_is_read_and_its_overlap_is_found(tmp_path: Path) -> None:
    found = load_set(EvaluationSource(write(tmp_path, tools=[TOOL], tasks=[TASK])))
    assert overlap(found) == (("please open my garden door now", "open garden door"),)


def test_a_task_that_expects_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not in the set"):
        load_set(EvaluationSource(write(tmp_path, tools=[TOOL], tasks=[{**TASK, "tools": ["b"]}])))
    with pytest.raises(BadInput, match="is 'none' and expects"):
        load_set(
            EvaluationSource(write(tmp_path, tools=[TOOL], tasks=[{**TASK, "difficulty": "none"}]))
        )
    with pytest.raises(BadInput, match="has no task"):
        load_set(EvaluationSource(write(tmp_path, tools=[TOOL], tasks=[{"language": "en"}])))


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no tasks\.jsonl"):
        load_set(EvaluationSource(tmp_path))


def test_files_of_your_own_need_names_descriptions_and_tasks_only(tmp_path: Path) -> None:
    """As one JSON list, as a provider wants tools declared, with examples or without."""
    tools, tasks = tmp_path / "t.json", tmp_path / "q.jsonl"
    declared = {"type": "function", "function": {**TOOL, "parameters": {"type": "object"}}}
    told = {"name": "b", "description": "shut it", "examples": ["close the gate"]}
    tools.write_text(json.dumps([declared, told]), encoding="utf-8")
    rows = [
        {"language": "en", "task": "let me out", "tools": "a"},
        {"language": "en", "task": "hm"},
    ]
    tasks.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    found = load_set(EvaluationSource(tasks=tasks, tools=tools))
    assert [(one.name, one.examples) for one in found.capabilities] == [
        ("a", ()),
        ("b", ("close the gate",)),
    ]
    assert [(one.difficulty, one.tools) for one in found.tasks] == [("easy", ("a",)), ("none", ())]


def test_a_phrase_that_ships_counts_as_shared_wording(tmp_path: Path) -> None:
    spoken = next(text for one in load_phrases() for text in one.phrases if len(text.split()) > 6)
    found = load_set(
        EvaluationSource(write(tmp_path, tools=[TOOL], tasks=[{**TASK, "task": spoken}]))
    )
    assert overlap(found)


def test_figures_count_ranks() -> None:
    tasks = [Task("en", "easy", str(place), tools=("x",)) for place in (1, 2, 6)]
    tasks.append(Task("en", "none", "nothing"))

    def order(task: Task, _kind: str) -> list[str]:
        return [*"abcdef"[: int(task.task) - 1], "x"]

    found = figures(tasks, "tool", order)
    assert found is not None
    assert (found.tasks, found.recall_1, found.recall_5) == (3, 0.3333, 0.6667)
    assert found.mrr == round((1 + 1 / 2 + 1 / 6) / 3, 4)
    assert found.complete == Proportion(2, 3), "the third is behind the five that a turn is shown"
    assert figures(tasks, "skill", order) is None
