"""Search is measured on a set, and the set on its way in."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.errors import BadInput
from mentis.memories.evaluation import MemoryReport, evaluate
from mentis.recall.memory.evaluation import load_memory_set


def mrr(report: MemoryReport, way: str) -> float:
    return next(row.mrr for row in report.rows if (row.way, row.language) == (way, "all"))


@pytest.mark.model
@pytest.mark.anyio
async def test_both_together_find_more_than_meaning_or_words_alone() -> None:
    report = await evaluate(choice="minilm")
    assert mrr(report, "both") > mrr(report, "meaning")
    assert mrr(report, "both") > mrr(report, "words")
    assert mrr(report, "both") >= 0.8


def test_halves_are_all_of_the_set_and_share_nothing() -> None:
    every = load_memory_set().questions
    opened, held = (load_memory_set(half=half).questions for half in ("open", "held"))
    assert sorted(one.text for one in (*opened, *held)) == sorted(one.text for one in every)
    assert {one.language for one in every} == {"en", "de", "fr", "pt", "es"}


@pytest.mark.parametrize(
    ("memories", "questions", "said"),
    [
        ("", None, "questions.jsonl"),
        ("not json\n", "", "memories.jsonl, line 1"),
        ("[]\n", "", "memories.jsonl, line 1: not an object"),
        ('{"id": "a"}\n', "", "`text` is not a text"),
        (
            '{"id": "a", "text": "b"}\n',
            '{"language": "en", "text": "c", "memory": "d"}\n',
            "questions.jsonl, line 1: there is no memory 'd'",
        ),
    ],
)
def test_a_broken_set_is_refused_with_its_place(
    tmp_path: Path, memories: str, questions: str | None, said: str
) -> None:
    (tmp_path / "memories.jsonl").write_text(memories)
    if questions is not None:
        (tmp_path / "questions.jsonl").write_text(questions)
    with pytest.raises(BadInput, match=said.replace("[", r"\[")):
        load_memory_set(tmp_path)


def test_a_set_that_is_not_utf_8_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "memories.jsonl").write_bytes(b'{"id": "a", "text": "\xff"}\n')
    with pytest.raises(BadInput, match="not UTF-8 at byte 21"):
        load_memory_set(tmp_path)
