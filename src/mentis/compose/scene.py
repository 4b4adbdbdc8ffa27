"""The scene of a request: what it is about beside the blocks, as far as its mode lets it tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

from mentis.codec.document_text import contained_text
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Mode
from mentis.values.part import MediaPart, TextPart
from mentis.values.recalled import RecalledContext
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext
from mentis.values.span import Span
from mentis.values.surroundings import NOWHERE, Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut, TokenCount
from mentis.values.turn import Turn, guest_name
from mentis.values.value import Value
from mentis.values.written import dump

from .beside import read_beside
from .computed import Facts
from .fences import fence_results
from .history import add, continuation_tokens, count, of_guest, tools_tokens, under_name
from .media import media_tokens
from .modes import admit, recent_thoughts, spoken_lines
from .sections import Section, live_sections, sections_of

PLAIN = RuntimeContext()
GAP = Span("\n\n", source="layout")


@dataclass(frozen=True, slots=True)
class Scene(Value):
    recalled: RecalledContext
    history: tuple[Turn, ...]
    mode: Mode = "chat"
    surroundings: Surroundings = NOWHERE
    runtime_ctx: RuntimeContext = PLAIN
    attachments: tuple[MediaPart, ...] = ()
    reply_to: ReplyTo | None = None
    continuation: tuple[Turn, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def guest(self) -> bool:
        said = self.recalled.stimulus
        return self.mode == "chat" and said.from_guest and not said.unnamed

    @property
    def current_text(self) -> str:
        """A guest's words under their name, as the next turn tells them again."""
        said = self.recalled.stimulus
        return of_guest(said.author, said.text) if self.guest else said.text

    @property
    def sent_by_nobody(self) -> bool:
        """A beat has an occasion, a delivery a result: nobody wrote either of them."""
        return self.mode in ("beat", "delivery") and not self.recalled.stimulus.signed

    @property
    def username(self) -> str:
        """Who the current message is from, as far as it says so itself."""
        said, known = self.recalled.stimulus, self.runtime_ctx.username
        if said.unnamed:
            return known
        if self.guest:
            return guest_name(known or said.author)
        return known or (said.author if self.mode == "chat" and not said.inner else "")


@dataclass(frozen=True, slots=True)
class Matter(Value):
    """`tokens` are of what is never cut; `cuts` of what the mode leaves out; `revealed` are tools
    that are told of and not declared; `numbers` are those of the turns of the history, if known.
    """

    tools: tuple[ToolDeclaration, ...]
    history: tuple[Turn, ...]
    sections: Sequence[Section]
    cuts: tuple[Cut, ...] = ()
    tokens: Mapping[str, TokenCount] = field(default_factory=dict[str, TokenCount])
    revealed: tuple[ToolDeclaration, ...] = ()
    continuation: tuple[Turn, ...] = ()
    numbers: tuple[int, ...] = ()


def gather(
    scene: Scene, facts: Facts, counter: TokenCounter, *, fences_results: bool = True
) -> Matter:
    """Sort out what there is to tell; nothing is cut for lack of room yet."""
    beside = read_beside(scene.history, facts, scene.numbers)
    admitted = admit(scene.mode, scene.recalled.tools, beside.history, counter)
    if scene.recalled.revealed:
        revealed = admit(scene.mode, scene.recalled.revealed, (), counter).tools
        scene = replace(scene, recalled=replace(scene.recalled, revealed=revealed))
    around = sections_of(scene.recalled, scene.surroundings, scene.mode, facts)
    tell = partial(told_turns, mode=scene.mode, facts=facts, fences_results=fences_results)
    scene = replace(scene, continuation=tell(scene.continuation))
    matter = Matter(
        admitted.tools,
        tell(admitted.history),
        around if scene.mode != "chat" else [*beside.sections, *around],
        admitted.cuts,
        dict(_fixed(scene, admitted.tools, counter)),
        scene.recalled.revealed,
        scene.continuation,
        beside.numbers,
    )
    return _aloud(scene, matter, facts, counter) if scene.mode == "live" else matter


