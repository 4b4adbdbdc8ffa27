"""Skills from folders: every `SKILL.md` under a root, its front matter read as YAML.

A file that cannot be taken is reported and left out; the others are still there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, eq
from pathlib import Path
from typing import TypeAlias, cast

from mentis.disk.inside import real_path
from mentis.errors import BadInput, EngineMissing
from mentis.values.selection import Capability
from mentis.values.value import Value

FILE = "SKILL.md"
_OFF = ".disabled"
_FENCE = "---"
_DEEPEST = 6  # folders below the root
_MOST = 10_000  # skills
_MOST_ENTRIES = 100_000  # files and folders that are looked at in all
_HEAD_BYTES = 64 * 1024  # front matter has to end within
_STANCES = ("plan", "act", "review")
# What a value that is not what its tag says (`!!bool perhaps`) ends the reader of YAML with.
_TAGS_FAIL_WITH = (ValueError, LookupError, AttributeError, ArithmeticError)
# When and how large; None where nothing is.
Stamp: TypeAlias = tuple[int, int, int] | None
_stamp: Callable[[os.stat_result], Stamp] = attrgetter("st_mtime_ns", "st_size", "st_ino")


@dataclass(frozen=True, slots=True)
class SkillsFound(Value):
    """Skills by name, and for each file that was left out why. `off` are the files of those that
    were switched off. `stamps` are of every place that was looked at, as it was before.
    """

    skills: tuple[Capability, ...]
    problems: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    stamps: Mapping[str, Stamp] = field(default_factory=dict[str, Stamp])

    @property
    def current(self) -> bool:
        """Whether nothing has changed since."""
        try:
            # Hundreds of times for each task: no line of ours is run for each of them.
            return all(map(eq, map(_stamp, map(os.stat, self.stamps)), self.stamps.values()))
        except OSError:
            return all(stamp_of(place) == stamp for place, stamp in self.stamps.items())


def stamp_of(place: Path | str) -> Stamp:
    try:
        return _stamp(os.stat(place))  # noqa: PTH116 - a `Path` takes longer than the look
    except OSError:
        return None


def read_skills(root: Path, *, home: Path | None = None) -> SkillsFound:
    """All skills under `root`, none if it is not there. Links are followed within `home`, without
    one within `root`, and each place is looked at once.
    """
    walk = _Walk(root, home or root)
    skills: dict[str, Capability] = {}
    for path in walk.files():
        shown = path.relative_to(root).as_posix()
        try:
            skill = _read(path, shown)
        except BadInput as error:
            walk.problems.append(error.message)
            continue
        if skill.name in skills:
            other = skills[skill.name].source
            walk.problems.append(f"{shown}: the name {skill.name!r} is taken by {other}")
        else:
            skills[skill.name] = skill
        if len(skills) >= _MOST:
            walk.problems.append(f"{root.name}: more than {_MOST} skills; the rest is left out")
            break
    found = tuple(skills[name] for name in sorted(skills))
    return SkillsFound(found, tuple(walk.problems), tuple(walk.off), walk.stamps)


class _Walk:
    """Through folders in the order of their names; one that was seen already is passed by."""

    def __init__(self, root: Path, within: Path) -> None:
        self._root = root
        self._within = Path(os.path.realpath(within))
        self._seen: set[Path] = set()
        self._left = _MOST_ENTRIES
        self.problems: list[str] = []
        self.off: list[str] = []
        self.stamps: dict[str, Stamp] = {}

    def files(self) -> Iterator[Path]:
        waiting = [(self._root, 0)]
        while waiting:
            folder, depth = waiting.pop()
            self._stamp(folder)
            if not self._is_new(folder):
                continue
            inside = self._inside(folder)
            file = folder / FILE
            if self._stamp(folder / _OFF):
                if file.is_file():
                    self.off.append(
                        os.fsencode(file.relative_to(self._root)).decode("utf-8", "replace")
                    )
                continue
            if self._stamp(file) and file.is_file() and self._place_within(file):
                yield file
            if depth < _DEEPEST:
                waiting += [(path, depth + 1) for path in inside]
            if self._left <= 0:
                most = f"more than {_MOST_ENTRIES} files and folders"
                self.problems.append(f"{_shown(folder)}: {most}; the rest is left out")
                return

    def _inside(self, folder: Path) -> list[Path]:
        """The folders in it, the last first."""
        try:
            with os.scandir(folder) as entries:
                taken = list(islice(entries, max(0, self._left)))
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problems.append(f"{_shown(folder)}: {error.strerror}")
            return []
        self._left -= len(taken)
        names = sorted((one.name for one in taken if _is_folder(one)), reverse=True)
        return [folder / name for name in names]

    def _is_new(self, folder: Path) -> bool:
        real = self._place_within(folder)
        if real is None or real in self._seen:
            return False
        self._seen.add(real)
        return True

    def _place_within(self, path: Path) -> Path | None:
        """Where it really is; None, with a problem, where that is elsewhere or cannot be told."""
        with suppress(OSError, RuntimeError):
            real = real_path(path)
            if real.is_relative_to(self._within):
                return real
        self.problems.append(f"{_shown(path)}: it leads out of {self._within.name}")
        return None

    def _stamp(self, path: Path) -> bool:
        """Whether anything is there. If something comes, the folder it comes into changes."""
        stamp = stamp_of(path)
        if stamp is not None or path == self._root:
            self.stamps[str(path)] = stamp
        return stamp is not None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):  # a link that leads to itself
        return entry.is_dir()
    return False


def _shown(path: Path) -> str:
    """Its name in text that can be written."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def _read(path: Path, shown: str) -> Capability:
    if not _is_whole(shown):
        raise BadInput(f"{_shown(path.parent)}: the name of the folder is no UTF-8")
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise BadInput(f"{shown}: {error.strerror}") from error
    found = front_matter(head.decode("utf-8", errors="replace"), where=shown)
    name = _text(found, "name", shown) or " ".join(path.parent.name.split())
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
    """What stands between the two fences at the beginning, as YAML says it; without aliases, since
    a few lines of those grow into more than any memory holds.
    """
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"{where}: skills are read by the package pyyaml, which is not installed",
            hint="pip install 'mentis[tools]'",
        ) from error

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType]  # untyped
                raise BadInput(f"{where}: the front matter holds an alias (*); write it out")
            return super().compose_node(parent, index)

    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise BadInput(f"{where}: it does not begin with front matter ({_FENCE})")
    ends = [number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE]
    if not ends:
        raise BadInput(f"{where}: the front matter does not end within {_HEAD_BYTES // 1024} KiB")
    try:
        found: object = Plain("\n".join(lines[1 : ends[0]])).get_single_data()
    except (yaml.YAMLError, RecursionError, *_TAGS_FAIL_WITH) as error:
        said = " ".join(str(error).split())
        raise BadInput(f"{where}: the front matter is not YAML: {said}") from error
    if not isinstance(found, Mapping):
        raise BadInput(f"{where}: the front matter holds no names and values")
    return cast("Mapping[str, object]", found)


