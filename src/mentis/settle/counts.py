"""Tokens as the two formats of one provider report them: the same counts under other names."""

from __future__ import annotations

from mentis.values.reply import Usage

from .lenient import count_in, object_in


def usage_in(value: object, inward: str, outward: str) -> Usage | None:
    """`inward` and `outward` are what the format calls the tokens that went in and came out."""
    counts = object_in(value)
    if not counts:
        return None
    read = object_in(counts.get(f"{inward}_details"))
    made = object_in(counts.get(f"{outward}_details"))
    return Usage(
        input=count_in(counts.get(inward)),
        output=count_in(counts.get(outward)),
        cache_read=count_in(read.get("cached_tokens")),
        cache_write=count_in(read.get("cache_write_tokens")),
        reasoning=count_in(made.get("reasoning_tokens")),
    )
