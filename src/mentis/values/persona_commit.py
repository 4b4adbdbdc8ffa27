"""Commits of a persona: how it was, by name and digest, and what going back to one came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .digest import Digest
from .trust import Trust
from .value import Value


@dataclass(frozen=True, slots=True)
class PersonaSnapshot(Value):
    """A persona as it stands: its files by name with the trust of each, its picture as a digest,
    the owner's layers of the blocks that are for it alone, and its memories as digests by id where
    they were asked for.
    """

    files: Mapping[str, str]
    trust: Mapping[str, Trust] = field(default_factory=dict[str, Trust])
    blocks: Mapping[str, str] = field(default_factory=dict[str, str])
    picture: Digest = ""
    memories: Mapping[str, Digest] | None = None


@dataclass(frozen=True, slots=True)
class PersonaCommit(Value):
    """One commit; `digest` is of its snapshot, and the entry names it. `memories` is how many it
    has; None where it was made without them.
    """

    number: int
    time: str
    message: str
    digest: Digest
    entry: int
    files: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    memories: int | None = None


@dataclass(frozen=True, slots=True)
class PersonaRestore(Value):
    """The persona is as it was at commit `restored`; `before` is the commit of how it was until
    then. `lost` says what could not be brought back.
    """

    restored: int
    before: int
    entry: int
    changed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
