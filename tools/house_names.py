"""Names and first words of a package that say little: doubled classes, participles, "What".

A name is a bare participle if it is one word, leading underscores aside, and that word ends in -ed
or -en or is one of the irregular ones below, also after `un`, `re`, `mis`, `over` or `with`. Not
counted are words that only look like one (`open`, `feed`) and participles that are spelled like the
verb itself (`read`, `put`, `set`): as the name of a function those say what it does.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from house_code import docstring_of, modules

PARTICIPLE = re.compile(
    r"""
    \w+(ed|en) | (un|re|mis|over|with)?(
    begun|bent|bound|bought|brought|built|caught|dealt|done|drawn|dug|fed|felt|flown|fought|found
    |gone|grown|heard|held|hung|kept|known|laid|led|left|lent|lit|lost|made|meant|met|paid|said|sat
    |sent|shown|slept|sold|spent|spun|stood|struck|stuck|sunk|swept|sworn|taught|thought|thrown|told
    |torn|understood|won|worn|wound)
    """,
    re.VERBOSE,
)
LOOK_ALIKE = re.compile(
    r"""
    alien|between|bed|children|deepen|eleven|embed|even|exceed|fasten|feed|flatten|garden|golden
    |green|happen|harden|hundred|hyphen|indeed|kitchen|len|lengthen|lighten|listen|loosen|men|need
    |often|omen|open|oxygen|pen|proceed|queen|red|reopen|screen|seed|seven|sharpen|shed|shorten
    |speed|strengthen|succeed|ten|then|tighten|token|when|widen|women
    """,
    re.VERBOSE,
)
ONE_WORD = re.compile(r"_*([A-Z]?[a-z]+)")
SETTING = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
PAGES = ("docs/guides", "docs/concepts", "examples")


@dataclass(frozen=True, slots=True)
class Definition:
    kind: str
    name: str
    path: Path
    line: int

    @property
    def public(self) -> bool:
        return not self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class Share:
    """So many of all functions or classes; of those without an underscore, apart."""

    participles: int
    of: int
    public_participles: int
    of_public: int


@cache
def definitions(root: Path) -> tuple[Definition, ...]:
    return tuple(
        Definition(kind, node.name, module.path, node.lineno)
        for module in modules(root)
        for kind, nodes in (("function", module.functions), ("class", module.classes))
        for node in nodes
    )


def doubled_class_names(root: Path) -> dict[str, list[Definition]]:
    """Public names of more than one class, the most frequent first, with their definitions."""
    places: defaultdict[str, list[Definition]] = defaultdict(list)
    for one in definitions(root):
        if one.kind == "class" and one.public:
            places[one.name].append(one)
    by_count = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    return {name: found for name, found in by_count if len(found) > 1}


def is_participle(name: str) -> bool:
    """Whether a name is one participle and nothing else."""
    word = ONE_WORD.fullmatch(name)
    if word is None:
        return False
    plain = word[1].lower()
    return PARTICIPLE.fullmatch(plain) is not None and LOOK_ALIKE.fullmatch(plain) is None


def participles(root: Path) -> list[Definition]:
    """Functions and classes whose name is a bare participle."""
    return [one for one in definitions(root) if is_participle(one.name)]


def participle_share(root: Path) -> dict[str, Share]:
    """For `function` and for `class`."""
    return {kind: _share(root, kind) for kind in ("function", "class")}


def _share(root: Path, kind: str) -> Share:
    every = [one for one in definitions(root) if one.kind == kind]
    bare = [one for one in every if is_participle(one.name)]
    return Share(
        participles=len(bare),
        of=len(every),
        public_participles=sum(one.public for one in bare),
        of_public=sum(one.public for one in every),
    )


def what_docstrings(root: Path) -> list[Path]:
    """Modules whose docstring begins with the word What."""
    return [module.path for module in modules(root) if _first_word(module.tree) == "What"]


def _first_word(tree: ast.Module) -> str:
    docstring = docstring_of(tree)
    words = re.findall(r"\w+", str(docstring.value)) if docstring else []
    return words[0] if words else ""


def settings_without_page(project: Path) -> list[str]:
    """Keys of the generated reference whose last word stands on no guide, concept or example.

    Those in force: older names and constants stand below them, under headings.
    """
    page = (project / "docs/reference/settings.md").read_text(encoding="utf-8")
    reference = page.partition("\n## ")[0]
    files = (path for folder in PAGES for path in sorted((project / folder).rglob("*")))
    pages = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".md", ".py")]
    words = {word for text in pages for word in re.findall(r"\w+", text)}
    return [key for key in SETTING.findall(reference) if key.rpartition(".")[2] not in words]
