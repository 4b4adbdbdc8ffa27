"""The opening: what the library puts before the history, and the prefill of the answer.

First words of the persona and injected dialogue stand before everything that was said, whether or
not there is a block for either. A prefill before the history is just one more answer there, and the
persona's greeting is the last one, which whoever speaks has before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Block
from mentis.values.library import Library
from mentis.values.part import TextPart
from mentis.values.span import Span, join_spans
from mentis.values.trace import BlockTrace, Degradation, TokenCount, UnresolvedPlaceholder
from mentis.values.trust import least_trusted
from mentis.values.turn import Role, Turn
from mentis.values.value import Value

from .assembler import Variables
from .conditions import concerns
from .history import FRAMING_TOKENS, add, turn_tokens
from .purposes import FIRST_ASSISTANT, INJECTIONS, PREFILL

if TYPE_CHECKING:
    from .builders import Builder
    from .built import BuiltText

_BRIDGE = "history_bridge"
_AS_USER = "a system message of an injected dialogue is told as the user's"


@dataclass(frozen=True, slots=True)
class Opening(Value):
    """`turns` are never cut; `bridge` parts an answer among them from one that comes next."""

    turns: tuple[Turn, ...] = ()
    bridge: Turn | None = None
    prefill: tuple[Span, ...] = ()
    told: tuple[BlockTrace, ...] = ()
    unresolved: tuple[UnresolvedPlaceholder, ...] = ()
    degraded: tuple[Degradation, ...] = ()

    def before(self, history: Sequence[Turn]) -> tuple[Turn, ...]:
        """All turns in their order. Neighbours of one role are merged when they are rendered, so
        nobody's turn is changed here.
        """
        if not self.turns or not history:
            return (*self.turns, *history)
        meets = self.turns[-1].role == history[0].role == "assistant"
        return (*self.turns, *((self.bridge,) if meets and self.bridge else ()), *history)

    def tokens(self, counter: TokenCounter) -> dict[str, TokenCount]:
        """Of what stands fast; nothing where there is nothing."""
        found: dict[str, TokenCount] = {}
        if self.turns:
            bridge = (self.bridge,) if self.bridge else ()
            told = (*self.turns, *bridge)
            frame = TokenCount(len(told) * FRAMING_TOKENS)
            found["opening"] = add(frame, *(turn_tokens(turn, counter) for turn in told))
        if self.prefill:
            found["prefill"] = add(TokenCount(FRAMING_TOKENS), _count(self.prefill, counter))
        return found


NO_OPENING = Opening()


def openers(library: Library, variant: str) -> tuple[Block, ...]:
    """The blocks that may open a conversation; most libraries have none that is on."""
    wanted = (FIRST_ASSISTANT, INJECTIONS, PREFILL)
    found = (
        block
        for block in library.blocks
        if block.enabled
        and block.variant_condition in (None, variant)
        and block.category not in PREFILL.unasked
    )
    return tuple(block for block in found if any(concerns(one, block) for one in wanted))


def open_with(builder: Builder, variant: str, variables: Variables) -> Opening:
    """Walk the steps of a conversation up to the history, and the prefill behind it."""
    plan = builder.get_chat_message_sequence(variant, variables)
    place = next((n for n, step in enumerate(plan.steps) if step.position == "history"), None)
    early = [s.id for s in plan.steps[: place or 0] if s.position == "prefill"]
    first = builder.get_first_assistant_content(variant, variables)
    prefill = builder.build_prefill(variant, variables)
    said = builder.get_dialog_injections(variant, variables)
    turns = list(_own(first.spans))
    turns += [
        _turn("user" if m.role == "system" else m.role, m.text, m.spans)
        for m in said.messages
        if m.text.strip()
    ]
    turns += _own(_of(prefill, early))
    if greeting := builder.persona.greeting.strip():
        turns.append(Turn("assistant", (TextPart(greeting),), builder.persona.trust))
    bridge = builder.resolve_prompt(_BRIDGE, variant, variables)
    return Opening(
        tuple(turns),
        next(iter(_own(bridge.spans, "user")), None) if bridge else None,
        _rest(prefill, early),
        told=(*first.told, *said.told, *prefill.told),
        unresolved=(*first.unresolved, *said.unresolved, *prefill.unresolved),
        degraded=(
            *first.degraded,
            *said.degraded,
            *prefill.degraded,
            *_as_user(message.role for message in said.messages),
        ),
    )


def _as_user(roles: Iterable[str]) -> Iterator[Degradation]:
    if "system" in roles:
        yield Degradation("injected dialogue", _AS_USER)


def _of(built: BuiltText, blocks: Sequence[str]) -> tuple[Span, ...]:
    return tuple(span for span in built.spans if span.block in blocks) if blocks else ()


def _rest(built: BuiltText, blocks: Sequence[str]) -> tuple[Span, ...]:
    """What is left for the end, without a gap at its beginning."""
    if not blocks:
        return built.spans
    spans = [span for span in built.spans if span.block not in blocks]
    while spans and not spans[0].block:
        spans.pop(0)
    return tuple(spans)


def _own(spans: Sequence[Span], role: Role = "assistant") -> Iterator[Turn]:
    if (text := join_spans(spans)).strip():
        yield _turn(role, text, spans)


def _turn(role: Role, text: str, spans: Iterable[Span]) -> Turn:
    return Turn(role, (TextPart(text),), least_trusted(span.trust for span in spans))


def _count(spans: Iterable[Span], counter: TokenCounter) -> TokenCount:
    return counter.count(join_spans(spans))
