"""`mentis skills`: what the agent of a home has learnt to do, and what is wrong with the files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mentis.values.words import quantity

from .groups import RenamedGroup
from .options import home_option, home_path
from .output import say
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.recall.skills import SkillsFound


@click.group(cls=RenamedGroup)
def skills() -> None:
    """List the skills of a home, and check their files."""


@skills.command("list", epilog="For example: mentis skills list")
@home_option
@prints_report
def list_skills() -> Report:
    """List every skill with its file; in a folder with `.disabled` it is off."""
    from mentis.recall.skills import skills_data

    found = _found()
    for problem in found.problems:
        say(f"left out: {problem}")

    def text() -> Iterator[Text]:
        for one in found.skills:
            yield f"{one.name}  on  {one.source}\n    {one.description}"
        for source in found.off:
            yield f"-  off  {source}"
        if not found.skills and not found.off:
            yield Note("there are no skills: write skills/<name>/SKILL.md in the home")

    return Report({"skills": skills_data(found), "problems": list(found.problems)}, text())


@skills.command(epilog="For example: mentis skills check")
@home_option
@prints_report
def check() -> Report:
    """Check the files of skills. Exit code 1 when something is wrong."""
    found = _found()

    def text() -> Iterator[Text]:
        if found.problems:
            yield from found.problems
        else:
            yield f"{quantity(len(found.skills), 'skill')}, nothing is wrong"

    return Report(
        {"skills": len(found.skills), "problems": list(found.problems)},
        text(),
        code=1 if found.problems else 0,
    )


def _found() -> SkillsFound:
    from mentis.recall.skills import read_skills
    from mentis.stores.files.home import find_home

    home = find_home(home_path()).path
    return read_skills(home / "skills", home=home)
