"""The form in which the inputs of a turn are kept: small, and with as few copies as can be.

What the home keeps anyway is named and not copied: the conversation, memories, outcomes of acts.
So what is erased or forgotten there does not live on here.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from mentis.codec.forms import from_json, to_json, to_object
from mentis.compose.purposes import Policies
from mentis.errors import BadInput, StoreDamaged
from mentis.values.block import Mode
from mentis.values.calibration import Calibration
from mentis.values.digest import Digest, digest
from mentis.values.given import GivenText
from mentis.values.json import JsonObject
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.request import ReplyTo, RuntimeContext
from mentis.values.residency import Placement
from mentis.values.route import Route
from mentis.values.selection import Candidate, Capability, Step
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.surroundings import Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.trust import Trust
from mentis.values.value import LATE, Value
from mentis.values.written import dump

# The kinds of marks. A part is shared by many turns, a row belongs to one.
ROW, PART, TOLD = "inputs", "inputs-part", "inputs-news"
VERSION = 1
_MOST_PRINTS, _LEAST_BYTES, _FIGURES = 192, 128, 3
_MOST_LIBRARY = 64_000_000
_EMPTY: tuple[object, ...] = (None, "", 0, [], {})
V = TypeVar("V", bound=Value)


@dataclass(frozen=True, slots=True)
class TurnSetting(Value):
    """Who speaks to whom and where: it changes with the settings. `mentis` is the version."""

    mentis: str
    persona: Persona
    profile: Profile
    policies: Policies
    route: Route


@dataclass(frozen=True, slots=True)
class ToolList(Value):
    tools: tuple[ToolDeclaration, ...]


@dataclass(frozen=True, slots=True)
class Variables(Value):
    """`guarded`: what is not ours in them was made plain when it was told, and fenced where nobody
    vouched for it. In the turns of an older Mentis it was told as it is.
    """

    values: Mapping[str, GivenText]
    guarded: bool = False

    @property
    def told_values(self) -> Mapping[str, GivenText]:
        if self.guarded:
            return self.values
        return {name: replace(value, bare=True) for name, value in self.values.items()}


@dataclass(frozen=True, slots=True)
class NewsItem(Value):
    """What a turn was told of one act, or of the window of one turn."""

    span: Span


@dataclass(frozen=True, slots=True)
class Recollection(Value):
    """A memory that was told, without its words: those are read where memories are."""

    id: str
    trust: Trust
    stability: Stability
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Prints(Value):
    """Of the bytes that were sent, one for every `size` of them: they tell where others part.

    Made with the home's secret, so that nobody can try out what they were. `key` tells whether it
    was the secret of now.
    """

    key: str
    size: int
    length: int
    figures: str


@dataclass(frozen=True, slots=True)
class TurnRuns(Value):
    """Turns of one session: runs, as in `TurnInputs.told`."""

    session: str
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StepInputs(Value):
    """Of a step after the first: the marks around the results it was told, the cache it was on.
    Where its prompt was made anew, for another route, `own` is the row of all that it was made
    from, and the steps after it go on from there.
    """

    nonces: tuple[str, ...] = ()
    cached: str = ""
    own: JsonObject | None = field(default=None, metadata=LATE)


@dataclass(frozen=True, slots=True)
class TurnInputs(Value):
    """`told` are the turns of the session that came before, as runs: the first number and the one
    behind the last, in pairs. `pending` and `amended` are places among them: those had no answer
    yet, these were told in other words; in a `fenced` one results from outside stood between marks,
    which an older Mentis did not set. Attachments are those of turn `number`, unless it is an
    `inner` one. `given` are values of this turn alone, `delivery` names the text of one. `nonces`
    are the marks around text from outside, in their order. All of this is of the first step: what
    followed the message before it is the `thread` (runs, as in `told`) that it goes on with, and
    `opened` turns of its own; `steps` is what the steps after it had besides.
    """

    version: int
    session: str
    now: str
    trust: Trust
    library: str
    setting: str
    calibration: Calibration
    number: int = 0
    text: str = ""
    author: str = ""
    named: bool = False  # it was told who says it; an older Mentis did not
    reply_to: ReplyTo | None = None
    runtime_ctx: RuntimeContext | None = None
    surroundings: Surroundings | None = None
    mode: Mode = "chat"
    inner: str = ""
    delivers: str = ""
    delivery: str = ""
    before: str = ""  # the session of the turns told, where it is another
    told: tuple[int, ...] = ()
    amended: tuple[int, ...] = ()
    pending: tuple[int, ...] = ()
    fenced: bool = False
    tools: str = ""
    revealed: str = ""
    variables: str = ""
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    memories: tuple[Recollection, ...] = ()
    news: tuple[str, ...] = ()
    skills: tuple[Capability, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    placements: tuple[Placement, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    filtered: int = 0
    embedding_calls: int = 0
    cache_hits: int = 0
    step: Step = "base"
    nonces: tuple[str, ...] = ()
    cached: str = ""  # the name of the cache that it was sent on top of
    resumes: int = 0  # the message whose turn goes on, where `inner` says that one does
    thread: tuple[int, ...] = ()
    thread_amended: tuple[int, ...] = ()
    opened: int = 0
    steps: tuple[StepInputs, ...] = ()
    output: str = ""  # the part that is the form of the answer
    woven: tuple[TurnRuns, ...] = ()  # instead of `told`, where several sessions are told as one
    diary: tuple[TurnRuns, ...] = ()
    recaps: tuple[TurnRuns, ...] = ()
    earlier: int = 0  # turns before those told, for which no prompt has room
    unsigned: bool = False  # a beat or delivery from nobody; an older Mentis named the owner


def write_row(row: TurnInputs) -> JsonObject:
    """Without what is empty, which is most of it."""
    return {name: told for name, told in to_object(row).items() if told not in _EMPTY}


def read_row(written: JsonObject) -> TurnInputs:
    """A row that stands in another, which its digest binds."""
    return from_json(TurnInputs, dump(dict(written)))


def runs_of(numbers: Sequence[int]) -> tuple[int, ...]:
    """Numbers as runs of neighbours, each by its first and the one behind its last."""
    runs: list[int] = []
    for number in numbers:
        if runs and runs[-1] == number:
            runs[-1] = number + 1
        else:
            runs += (number, number + 1)
    return tuple(runs)


def numbers_in(runs: Sequence[int]) -> tuple[int, ...]:
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return tuple(number for first, end in pairs for number in range(first, end))


def place_runs(places: Iterable[tuple[str, int]]) -> tuple[TurnRuns, ...]:
    """Turns of several sessions, in their order."""
    by_session = groupby(places, key=itemgetter(0))
    return tuple(
        TurnRuns(session, runs_of([number for _, number in run])) for session, run in by_session
    )


def places_in(runs: Sequence[TurnRuns]) -> list[tuple[str, int]]:
    return [(run.session, number) for run in runs for number in numbers_in(run.runs)]


def key_of(written: JsonObject) -> Digest:
    return digest(dump(dict(written)))


def read_as(cls: type[V], written: JsonObject | None, key: str) -> V | None:
    """What was kept under that digest; StoreDamaged when it is something else now."""
    if written is None:
        return None
    if key_of(written) != key:
        raise _damaged(key, "its digest is another one")
    try:
        return from_json(cls, dump(dict(written)))
    except BadInput as error:
        raise _damaged(key, error.message) from error


def write_library(library: Library) -> JsonObject:
    packed = zlib.compress(to_json(library), 6)
    return {"zlib": base64.b64encode(packed).decode()}


def read_library(written: JsonObject | None, revision: str) -> Library | None:
    if written is None:
        return None
    try:
        unpacking = zlib.decompressobj()
        packed = base64.b64decode(str(written.get("zlib")), validate=True)
        library = from_json(Library, unpacking.decompress(packed, _MOST_LIBRARY))
    except (BadInput, binascii.Error, zlib.error) as error:
        raise _damaged(revision, str(error)) from error
    if library.revision != revision:
        raise _damaged(revision, f"it is {library.revision}")
    return library


def prints_of(body: bytes, secret: bytes) -> Prints:
    size = max(_LEAST_BYTES, -(-len(body) // _MOST_PRINTS))
    return Prints(_printer(secret).hexdigest(), size, len(body), _figures(body, size, secret))


def first_apart(prints: Prints, body: bytes, secret: bytes) -> tuple[int, int] | None:
    """Between which two bytes of the body the first difference is; None with another secret."""
    if prints.key != _printer(secret).hexdigest():
        return None
    for number, figures in enumerate(_prints(body, prints.size, secret)):
        place = number * _FIGURES
        if prints.figures[place : place + _FIGURES] != figures:
            start = number * prints.size
            return start, min(start + prints.size, max(len(body), prints.length))
    shorter = min(len(body), prints.length)
    return shorter, max(len(body), prints.length)


def _prints(body: bytes, size: int, secret: bytes) -> Iterator[str]:
    made, seen = _printer(secret), memoryview(body)
    for start in range(0, len(body), size):
        made.update(seen[start : start + size])
        yield made.hexdigest()[:_FIGURES]


def _figures(body: bytes, size: int, secret: bytes) -> str:
    return "".join(_prints(body, size, secret))


def _printer(secret: bytes) -> blake2b:
    return blake2b(key=sha256(b"mentis/prints\0" + secret).digest(), digest_size=8)


def _damaged(key: str, why: str) -> StoreDamaged:
    return StoreDamaged(
        f"the kept inputs {key} are not what was kept: {why}",
        hint="somebody changed the database; put a backup in its place",
        key=key,
    )
