"""The skills of a home: whether there are any, and what one of them says."""

from __future__ import annotations

import os
from pathlib import Path

from mentis.recall.skills import read_skills

SKILLS = "skills"  # the folder in a home
_MOST_BYTES = 64 * 1024


def has_skills(root: Path) -> bool:
    """Whether there may be any, seen without reading them."""
    try:
        with os.scandir(root) as entries:
            return any(one.is_dir() for one in entries)
    except OSError:
        return False


def skill_text(root: Path, name: str) -> str | None:
    """The file as it is, up to its limit; None where no skill has this name. It blocks. `root` is
    the folder in a home.
    """
    for skill in read_skills(root, home=root.parent).skills:
        if skill.name == name:
            with (root / skill.source).open("rb") as file:
                return file.read(_MOST_BYTES).decode("utf-8", "replace")
    return None