def told_turns(
    history: tuple[Turn, ...], mode: Mode, facts: Facts, *, fences_results: bool = True
) -> tuple[Turn, ...]:
    """Guests under their names, results between marks. A voice is told no turns."""
    if mode == "live":
        return history
    note = " ".join(facts.word("notice_outside"))

    def tell(turn: Turn) -> Turn:
        named = under_name(turn)
        return fence_results(named, facts.secret, note) if fences_results else named

    return tuple(
        [
            # Words of nobody else, as most are.
            turn
            if not turn.author and len(turn.parts) == 1 and type(turn.parts[0]) is TextPart
            else tell(turn)
            for turn in history
        ]
    )


def wordless(attachments: tuple[MediaPart, ...]) -> tuple[MediaPart, ...]:
    """Those that a voice cannot be told in words."""
    return tuple(part for part in attachments if not (contained_text(part) or "").strip())


def in_one_text(request: PromptRequest) -> PromptRequest:
    """A voice has one place for everything: the instruction it starts with."""
    now = request.runtime_ctx
    everything = with_gaps(request.system_instruction, request.context_summary, now.spans)
    return replace(
        request,
        system_instruction=everything,
        context_summary=(),
        attachments=wordless(request.attachments),
        runtime_ctx=replace(now, interface_name="live", input_source="voice", spans=()),
    )


def with_gaps(*runs: tuple[Span, ...]) -> tuple[Span, ...]:
    """The runs that are not empty, with a blank line between."""
    told = [run for run in runs if run]
    if len(told) < 2:
        return told[0] if told else ()
    rest = [span for run in told[1:] for span in (GAP, *run)]
    return (*told[0], *rest)


def _fixed(
    scene: Scene, tools: Sequence[ToolDeclaration], counter: TokenCounter
) -> Iterator[tuple[str, TokenCount]]:
    said, reply_to = scene.current_text, scene.reply_to
    yield "tools", tools_tokens(tools, counter)
    yield "current", count(f"{_quoted(reply_to)}{said}", counter)
    attached = scene.attachments if scene.mode != "live" else wordless(scene.attachments)
    if attached:
        yield "attachments", add(*(media_tokens(part, counter) for part in attached))
    if scene.continuation:
        yield "continuation", continuation_tokens(scene.continuation, counter)
    if (output := scene.recalled.stimulus.output) is not None:
        yield "output", count(dump(dict(output.schema)).decode(), counter)
    if scene.runtime_ctx != PLAIN:
        yield "runtime", count(_facts_text(scene.runtime_ctx), counter)


def _quoted(reply_to: ReplyTo | None) -> str:
    return "" if reply_to is None else f"{reply_to.quote()}\n\n"


def _facts_text(now: RuntimeContext) -> str:
    """All that renderers may tell of it, so that the room for it is never short."""
    told = (getattr(now, one.name) for one in fields(now))
    texts = (fact for fact in told if isinstance(fact, str) and fact)
    return f"[{' | '.join(texts)}]\n{''.join(span.text for span in now.spans)}"


def _aloud(scene: Scene, matter: Matter, facts: Facts, counter: TokenCounter) -> Matter:
    """What was said before, and what else a voice should know, told instead of shown."""
    lines, cuts = spoken_lines(matter.history, facts.persona, facts.profile, counter)
    thoughts, forgotten = recent_thoughts(scene.surroundings.thoughts, counter)
    around = replace(scene.surroundings, thoughts=thoughts)
    return replace(
        matter,
        history=(),
        sections=[
            *sections_of(scene.recalled, around, "live", facts),
            *live_sections(around, lines, scene.attachments),
        ],
        cuts=(*matter.cuts, *cuts, *forgotten),
    )
