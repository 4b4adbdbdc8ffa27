"""Skills from folders: every `SKILL.md` under a root, its front matter read as YAML.

A file that cannot be taken is reported and left out; the others are still there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.errors import BadInput
from mentis.values.selection import Capability
from mentis.values.value import Value

FILE = "SKILL.md"
_FENCE = "---"
_DEEPEST = 6  # folders below the root
_MOST = 10_000  # skills
_HEAD_BYTES = 64 * 1024  # front matter has to end within
_STANCES = ("plan", "act", "review")


@dataclass(frozen=True, slots=True)
class SkillsFound(Value):
    """Skills by name, and for each file that was left out why."""

    skills: tuple[Capability, ...]
    problems: tuple[str, ...] = ()


def read_skills(root: Path) -> SkillsFound:
    """All skills under `root`, none if it is not there. Links are followed, each place once."""
    skills: dict[str, Capability] = {}
    problems: list[str] = []
    for path in _files(root, problems):
        shown = path.relative_to(root).as_posix()
        try:
            skill = _read(path, shown)
        except BadInput as error:
            problems.append(error.message)
            continue
        if skill.name in skills:
            other = skills[skill.name].source
            problems.append(f"{shown}: the name {skill.name!r} is taken by {other}")
        else:
            skills[skill.name] = skill
        if len(skills) >= _MOST:
            problems.append(f"{root.name}: more than {_MOST} skills; the rest is left out")
            break
    return SkillsFound(tuple(skills[name] for name in sorted(skills)), tuple(problems))


def _files(root: Path, problems: list[str]) -> Iterator[Path]:
    """In the order of their names; a folder that was seen already, through a link, is passed by."""
    seen: set[tuple[int, int]] = set()
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            state = folder.stat()
            if (state.st_dev, state.st_ino) in seen:
                continue
            seen.add((state.st_dev, state.st_ino))
            inside = sorted(folder.iterdir(), reverse=True)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{folder.name}: {error.strerror}")
            continue
        if (folder / ".disabled").exists():
            continue
        if (folder / FILE).is_file():
            yield folder / FILE
        if depth < _DEEPEST:
            waiting += [(path, depth + 1) for path in inside if _is_folder(path)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _read(path: Path, shown: str) -> Capability:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise BadInput(f"{shown}: {error.strerror}") from error
    found = front_matter(head.decode("utf-8", errors="replace"), where=shown)
    name = _text(found, "name", shown) or path.parent.name
    description = _text(found, "description", shown)
    if not description:
        raise BadInput(f"{shown}: there is no description")
    return Capability(
        name=name,
        kind="skill",
        description=description,
        examples=_texts(found, "examples", shown),
        stances=_texts(found, "stances", shown, allowed=_STANCES),
        source=shown,
    )


def front_matter(text: str, *, where: str) -> Mapping[str, object]:
    """What stands between the two fences at the beginning, as YAML says it."""
    import yaml

    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise BadInput(f"{where}: it does not begin with front matter ({_FENCE})")
    ends = [number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE]
    if not ends:
        raise BadInput(f"{where}: the front matter does not end within {_HEAD_BYTES // 1024} KiB")
    try:
        found: object = yaml.safe_load("\n".join(lines[1 : ends[0]]))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        said = " ".join(str(error).split())
        raise BadInput(f"{where}: the front matter is not YAML: {said}") from error
    if not isinstance(found, Mapping):
        raise BadInput(f"{where}: the front matter holds no names and values")
    return cast("Mapping[str, object]", found)


def _text(found: Mapping[str, object], key: str, where: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise BadInput(f"{where}: {key} is not a text")
    return " ".join(value.split())


def _texts(
    found: Mapping[str, object], key: str, where: str, *, allowed: tuple[str, ...] = ()
) -> tuple[str, ...]:
    value = found.get(key, [])
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items) or (allowed and set(texts) - set(allowed)):
        raise BadInput(f"{where}: {key} is not a list of {' or '.join(allowed) or 'texts'}")
    return tuple(texts)
