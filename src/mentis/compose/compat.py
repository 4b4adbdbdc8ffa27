"""The origin's untyped form of a prompt: a dict with the typed request inside."""

from __future__ import annotations

from collections.abc import Mapping

from mentis.errors import BadInput
from mentis.values.request import PromptRequest
from mentis.values.span import join_spans

TYPED = "__prompt_request"


def as_json_prompt(request: PromptRequest) -> dict[str, object]:
    """The form the origin's engines take; the typed request is inside, under `TYPED`."""
    text = join_spans(request.system_instruction)
    return {
        "instructions": " ".join(text.split()),
        "instructions_verbose": text,
        "system_message": {
            "type": "output" if request.mode == "delivery" else request.mode,
            "message": request.current_text,
            "context": join_spans(request.context_summary),
        },
        TYPED: request,
    }


def as_request(prompt: PromptRequest | Mapping[str, object]) -> PromptRequest:
    """The typed request, given as it is or inside the compatibility dict."""
    found = prompt if isinstance(prompt, PromptRequest) else prompt.get(TYPED)
    if isinstance(found, PromptRequest):
        return found
    raise BadInput(
        f"the prompt holds no request under {TYPED!r}",
        hint="pass a PromptRequest, or the dict that build_json_prompt made",
    )
