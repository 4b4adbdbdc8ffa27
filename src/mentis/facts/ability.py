"""The value for all that can be known about a model behind an API, flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mentis.values.value import Value

# `ollama` is that server's own: read where a recorder meets it, never written here.
Wire: TypeAlias = Literal[
    "openai-chat", "openai-responses", "anthropic", "gemini", "text", "live", "ollama"
]
WIRES: tuple[Wire, ...] = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "text",
    "live",
)
# How calls are made: by the format's own means, as words among the words, or by an answer that is
# bound to a schema of calls and words.
Calls: TypeAlias = Literal["native", "text", "bound"]
# How a server tells the log-probability of an answer that it is given; empty: it cannot.
AnswerScores: TypeAlias = Literal["", "llguidance", "gbnf", "prompt"]
LimitKey: TypeAlias = Literal["max_tokens", "max_completion_tokens", "max_output_tokens"]


@dataclass(frozen=True, slots=True)
class Abilities(Value):
    """Where and how a model takes things. What is not known is off, never guessed on.

    `mid_system`: whether a system message may stand before or after the last user message.
    `system_role` is empty where a model has no such role. `cache` says how a prefix cache is
    asked for: not at all, by what the provider finds itself, or by marks in the payload.
    `signed_calls`: a replayed tool call must carry the signature it came with. `reasoning_back`:
    when a thought that a chat server told in a field of its own goes back to it: never, beside the
    calls it led to, or always (then an answer without one carries an empty one). `bound_answers`:
    where there are no native tools, an answer can be held to a JSON schema, and so to calls.
    `raw_arguments`: a replayed call may carry arguments that are no JSON, where they are a text.
    `encrypted_reasoning`: thoughts can be asked for in a form that only the provider reads.
    `structured_output`: the words of an answer can be held to a JSON schema; `alone`: only where
    no tools are declared.
    `answer_scores`: it scores an answer that it is given: llama.cpp under a grammar (`llguidance`,
    `gbnf`), vLLM as a part of the prompt (`prompt`).
    `strict_tools`: the provider can hold the model to a tool's schema. `result_media`: the
    result of a call can hold pictures and documents. Limits (`request_bytes`, `images`, `tools`)
    are 0 where unknown.

    `refuses` names the options of a call that it does not take; `option_names` those it knows by
    another name (`seed=random_seed`). `headers`: it is spoken to over HTTP; `beta_header` is where
    features are named that are still being tried, `key_header` where the key goes, bare, if not
    where the backend has it.

    Prices of the cache are multiples of plain input. `cache_lookback`: how many blocks before a
    mark an earlier one is found (0: all). `cache_here`: it ends with this process.
    `cache_explicit`: a cache can be made and named. `input_price` and `output_price` are in US
    dollars for a million tokens; 0 leaves it to the price table, which calls the provider
    `priced_as`.
    """

    as_of: str = "2026-11-15"
    api_version: str = ""
    native_tools: bool = True
    bound_answers: bool = False
    structured_output: Literal["never", "alone", "with_tools"] = "never"
    forced_tool_choice: bool = True
    vision: bool = False
    audio: bool = False
    documents: bool = False
    image_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
    audio_types: tuple[str, ...] = ("audio/wav", "audio/mpeg")
    video_types: tuple[str, ...] = ()
    media_urls: bool = False
    mid_system: Literal["never", "before", "after"] = "never"
    system_role: Literal["system", "developer", ""] = "system"
    assistant_first: bool = False
    prefill: bool = False
    sampling: bool = True
    seed: bool = True
    limit_key: LimitKey = "max_tokens"
    call_ids: bool = True
    signed_calls: bool = False
    raw_arguments: bool = False
    encrypted_reasoning: bool = False
    reasoning_back: Literal["never", "calls", "always"] = "calls"
    cache: Literal["none", "found", "key", "openai", "anthropic"] = "none"
    cache_minimum: int = 0
    cache_marks: int = 0
    cache_ttls: tuple[str, ...] = ()
    cache_write_price: float = 1.0
    cache_long_write_price: float = 1.0  # for what is kept an hour
    cache_read_price: float = 1.0
    cache_lookback: int = 0
    cache_here: bool = False
    cache_explicit: bool = False
    input_price: float = 0.0
    output_price: float = 0.0
    priced_as: str = ""
    free: bool = False
    request_bytes: int = 0
    images: int = 0
    tools: int = 0
    strict_tools: bool = False
    result_media: bool = False
    answer_scores: AnswerScores = ""
    refuses: tuple[str, ...] = ()
    option_names: tuple[str, ...] = ()
    headers: bool = True
    beta_header: str = ""
    key_header: str = ""

    @property
    def calls(self) -> Calls:
        if self.native_tools:
            return "native"
        return "bound" if self.bound_answers else "text"
