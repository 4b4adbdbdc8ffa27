"""Reads what a provider says of its prompt cache: which part of the prompt changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from mentis.values.reply import CacheDiagnosis

from .lenient import count_in, object_in, printable, text_in

_UNKNOWN = ("previous_message_not_found", "comparison_response_not_found", "unavailable")


def anthropic_diagnosis(found: object) -> CacheDiagnosis | None:
    """Of `diagnostics` in a message: without a reason, the comparison was still under way."""
    if not isinstance(found, Mapping):
        return None
    told = object_in(cast("Mapping[str, object]", found).get("cache_miss_reason"))
    reason = printable(text_in(told.get("type")))
    if not reason:
        return CacheDiagnosis("pending")
    if reason in _UNKNOWN:
        return CacheDiagnosis("unknown", reason)
    return CacheDiagnosis("changed", reason, count_in(told.get("cache_missed_input_tokens")))


def responses_diagnosis(found: object) -> CacheDiagnosis | None:
    """Of `prompt_cache_diagnostics` in a response."""
    told = object_in(found)
    kind = printable(text_in(told.get("type")))
    if kind == "cache_hit":
        return CacheDiagnosis("same")
    if kind == "cache_miss":
        reason = printable(text_in(told.get("reason")))
        return CacheDiagnosis("changed", reason, count_in(told.get("cache_missed_tokens")))
    return CacheDiagnosis("unknown", kind) if kind else None


def reply_id_in(events: Sequence[str]) -> str:
    """The id that a provider gave its answer, by which it can be compared with a later one."""
    for event in events[:8]:
        try:
            body = object_in(json.loads(event))
        except (ValueError, RecursionError):
            continue
        for held in (object_in(body.get("message")), object_in(body.get("response")), body):
            if found := text_in(held.get("id")):
                return printable(found)
    return ""
