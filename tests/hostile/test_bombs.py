"""A few lines that would become very many: refused by name, and the others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.recall.skills import read_skills


def skill(folder: Path, head: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\nDo it.\n", encoding="utf-8")


BILLION = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{b}: &{b} [{', '.join(f'*{a}' for _ in range(9))}]"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
HEADS = {
    "aliases of aliases": f"name: bomb\ndescription: d\n{BILLION}",
    "merged into each other": "name: bomb\ndescription: d\nx: &x {y: 1}\nz: {<<: *x}",
    "a list in a list": "name: bomb\ndescription: " + "[" * 20_000,
    "a circle": "name: bomb\ndescription: &d [*d]",
    "an object of Python": "name: bomb\ndescription: !!python/object/apply:os.system [id]",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_skill_that_would_grow_is_left_out_by_name_and_the_others_stay(
    tmp_path: Path, head: str
) -> None:
    skill(tmp_path / "bomb", head)
    skill(tmp_path / "fine", "name: fine\ndescription: It is.")
    found = read_skills(tmp_path)
    assert [one.name for one in found.skills] == ["fine"]
    assert any("bomb" in str(problem) for problem in found.problems)