def _text(found: Mapping[str, object], key: str, where: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise BadInput(f"{where}: {key} is not a text")
    _refuse_half(value, key, where)
    return " ".join(value.split())


def _texts(
    found: Mapping[str, object], key: str, where: str, *, allowed: tuple[str, ...] = ()
) -> tuple[str, ...]:
    value = found.get(key, [])
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items) or (allowed and set(texts) - set(allowed)):
        raise BadInput(f"{where}: {key} is not a list of {' or '.join(allowed) or 'texts'}")
    for text in texts:
        _refuse_half(text, key, where)
    return tuple(texts)


def _refuse_half(text: str, key: str, where: str) -> None:
    if not _is_whole(text):
        raise BadInput(f"{where}: {key} holds half a surrogate pair")


def _is_whole(text: str) -> bool:
    """Whether UTF-8 can say it: escapes in YAML can write what it cannot."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def skills_data(found: SkillsFound) -> list[dict[str, object]]:
    """Every skill as JSON, also those that are off."""
    on: list[dict[str, object]] = [
        {
            "name": one.name,
            "state": "on",
            "source": one.source,
            "description": one.description,
            "stances": list(one.stances),
        }
        for one in found.skills
    ]
    return on + [{"name": None, "state": "off", "source": source} for source in found.off]
