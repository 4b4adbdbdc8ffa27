"""`mentis skills`: what the agent of a home has learnt to do, and what is wrong with the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mentis.values.words import quantity

from .options import home_option, home_path
from .output import emit, emit_json, json_option, say

if TYPE_CHECKING:
    from mentis.recall.skills import SkillsFound


@click.group()
def skills() -> None:
    """See the skills of a home, and check their files."""


@skills.command("list", epilog="For example: mentis skills list")
@home_option
@json_option
def list_skills(*, as_json: bool) -> None:
    """Every skill with its file; those in a folder with a `.disabled` file are off."""
    from mentis.recall.skills import skills_data

    found = _found()
    for problem in found.problems:
        say(f"left out: {problem}")
    if as_json:
        emit_json({"skills": skills_data(found), "problems": list(found.problems)})
        return
    for one in found.skills:
        emit(f"{one.name}  on  {one.source}\n    {one.description}")
    for source in found.off:
        emit(f"-  off  {source}")
    if not found.skills and not found.off:
        say("there are no skills: write skills/<name>/SKILL.md in the home")


@skills.command(epilog="For example: mentis skills check")
@home_option
@json_option
def check(*, as_json: bool) -> int:
    """Say what is wrong with the files of skills. Exit code 1 when something is."""
    found = _found()
    if as_json:
        emit_json({"skills": len(found.skills), "problems": list(found.problems)})
    elif found.problems:
        for problem in found.problems:
            emit(problem)
    else:
        emit(f"{quantity(len(found.skills), 'skill')}, nothing is wrong")
    return 1 if found.problems else 0


def _found() -> SkillsFound:
    from mentis.recall.skills import read_skills
    from mentis.stores.files.home import find_home

    home = find_home(home_path()).path
    return read_skills(home / "skills", home=home)
