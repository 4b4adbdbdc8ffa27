"""The stimulus that a turn starts from, and the context that recall brought up for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .action import Outcome
from .block import Mode
from .memories import FoundMemories
from .output import OutputSchema
from .part import MediaPart
from .request import HistoryScope, ReplyTo, RuntimeContext
from .residency import Placement
from .selection import Candidate, Capability, Step
from .span import Span
from .surroundings import NOWHERE, Surroundings
from .tool import ToolDeclaration
from .trace import Degradation
from .trust import Trust
from .value import LATE, Value

_NOTHING_KNOWN = RuntimeContext()
RESUME = "resume"  # the task of a turn that goes on, as its entry names it
FIRST = "first_message"  # that of one in which the agent begins
OPENING = -1  # in the place of a message's number: what made the agent begin, which nobody said


@dataclass(frozen=True, slots=True)
class TurnCaller(Value):
    """The act of another agent's turn that asks for this one, and how deep that is."""

    agent: str
    session: str
    act: str
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Stimulus(Value):
    """What set the turn off: the words, and everything that came with them.

    An attachment with a path is read when the turn begins; one with an address is passed on, and
    nothing is fetched here. `trust`: who vouches for the words; a guest's are untrusted.
    `replaces`: the number of the turn that is said anew. `inner` names a task that nobody said: of
    such a turn only the answer is kept. `delivers` is the key of the act whose outcome it tells.
    `unnamed`: it is not told who says it, as in the turns of an older Mentis. `resumes` is the
    number of the message whose turn goes on: nobody says it again, and what followed it is told
    after it, with the `results` that the caller brings; OPENING where the agent began. `output` is
    the form of the answer; `caller`: another agent asks. `signed`: the owner is named as the sender
    of a beat or delivery, as an older Mentis did. `scope`: whose past is told; None as
    `runtime_ctx` says, or else the settings. `delivery` is what the message came in as, where that
    could come twice: the entry of its turn repeats it.
    """

    text: str
    author: str = ""
    attachments: tuple[MediaPart, ...] = ()
    reply_to: ReplyTo | None = None
    runtime_ctx: RuntimeContext = _NOTHING_KNOWN
    surroundings: Surroundings = NOWHERE
    trust: Trust = Trust.OWNER
    replaces: int | None = None
    inner: str = ""
    mode: Mode = "chat"
    delivers: str = ""
    unnamed: bool = False
    resumes: int | None = field(default=None, metadata=LATE)
    results: tuple[Outcome, ...] = field(default=(), metadata=LATE)
    output: OutputSchema | None = field(default=None, metadata=LATE)
    caller: TurnCaller | None = field(default=None, metadata=LATE)
    scope: HistoryScope | None = field(default=None, metadata=LATE)
    signed: bool = field(default=False, metadata=LATE)
    delivery: str = field(default="", metadata=LATE)

    @property
    def asked(self) -> bool:
        """Somebody waits for the answer: not in a beat, nor where the agent speaks by itself."""
        return self.mode == "delivery" or (self.mode != "beat" and not self._by_itself)

    @property
    def from_guest(self) -> bool:
        """Somebody said it whom nobody vouches for: not the owner, and no task of the agent."""
        return self.trust is Trust.UNTRUSTED and self.mode == "chat" and not self._by_itself

    @property
    def _by_itself(self) -> bool:
        return bool(self.inner) and self.resumes in (None, OPENING)


@dataclass(frozen=True, slots=True)
class EmbeddedText(Value):
    """A text made ready to be compared with others, once for everything that is looked for.

    `reading` is how it is compared by words, `vector` how by meaning, made by `model`; None is a
    step down that `degraded` tells of. `calls` counts what was asked for, also when a cache had it;
    `cache_hits` counts those.
    """

    text: str
    reading: str = ""
    vector: tuple[float, ...] | None = None
    model: str = ""
    calls: int = 0
    cache_hits: int = 0
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class RecalledContext(Value):
    """`filtered` counts what screening kept out; `degraded` names the steps taken down.

    `news` is what came of acts since the last turn. `candidates` are the tools and skills that were
    chosen or just missed, and the memories that just missed; `found` are all memories that came up,
    each with its scores and its reason; `step` is how far down the ladder the selection went.
    `revealed` tools are told in this turn's text and not declared; `placements` say why. `diary`
    are thoughts of its own, `recaps` words of other conversations, the oldest first.
    """

    stimulus: Stimulus
    tools: tuple[ToolDeclaration, ...] = ()
    memories: tuple[Span, ...] = ()
    news: tuple[Span, ...] = ()
    filtered: int = 0
    embedding_calls: int = 0
    degraded: tuple[Degradation, ...] = ()
    skills: tuple[Capability, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    found: FoundMemories | None = None
    step: Step = "base"
    cache_hits: int = 0
    revealed: tuple[ToolDeclaration, ...] = ()
    placements: tuple[Placement, ...] = ()
    diary: tuple[Span, ...] = field(default=(), metadata=LATE)
    recaps: tuple[Span, ...] = field(default=(), metadata=LATE)
