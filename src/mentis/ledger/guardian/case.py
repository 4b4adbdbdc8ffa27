"""A rule of the guardian, and the case it is shown. Rules say what is wrong in the case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mentis.values.guardian import GuardianProfile, GuardianState, Level, Receipt
from mentis.values.json import JsonObject
from mentis.values.value import Value

Stage: TypeAlias = Literal["draft", "response", "commit", "operations"]
# heuristic: a program can only suspect it; model: nobody but the model can keep it.
Kind: TypeAlias = Literal["program", "state", "heuristic", "model"]


@dataclass(frozen=True, slots=True)
class Response(Value):
    """A whole answer of a model, taken apart. Offsets count characters.

    `start` is where the first window begins, or -1; `windows` how many there are; `trigger_end`
    where a trigger printed on its own ends, or -1. `undecided` says why the search gave up.
    """

    text: str
    start: int = -1
    end: int = -1
    windows: int = 0
    fenced: bool = False
    before: str = ""
    after: str = ""
    trigger_start: int = -1
    trigger_end: int = -1
    unreadable: str = ""
    undecided: str = ""


@dataclass(frozen=True, slots=True)
class Commit(Value):
    """A kept window beside its entry. `now` is the ledger's clock; times are ISO texts."""

    time: str
    hash: str
    recomputed: str
    prev: str | None
    now: str
    head_time: str | None = None


@dataclass(frozen=True, slots=True)
class Operations(Value):
    """How a draft was kept, and what was done beside it. What is None is not known, and its rules
    are not judged.

    `unclaimed` are the acts of the turn that the window names nowhere, `mixed` the texts kept both
    as something private (a thought, the diary) and as something that is told.
    """

    path: str | None = None
    pending_path: str | None = None
    steps: tuple[str, ...] | None = None
    before: int | None = None
    after: int | None = None
    consumers: tuple[str, ...] | None = None
    verified: bool | None = None
    receipt: Receipt | None = None
    audited: bool | None = None
    overridden: tuple[str, ...] | None = None
    unclaimed: tuple[str, ...] | None = None
    mixed: tuple[str, ...] | None = None


NOTHING_KNOWN = Operations()


@dataclass(frozen=True, slots=True)
class Case:
    """Everything a rule may look at."""

    window: JsonObject
    state: GuardianState
    profile: GuardianProfile
    response: Response = Response("")
    commit: Commit = Commit("", "", "", None, "")
    facts: Operations = NOTHING_KNOWN


@dataclass(frozen=True, slots=True)
class Fault:
    """What a rule has found. `yields` names the conflict under which it only warns."""

    where: str
    what: str
    yields: str = ""
    hint: str = ""


Check: TypeAlias = Callable[[Case], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. `prompt` names the block of the library that tells a model-only rule.

    `needs` are the facts of `Operations` without which it cannot be judged, `yields` the
    conflicts that, where a profile settles them, may turn its finding into a warning.
    """

    id: str
    number: str
    level: Level
    stage: Stage
    kind: Kind
    what: str
    why: str
    fix: str
    check: Check | None = None
    prompt: str = ""
    needs: tuple[str, ...] = ()
    yields: tuple[str, ...] = ()
