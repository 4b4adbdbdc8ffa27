"""Which wording is told to whom, and what a change did to a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mentis.compose.compose import Composition
from mentis.library.edit import Edit
from mentis.library.overlay import VARIANTS
from mentis.values.block import Block, passed_over, variant_name, wording_names
from mentis.values.persona import Persona
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.trace import TokenCount
from mentis.values.value import Value

Whose: TypeAlias = Literal["yours", "shipped"]


@dataclass(frozen=True, slots=True)
class WordingInForce(Value):
    """The wording of a block that is told to a persona on a route; `variant` is empty for none.

    `instead_of` is the shipped wording made for the route's variant, where the owner wrote none.
    """

    persona: str
    route: str
    variant: str
    whose: Whose
    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class EditEffect(Value):
    """What a change does to a persona's prompt; `first_byte` is None when it does nothing, and
    `reason` says why.
    """

    persona: str
    tokens_before: TokenCount
    tokens_after: TokenCount
    bytes_before: int
    bytes_after: int
    first_byte: int | None = None
    block: str = ""
    reason: str = ""


def wording_in_force(block: Block, persona: Persona, route: Route) -> WordingInForce:
    language = persona.language.strip().casefold()
    name = variant_name(block, route.variant, language) or ""
    over = passed_over(block, route.variant, language) or ""
    return WordingInForce(persona.id, route.name, name, whose_wording(block, name), over)


def overruled_here(block: Block, wording: str, persona: Persona, route: Route) -> bool:
    """Whether a wording of a block could be told to a persona on a route, and another one is."""
    language = persona.language.strip().casefold()
    if wording not in block.variants or wording not in wording_names(route.variant, language):
        return False
    return variant_name(block, route.variant, language) != wording


def whose_wording(block: Block, name: str) -> Whose:
    return "yours" if block.origin == "owner" or name in block.owned else "shipped"


def effect_of(
    persona: str, before: Composition, after: Composition, edits: Sequence[Edit]
) -> EditEffect:
    """The difference between two prompts, as it would reach the model."""
    old, new = _spans(before.request), _spans(after.request)
    old_bytes, new_bytes = (b"".join(_bytes(span) for span in spans) for spans in (old, new))
    first = _first_difference(old_bytes, new_bytes)
    return EditEffect(
        persona=persona,
        tokens_before=before.trace.tokens["system"],
        tokens_after=after.trace.tokens["system"],
        bytes_before=len(old_bytes),
        bytes_after=len(new_bytes),
        first_byte=first,
        block="" if first is None else _changed_block(old, new, first, edits),
        reason="; ".join(_reasons(after, edits)) if first is None else "",
    )


def _reasons(after: Composition, edits: Iterable[Edit]) -> Iterable[str]:
    """Why edits do not show: nothing changed, the block is out, or another wording is told."""
    traces = {trace.block: trace for trace in after.trace.blocks}
    for edit in edits:
        trace = traces.get(edit.block)
        worded = [path.removeprefix(VARIANTS) for path in edit.changed if path.startswith(VARIANTS)]
        if not edit.changed:
            yield f"{edit.block} was like that already"
        elif trace is not None and not trace.included:
            yield f"{edit.block} is not told here: {trace.reason}"
        elif trace is not None and worded and trace.variant not in worded:
            yield f"what is told of {edit.block} here is its wording {trace.variant}"


def _changed_block(
    old: tuple[Span, ...], new: tuple[Span, ...], first: int, edits: Sequence[Edit]
) -> str:
    """Where a text only lost its end, the byte is of the next block: the one edited is told."""
    found, edited = (_block_at(new, first), _block_at(old, first)), {one.block for one in edits}
    return next((one for one in found if one in edited), found[0] or found[1])


def _spans(request: PromptRequest) -> tuple[Span, ...]:
    return (*request.system_instruction, *request.runtime_ctx.spans)


def _bytes(span: Span) -> bytes:
    return span.text.encode()


def _first_difference(old: bytes, new: bytes) -> int | None:
    if old == new:
        return None
    pairs = enumerate(zip(old, new, strict=False))
    shorter = min(len(old), len(new))
    return next((index for index, (left, right) in pairs if left != right), shorter)


def _block_at(spans: tuple[Span, ...], offset: int) -> str:
    end = 0
    for span in spans:
        end += len(_bytes(span))
        if end > offset and span.block:  # what stands between blocks belongs to the next one
            return span.block
    return ""
