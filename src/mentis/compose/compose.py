"""The one door of the room: everything a turn starts from in, the request and its trace out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mentis.errors import ComposeError
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Mode
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import Recalled
from mentis.values.request import PromptRequest, RuntimeContext
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut, TokenCount, Trace
from mentis.values.turn import Turn
from mentis.values.value import Value

from .computed import SHIPPED, Computed, Facts
from .history import FRAMING_TOKENS, Kept, add, count, keep_newest
from .judge import Judge
from .layout import lay_out
from .memo import memo_for
from .placeholders import Values
from .purposes import KEEP, Occasion, Policies

_NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Composed(Value):
    request: PromptRequest
    trace: Trace


def compose(  # noqa: PLR0913  # each input has its own name; a bundle would only hide them
    library: Library,
    *,
    persona: Persona,
    profile: Profile,
    recalled: Recalled,
    history: tuple[Turn, ...],
    now: datetime,
    variant: str,
    mode: Mode = "chat",
    runtime_vars: Mapping[str, object] = _NOTHING,
    policies: Policies = KEEP,
    computed: Mapping[str, Computed] = SHIPPED,
    counter: TokenCounter,
    context_tokens: int,
    reserve_tokens: int,
) -> Composed:
    """Choose, fill and order the blocks, then add as much history as fits.

    What lasts goes to `system_instruction`, what changes every turn to `runtime_ctx`, so that the
    beginning of the prompt stays the same, byte by byte, from turn to turn.
    """
    language = persona.language.strip().casefold()
    occasion = Occasion(variant, language, mode, policies=policies)
    memo = memo_for(occasion, library, persona, profile, computed, counter)
    facts = Facts(persona, profile, now, language, library.words)
    values = Values(library, facts, runtime_vars, known=memo.known, computed=computed)
    layout = lay_out(library, Judge(occasion, values, memo), counter)
    tokens = {
        "system": layout.system_tokens,
        "tools": count(_tools_text(recalled.tools), counter),
        "turn": layout.turn_tokens,
        "current": count(recalled.stimulus.text, counter),
    }
    messages = 2 if layout.system else 1
    room = _room(tokens, context_tokens, reserve_tokens, messages=messages)
    kept = keep_newest(history, room, counter)
    request = PromptRequest(
        system_instruction=layout.system,
        tool_declarations=recalled.tools,
        conversation_history=kept.turns,
        current_text=recalled.stimulus.text,
        runtime_ctx=RuntimeContext(username=profile.name, spans=layout.turn),
        mode=mode,
    )
    trace = Trace(
        library=library.revision,
        variant=variant,
        language=occasion.language,
        blocks=layout.blocks,
        cuts=(*kept.cuts, *_untold(recalled.memories, counter)),
        unresolved=layout.unresolved,
        degraded=(*recalled.degraded, *layout.notes, *layout.degraded),
        tokens=_totals(tokens, kept, messages=messages),
        embedding_calls=recalled.embedding_calls,
    )
    return Composed(request, trace)


def _tools_text(tools: Sequence[ToolDeclaration]) -> str:
    described = (
        f"{tool.name} {tool.description} {json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in tools
    )
    return "\n".join(described)


def _room(tokens: Mapping[str, TokenCount], context: int, reserve: int, *, messages: int) -> int:
    """The tokens left for history, or an error when there are fewer than none."""
    needed = add(*tokens.values()).tokens + messages * FRAMING_TOKENS
    room = context - reserve - needed
    if room >= 0:
        return room
    parts = ", ".join(f"{name} {count.tokens}" for name, count in tokens.items())
    raise ComposeError(
        f"the prompt needs {needed} tokens ({parts}) and {reserve} are reserved for the answer, "
        f"but the context holds {context}",
        hint="raise the route's context_tokens, lower its max_tokens, or use the compact variant",
        needed=needed,
        reserve=reserve,
        context=context,
    )


def _totals(
    tokens: Mapping[str, TokenCount], kept: Kept, *, messages: int
) -> dict[str, TokenCount]:
    counted = {**tokens, "history": kept.tokens}
    framing = (messages + len(kept.turns)) * FRAMING_TOKENS
    return {**counted, "total": add(*counted.values()), "framing": TokenCount(framing)}


def _untold(memories: Iterable[Span], counter: TokenCounter) -> Iterator[Cut]:
    for memory in memories:
        yield Cut("memory", counter.count(memory.text).tokens, "memories are not told yet")
