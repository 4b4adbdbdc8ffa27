from __future__ import annotations

from pathlib import Path

from .conftest import Mentis


def write(home: Path, name: str, text: str) -> Path:
    folder = home / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def test_skills_are_listed_with_their_file_and_whether_they_are_on(
    mentis: Mentis, home: Path
) -> None:
    assert "there are no skills" in mentis("skills", "list", "--home", home).err
    write(home, "poetry", "---\ndescription: Write poems.\nstances: [act]\n---\n")
    (write(home, "old", "---\ndescription: Write verse.\n---\n") / ".disabled").touch()
    shown = mentis("skills", "list", "--home", home)
    assert (shown.code, shown.out.splitlines()) == (
        0,
        ["poetry  on  poetry/SKILL.md", "    Write poems.", "-  off  old/SKILL.md"],
    )
    assert mentis("skills", "list", "--home", home, "--json").json()["skills"] == [
        {
            "name": "poetry",
            "state": "on",
            "source": "poetry/SKILL.md",
            "description": "Write poems.",
            "stances": ["act"],
        },
        {"name": None, "state": "off", "source": "old/SKILL.md"},
    ]


def test_a_file_that_cannot_be_read_as_a_skill_fails_the_check(mentis: Mentis, home: Path) -> None:
    write(home, "poetry", "---\ndescription: Write poems.\n---\n")
    good = mentis("skills", "check", "--home", home)
    assert (good.code, good.out.strip()) == (0, "1 skill, nothing is wrong")
    write(home, "bad", "no front matter")
    bad = mentis("skills", "check", "--home", home)
    assert bad.code == 1
    assert bad.out.startswith("bad/SKILL.md: it does not begin with front matter")
    told = mentis("skills", "check", "--home", home, "--json")
    assert (told.code, told.json()["skills"]) == (1, 1)
    assert told.json()["problems"] == [bad.out.strip()]
