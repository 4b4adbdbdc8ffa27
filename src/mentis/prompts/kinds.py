"""Kinds of requests beside a chat turn, each built by its name and shown before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, get_args

from mentis.compose.builders import Builder
from mentis.compose.built import BuiltMessages, BuiltText, StepPlan, SummaryPrompt
from mentis.errors import UsageError
from mentis.library.problems import did_you_mean
from mentis.values.block import Mode
from mentis.values.part import TextPart
from mentis.values.persona_draft import DraftKind
from mentis.values.request import PromptRequest
from mentis.values.trace import BlockTrace, TokenCount
from mentis.values.turn import Turn
from mentis.values.value import Value

BuiltPart: TypeAlias = BuiltText | BuiltMessages | StepPlan | SummaryPrompt
Given: TypeAlias = Mapping[str, object]
_Maker: TypeAlias = Callable[[Builder, str, Given], BuiltPart]
MODES: tuple[Mode, ...] = ("chat", "beat", "delivery", "live")
SPECS: tuple[DraftKind, ...] = get_args(DraftKind)
_BEATS = (
    "tag_elaboration",
    "self_reflection",
    "curiosity",
    "memory_consolidation",
    "relationship",
)


@dataclass(frozen=True, slots=True)
class RequestKind(Value):
    """One kind of request as it would be told now: its blocks in order, and what they cost."""

    name: str
    blocks: tuple[str, ...]
    tokens: TokenCount


def _autofill(spec: DraftKind) -> _Maker:
    return lambda b, variant, given: b.build_spec_autofill_prompt(
        spec, str(given.get("input", "{{input}}")), variant, given
    )


def _alone(block_id: str) -> _Maker:
    return lambda b, variant, given: b.resolve_prompt_by_id(block_id, variant, given)


def _beat(kind: str) -> _Maker:
    return lambda b, variant, given: b.build_beat(kind, variant, given)


_MAKERS: dict[str, _Maker] = {
    "append": lambda b, variant, given: b.get_system_prompt_append(variant, given),
    "prefill": lambda b, variant, given: b.build_prefill(variant, given),
    "first": lambda b, variant, given: b.get_first_assistant_content(variant, given),
    "dialog": lambda b, variant, given: b.get_dialog_injections(variant, given),
    "sequence": lambda b, variant, given: b.get_chat_message_sequence(variant, given),
    "summary": lambda b, variant, given: b.build_summary(
        str(given.get("chat_text", "{{chat_text}}")), variant=variant, runtime_vars=given
    ),
    "title": _alone("session_title"),
    "afterthought": lambda b, variant, given: b.build_afterthought_inner_dialogue(variant, given),
    "followup": lambda b, variant, given: b.build_afterthought_followup(variant, given),
    "update": _alone("cortex_update_system"),
    "update_task": _alone("cortex_update_user_message"),
    "opening": _alone("auto_first_message"),
    "bridge": _alone("history_bridge"),
    "correction": _alone("correction"),
    "correction_partial": _alone("correction_partial"),
    "correction_json": _alone("correction_json"),
    "primary": lambda b, variant, given: b.build_cortex_stage("cortex_primary", variant, given),
    "autofill": _autofill("core_trait"),
    **{f"autofill_{spec}": _autofill(spec) for spec in SPECS},
    **{f"beat_{kind}": _beat(kind) for kind in _BEATS},
}
PARTS = tuple(_MAKERS)


def build_part(builder: Builder, part: str, variant: str, given: Given) -> BuiltPart:
    """The prompt of one kind; a value that its occasion brings is told as its key."""
    if part not in _MAKERS:
        hint = did_you_mean(part, PARTS) or f"there are: {', '.join(PARTS)}"
        raise UsageError(f"there is no part {part!r}", hint=hint)
    return _MAKERS[part](builder, variant, given)


def part_request(part: str, built: BuiltPart) -> PromptRequest:
    """The request such a prompt is sent as, alone."""
    match built:
        case SummaryPrompt(system, user, prefill):
            return PromptRequest(
                system_instruction=system.spans, current_text=user.text, prefill=prefill.spans
            )
        case BuiltMessages(messages):
            turns = (
                Turn("assistant" if one.role == "assistant" else "user", (TextPart(one.text),))
                for one in messages
            )
            return PromptRequest(conversation_history=tuple(turns))
        case BuiltText(spans) if part in ("append", "update", "primary"):
            return PromptRequest(system_instruction=spans)
        case BuiltText(spans) if part == "prefill":
            return PromptRequest(prefill=spans)
        case BuiltText() if part == "first":
            turn = Turn("assistant", (TextPart(built.text),))
            return PromptRequest(conversation_history=(turn,) if built.text else ())
        case BuiltText():
            return PromptRequest(current_text=built.text)
        case StepPlan():
            hint = "`mentis prompts preview --part sequence` shows the order"
            raise UsageError(f"the part {part!r} is an order and holds no text", hint=hint)


def part_kind(part: str, builder: Builder, built: BuiltPart) -> RequestKind:
    """Its blocks and what they cost in all."""
    texts = [text for text in _texts(built) if text]
    if isinstance(built, StepPlan):
        blocks = tuple(step.id for step in built.steps)
    else:
        blocks = tuple(dict.fromkeys(trace.block for trace in _told(built)))
    return RequestKind(part, blocks, builder.count("\n\n".join(texts)))


def _texts(built: BuiltPart) -> tuple[str, ...]:
    match built:
        case SummaryPrompt(system, user, prefill):
            return (system.text, user.text, prefill.text)
        case BuiltMessages(messages):
            return tuple(one.text for one in messages)
        case BuiltText():
            return (built.text,)
        case StepPlan():
            return ()


def _told(built: BuiltText | BuiltMessages | SummaryPrompt) -> tuple[BlockTrace, ...]:
    match built:
        case SummaryPrompt(system, user, prefill):
            return (*system.told, *user.told, *prefill.told)
        case BuiltText():  # one asked for by its name is told whatever its conditions say
            return built.told or (built.skipped if built.text else ())
        case BuiltMessages():
            return built.told
