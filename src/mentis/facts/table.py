"""The table itself. Each row says when it was true; sources are in docs/concepts/providers.md.

A row is chosen by the longest prefix of the model's name. Facts of this kind moved three times in
2026, so they stand here and nowhere else, and a route can override each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mentis.values.route import Backend

from .ability import Abilities, Wire

WIRE_OF_BACKEND: Mapping[Backend, Wire] = {
    "embedded": "openai-chat",
    "openai": "openai-chat",
    "scripted": "openai-chat",
    "replay": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}

# --- Chat Completions and Responses ------------------------------------------------------------
_LOCAL = Abilities(
    mid_system="before",
    assistant_first=True,
    prefill=True,
    cache="found",
    cache_read_price=0.0,
    cache_here=True,
    free=True,
)
# llama.cpp does not hold a model to the tools it is given, but it does hold it to a schema.
_EMBEDDED = replace(
    _LOCAL,
    native_tools=False,
    bound_answers=True,
    structured_output="alone",
    answer_scores="llguidance",
    refuses=("reasoning_effort", "service_tier"),
    option_names=("repetition_penalty=repeat_penalty",),
    headers=False,
)
# Some server that speaks Chat Completions. Nothing is promised, but most of its models can see
# today: a picture is sent, and where it is refused, that is learned.
_COMPATIBLE = Abilities(vision=True)
_THINKING = replace(_COMPATIBLE, reasoning_back="always")
_NOT_OPENAI = ("top_k", "min_p", "repetition_penalty")
_OPENAI = Abilities(
    vision=True,
    documents=True,
    media_urls=True,
    mid_system="before",
    assistant_first=True,
    cache="key",
    cache_minimum=1024,
    cache_read_price=0.1,
    priced_as="openai",
    images=500,
    tools=128,
    raw_arguments=True,  # other servers refuse them: github.com/vllm-project/vllm/pull/48922
    refuses=(*_NOT_OPENAI, "reasoning_effort", "reasoning_summary"),
    beta_header="OpenAI-Beta",
)
_REASONING = replace(
    _OPENAI,
    sampling=False,
    seed=False,
    limit_key="max_completion_tokens",
    strict_tools=True,
    structured_output="with_tools",
    encrypted_reasoning=True,
    refuses=(*_NOT_OPENAI, "stop"),
)
_MARKED = replace(
    _REASONING, cache="openai", cache_marks=3, cache_ttls=("30m",), cache_write_price=1.25
)
_CHAT: Mapping[str, Abilities] = {
    "gpt-4": replace(_OPENAI, cache_read_price=1.0),
    "gpt-4o": replace(
        _OPENAI, cache_read_price=0.5, strict_tools=True, structured_output="with_tools"
    ),
    "gpt-4.1": replace(
        _OPENAI, cache_read_price=0.25, strict_tools=True, structured_output="with_tools"
    ),
    "gpt-audio": replace(_OPENAI, audio=True, vision=False, documents=False, cache_read_price=1.0),
    "gpt-5": _REASONING,
    # It does not think: github.com/pydantic/pydantic-ai/issues/3326
    "gpt-5-chat": replace(_REASONING, encrypted_reasoning=False),
    "gpt-5.6": _MARKED,
    "gpt-5.7": _MARKED,
    "gpt-6": _MARKED,
    "o1": replace(_REASONING, cache_read_price=0.5),
    # It refused both the system and the developer role.
    "o1-mini": replace(
        _REASONING,
        system_role="",
        mid_system="never",
        vision=False,
        strict_tools=False,
        structured_output="never",
        encrypted_reasoning=False,
        cache_read_price=0.5,
    ),
    "o3": replace(_REASONING, cache_read_price=0.25),
    "o3-mini": replace(_REASONING, cache_read_price=0.5),
    "o4": replace(_REASONING, cache_read_price=0.25),
    # A call without the thought it came with is refused: api-docs.deepseek.com/guides/thinking_mode
    # and github.com/continuedev/continue/issues/11711.
    "deepseek": _THINKING,
    # Its guide of 2025 says that it refuses thoughts: api-docs.deepseek.com/guides/reasoning_model
    "deepseek-r1": replace(_COMPATIBLE, reasoning_back="never"),
    "kimi-for-coding": _THINKING,
    "kimi-k2-thinking": _THINKING,
    "kimi-k2.": _THINKING,
    "kimi-k3": _THINKING,
}


def _in_responses(row: Abilities) -> Abilities:
    """The same model behind the other API: no audio, no seed, its own name for the limit."""
    ttls = ("12h", "30m") if row.cache == "openai" else row.cache_ttls
    # Only those that have marks compare a prompt with an earlier one.
    silent = () if row.cache == "openai" else ("cache_diagnostics",)
    return replace(
        row,
        audio=False,
        seed=False,
        limit_key="max_output_tokens",
        cache_ttls=ttls,
        result_media=True,
        refuses=(*row.refuses, *silent),
    )


_RESPONSES = {
    prefix: _in_responses(row) for prefix, row in _CHAT.items() if row.priced_as == "openai"
}

# --- Anthropic Messages ------------------------------------------------------------------------
_CLAUDE = Abilities(
    api_version="2026-10-21",
    vision=True,
    documents=True,
    media_urls=True,
    assistant_first=True,
    sampling=False,
    seed=False,
    cache="anthropic",
    cache_minimum=4096,
    cache_marks=4,
    cache_ttls=("1h", "5m"),
    cache_write_price=1.25,
    cache_long_write_price=2.0,
    cache_read_price=0.1,
    cache_lookback=20,
    priced_as="anthropic",
    request_bytes=32 * 1024 * 1024,
    images=100,
    result_media=True,
    beta_header="anthropic-beta",
)
# Models that hold a tool to its schema hold their words to one too, in `output_config.format`:
# platform.claude.com/docs/en/build-with-claude/structured-outputs
_STRUCTURED = replace(_CLAUDE, strict_tools=True, structured_output="with_tools")
_TOLD_MIDWAY = replace(_STRUCTURED, mid_system="after")
_UNFORCED = replace(_TOLD_MIDWAY, forced_tool_choice=False)
_ANTHROPIC: Mapping[str, Abilities] = {
    "claude-fable-5": replace(_TOLD_MIDWAY, cache_minimum=512),
    "claude-fable-5-1": replace(_UNFORCED, cache_minimum=512, cache_read_price=0.025),
    "claude-mythos-5": replace(_TOLD_MIDWAY, cache_minimum=512),
    # Sources disagree on 4.8 (4096 in July, 1024 in October): the larger is the safe one.
    "claude-opus-4-8": _TOLD_MIDWAY,
    # By recorded answers: it takes a strict tool.
    "claude-sonnet-4-5": _STRUCTURED,
    "claude-opus-5": replace(_TOLD_MIDWAY, cache_minimum=512),
    "claude-opus-5-5": replace(_UNFORCED, cache_minimum=512, cache_read_price=0.05),
    # It answers 200 to a system message midway and ignores it, so it counts as unable.
    "claude-sonnet-5": replace(_STRUCTURED, cache_minimum=1024),
    "claude-sonnet-5-5": replace(_UNFORCED, cache_minimum=1024, cache_read_price=0.05),
    "claude-haiku-5-5": _TOLD_MIDWAY,
}

# --- Gemini generateContent --------------------------------------------------------------------
_GEMINI = Abilities(
    api_version="v1",
    vision=True,
    audio=True,
    documents=True,
    image_types=("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    audio_types=("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/aac", "audio/aiff"),
    video_types=("video/mp4", "video/webm", "video/quicktime", "video/avi"),
    media_urls=True,
    limit_key="max_output_tokens",
    cache="found",
    cache_minimum=4096,
    cache_read_price=0.1,
    cache_explicit=True,
    priced_as="google",
    request_bytes=100 * 1024 * 1024,
    prefill=True,
    structured_output="alone",
)
# The mode VALIDATED: FunctionCallingConfig in googleapis/google/ai/generativelanguage/v1beta
# A schema beside tools: ai.google.dev/gemini-api/docs/structured-output
_GEMINI_3 = replace(
    _GEMINI,
    signed_calls=True,
    prefill=False,
    strict_tools=True,
    structured_output="with_tools",
    result_media=True,
)
_GEMINI_ROWS: Mapping[str, Abilities] = {
    "gemini-2": replace(_GEMINI, refuses=("reasoning_effort",)),
    "gemini-2.5-flash": replace(
        _GEMINI, cache_minimum=1024, strict_tools=True, refuses=("reasoning_effort",)
    ),
    "gemini-3": _GEMINI_3,
    # The newest flash models have fixed sampling.
    "gemini-3.5-flash": replace(_GEMINI_3, sampling=False, seed=False),
    # Aliases exist only in the older version of the API.
    "gemini-flash-latest": replace(_GEMINI_3, api_version="v1beta"),
    "gemini-pro-latest": replace(_GEMINI_3, api_version="v1beta"),
}

BY_BACKEND: Mapping[Backend, Abilities] = {
    "embedded": _EMBEDDED,
    "scripted": replace(_LOCAL, headers=False, structured_output="with_tools"),
    "openai": _COMPATIBLE,
    "replay": _COMPATIBLE,
    "openai-responses": _in_responses(
        replace(_REASONING, encrypted_reasoning=False, raw_arguments=False)
    ),
    "anthropic": _CLAUDE,
    "gemini": _GEMINI,
}
BY_MODEL: Mapping[Backend, Mapping[str, Abilities]] = {
    "openai": _CHAT,
    "openai-responses": _RESPONSES,
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI_ROWS,
}
