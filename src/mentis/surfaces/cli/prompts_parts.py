"""Prompts for other occasions than a turn's system prompt, shown one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from .output import emit, emit_json, say

if TYPE_CHECKING:
    from mentis.compose.builders import Builder
    from mentis.values.value import Value

Given = Mapping[str, object]

_MAKERS: dict[str, Callable[[Builder, str, Given], Value]] = {
    "append": lambda b, variant, given: b.get_system_prompt_append(variant, given),
    "prefill": lambda b, variant, given: b.build_prefill(variant, given),
    "first": lambda b, variant, given: b.get_first_assistant_content(variant, given),
    "dialog": lambda b, variant, given: b.get_dialog_injections(variant, given),
    "sequence": lambda b, variant, given: b.get_chat_message_sequence(variant, given),
    "summary": lambda b, variant, given: b.build_summary(
        str(given.get("chat_text", "{{chat_text}}")), variant=variant
    ),
    "afterthought": lambda b, variant, given: b.build_afterthought_inner_dialogue(variant, given),
    "followup": lambda b, variant, given: b.build_afterthought_followup(variant, given),
    "autofill": lambda b, variant, given: b.build_spec_autofill_prompt(
        "core_trait", str(given.get("input", "{{input}}")), variant
    ),
}
PARTS = tuple(_MAKERS)


def show_part(builder: Builder, part: str, variant: str, given: Given, *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    made = _MAKERS[part](builder, variant, given)
    told = to_object(made)
    if as_json:
        emit_json(told)
        return
    for name, value in told.items():
        if isinstance(value, dict):
            emit(f"--- {name} ---\n{cast('dict[str, object]', value).get('text', '')}")
    if isinstance(told.get("text"), str):
        emit(str(told["text"]))
    for message in getattr(made, "messages", ()):
        emit(f"[{message.role}] {message.text}")
    for step in getattr(made, "steps", ()):
        emit(f"{step.order:g} {step.id} ({step.position})")
    for block in getattr(made, "skipped", ()):
        say(f"{block.block}: {block.reason}")
