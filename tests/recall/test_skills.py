from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.recall import skills
from mentis.recall.skills import read_skills

# Each level takes the one before ten times: 636 bytes that grow to more than any memory holds.
BOMB = (
    "---\nname: bomb\ndescription: x\na0: &a0 {k: v}\n"
    + "".join(
        f"a{level}: &a{level}\n  <<: [{', '.join([f'*a{level - 1}'] * 10)}]\n"
        for level in range(1, 10)
    )
    + "---\n"
)


def skill(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def test_a_folded_description_is_read_as_one_line(tmp_path: Path) -> None:
    skill(
        tmp_path / "review",
        "---\nname: code-review\ndescription: >\n  Look at a change\n  and judge it.\n"
        "examples: [is this ready, 'passt das']\nstances: [review]\n---\n# Body\n",
    )
    (found,) = read_skills(tmp_path).skills
    assert found.name == "code-review"
    assert found.description == "Look at a change and judge it."
    assert found.examples == ("is this ready", "passt das")
    assert found.stances == ("review",)
    assert found.source == "review/SKILL.md"


def test_without_a_name_the_folder_names_it(tmp_path: Path) -> None:
    skill(tmp_path / "poetry", "---\ndescription: Write poems.\n---\n")
    assert [one.name for one in read_skills(tmp_path).skills] == ["poetry"]


def test_a_disabled_skill_is_passed_by(tmp_path: Path) -> None:
    (skill(tmp_path / "off", "---\ndescription: x\n---\n") / ".disabled").touch()
    assert read_skills(tmp_path).skills == ()


def test_a_loop_of_links_ends_and_each_skill_is_found_once(tmp_path: Path) -> None:
    folder = skill(tmp_path / "a", "---\ndescription: x\n---\n")
    (folder / "back").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    found = read_skills(tmp_path)
    assert [one.name for one in found.skills] == ["a"]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# no front matter\n", "does not begin with front matter"),
        ("---\nname: x\n" + "y" * 200_000, "does not end within 64 KiB"),
        ("---\nname: [\n---\n", "is not YAML"),
        ("---\njust text\n---\n", "holds no names and values"),
        ("---\nname: x\n---\n", "there is no description"),
        ("---\nname: 3\ndescription: x\n---\n", "name is not a text"),
        ("---\ndescription: x\nexamples: [1]\n---\n", "examples is not a list of texts"),
        ("---\ndescription: x\nstances: [sleep]\n---\n", "stances is not a list of plan"),
        ("---\na: &a x\ndescription: *a\n---\n", "holds an alias (*)"),
        (BOMB, "holds an alias (*)"),
        ("---\ndescription: !!bool perhaps\n---\n", "is not YAML"),
        ("---\ndescription: !!timestamp soon\n---\n", "is not YAML"),
        (f"---\ndescription: 1{':1' * 400}.5\n---\n", "is not YAML"),
        ('---\ndescription: "a \\ud800 b"\n---\n', "description holds half a surrogate pair"),
        ('---\nname: "\\udfff"\ndescription: x\n---\n', "name holds half a surrogate pair"),
        ('---\ndescription: x\nexamples: ["\\ud800"]\n---\n', "examples holds half"),
    ],
)
def test_a_file_that_cannot_be_taken_is_reported_and_the_others_stay(
    tmp_path: Path, text: str, said: str
) -> None:
    skill(tmp_path / "bad", text)
    skill(tmp_path / "good", "---\ndescription: x\n---\n")
    found = read_skills(tmp_path)
    assert [one.name for one in found.skills] == ["good"]
    (problem,) = found.problems
    assert problem.startswith("bad/SKILL.md: ")
    assert said in problem


def test_stars_and_anchors_that_nothing_points_to_are_text_like_any(tmp_path: Path) -> None:
    skill(tmp_path / "a", "---\nname: &n a\ndescription: 'all *.txt, **bold**'\n---\n* x\n")
    (found,) = read_skills(tmp_path).skills
    assert found.description == "all *.txt, **bold**"


def test_the_second_skill_of_a_name_is_left_out_and_told(tmp_path: Path) -> None:
    skill(tmp_path / "a", "---\nname: same\ndescription: x\n---\n")
    skill(tmp_path / "b", "---\nname: same\ndescription: y\n---\n")
    found = read_skills(tmp_path)
    assert [one.description for one in found.skills] == ["x"]
    assert found.problems == ("b/SKILL.md: the name 'same' is taken by a/SKILL.md",)


def test_a_folder_that_is_not_there_holds_no_skills(tmp_path: Path) -> None:
    assert read_skills(tmp_path / "none").skills == ()


def test_what_leads_out_is_left_out_and_said(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "home/skills"
    outside = skill(tmp_path / "outside", "---\ndescription: x\n---\n")
    skill(home / "shared/near", "---\ndescription: x\n---\n")
    (root / "file").mkdir(parents=True)
    (root / "file/SKILL.md").symlink_to(outside / "SKILL.md")
    (root / "folder").symlink_to(outside, target_is_directory=True)
    (root / "near").symlink_to(home / "shared/near", target_is_directory=True)
    found = read_skills(root, home=home)
    assert [one.name for one in found.skills] == ["near"]
    assert found.problems == (
        "SKILL.md: it leads out of home",
        "folder: it leads out of home",
    )
    assert read_skills(root).skills == ()


def test_what_leads_out_a_long_way_round_is_left_out(
    tmp_path: Path, long_way_out: Callable[[Path, str], Path]
) -> None:
    home, root = tmp_path / "home", tmp_path / "home/skills"
    outside = skill(tmp_path / "outside", "---\ndescription: x\n---\n")
    root.mkdir(parents=True)
    (root / "SKILL.md").symlink_to(long_way_out(home, "outside/SKILL.md"))
    assert (root / "SKILL.md").samefile(outside / "SKILL.md")
    assert read_skills(root, home=home).problems == ("SKILL.md: it leads out of home",)


def test_the_walk_ends_where_there_is_too_much_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "_MOST_ENTRIES", 5)
    skill(tmp_path / "a", "---\ndescription: x\n---\n")
    for number in range(20):
        (tmp_path / f"b{number}").mkdir()
    (problem,) = read_skills(tmp_path).problems
    assert problem.endswith("more than 5 files and folders; the rest is left out")


def test_what_was_found_is_current_until_anything_of_it_changes(tmp_path: Path) -> None:
    folder = skill(tmp_path / "a", "---\ndescription: x\n---\n")
    found = read_skills(tmp_path)
    assert found.current
    skill(folder, "---\ndescription: another\n---\n")
    assert not found.current
    found = read_skills(tmp_path)
    (folder / ".disabled").touch()
    assert not found.current
    found = read_skills(tmp_path)
    assert found.skills == ()
    (folder / ".disabled").unlink()
    assert not found.current


def test_a_folder_that_was_not_there_is_current_until_it_is(tmp_path: Path) -> None:
    found = read_skills(tmp_path / "skills")
    assert found.current
    (tmp_path / "skills").mkdir()
    assert not found.current
    found = read_skills(tmp_path / "skills")
    (tmp_path / "skills").rmdir()
    assert not found.current
