"""Whether options of a call can be sent: kinds, ranges, and what is not theirs to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TypeAlias, cast

from mentis.errors import BadInput, OptionError
from mentis.values.json import JsonObject
from mentis.values.options import OPTION_NAMES, CallOptions

from .forms import from_json, to_json

Fault: TypeAlias = tuple[str, str, str]  # the option, what is wrong with it, what to do
# Parts of a payload that Mentis composes, in whichever format: no extra body takes their place.
COMPOSED = frozenset(
    {
        *("model", "messages", "input", "instructions", "system", "contents"),
        *("systemInstruction", "system_instruction", "cachedContent", "cached_content", "prompt"),
        *("tools", "tool_choice", "toolConfig", "tool_config", "functions", "function_call"),
        *("stream", "stream_options", "store", "previous_response_id", "conversation"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    }
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Headers that the connection or the key of the route decides.
_OWN_HEADERS = frozenset(
    {
        *("host", "connection", "content-length", "content-type", "content-encoding"),
        *("accept-encoding", "transfer-encoding", "te", "trailer", "upgrade", "expect", "via"),
        *("forwarded", "x-forwarded-host", "x-forwarded-for", "anthropic-version"),
        *("anthropic-beta", "openai-beta"),
    }
)
_SECRET_NAMES = re.compile(
    r"authori[sz]|authentic|(^|[-_])auth($|[-_])|api-?key|(?<!idempotency)(^|[-_])keys?($|[-_])"
    r"|(^|[-_])tokens?($|[-_])|secret|password|cookie"
)
_SECRETS = re.compile(
    r"\b(?:sk|gsk|xai|pplx|key|tgp_v1|hf)[-_][A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\."
    r"|\bBearer [A-Za-z0-9._~+/=-]{16,}"
)
_A_SECRET = (
    "it looks like a key, and options hold none",
    "name the variable that holds it as the route's key_env",
)
_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "top_k": (0, 1_000_000),
    "min_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "repetition_penalty": (0, 10),
    "max_tokens": (1, 10_000_000),
    "reasoning_budget": (0, 10_000_000),
}


def check_options(options: CallOptions, where: str = "options") -> CallOptions:
    """The same; OptionError where one of them could not be sent, or would say what is not its."""
    try:
        from_json(CallOptions, to_json(options))
    except BadInput as error:
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error
    for name, wrong, hint in _faults(options):
        raise OptionError(f"{where}.{name}: {wrong}", hint=hint, option=name)
    return options


def options_from(given: Mapping[str, object], where: str = "options") -> CallOptions:
    """Options by name, as JSON or TOML has them; a name that is none is refused."""
    for name in given:
        if name not in OPTION_NAMES:
            close = get_close_matches(name, OPTION_NAMES, n=1)
            known = f"there are: {', '.join(OPTION_NAMES)}"
            hint = f"did you mean {close[0]!r}?" if close else known
            raise OptionError(f"{where}: there is no option {name!r}", hint=hint, option=name)
    try:
        made = from_json(CallOptions, json.dumps(dict(given)))
    except BadInput as error:
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error
    return check_options(made, where)


def _faults(options: CallOptions) -> Iterator[Fault]:
    yield from _value_faults(options)
    for header, value in options.headers.items():
        yield from _header_faults(header, value)
    for key in options.body:
        if key in COMPOSED:
            hint = "there is an option or a setting for what can be changed of it"
            yield "body", f"{key!r} is what Mentis composes", hint
    for tool in options.server_tools:
        if _is_function(tool):
            hint = "declare it as a tool of the agent: `mentis tools add`"
            yield "server_tools", "a function that no provider executes by itself", hint
    for name in ("body", "server_tools"):
        if any(_SECRETS.search(text) for text in _texts(getattr(options, name))):
            yield name, *_A_SECRET


def _value_faults(options: CallOptions) -> Iterator[Fault]:
    for name, (least, most) in _RANGES.items():
        value = cast("float | None", getattr(options, name))
        if value is not None and not least <= value <= most:
            yield name, f"{value} is not from {least} to {most}", "choose another"
    for name in ("stop", "betas"):
        if not all(cast("tuple[str, ...]", getattr(options, name))):
            yield name, "one of the texts is empty", "leave it out"


def _header_faults(name: str, value: str) -> Iterator[Fault]:
    low = name.lower()
    if not _HEADER.fullmatch(name) or not (value.isascii() and value.isprintable()):
        yield "headers", f"{name!r} cannot be sent", "a header is one line of plain letters"
    elif low in _OWN_HEADERS:
        hint = "betas have an option; the rest is up to the route"
        yield "headers", f"{name!r} is not to be set by hand", hint
    elif _SECRET_NAMES.search(low):
        yield "headers", f"{name!r} is a header for keys", _A_SECRET[1]
    elif _SECRETS.search(value):
        yield "headers", *_A_SECRET


def _is_function(tool: JsonObject) -> bool:
    """A function that we would have to execute, in the form of any format."""
    shapes = ("functionDeclarations", "function_declarations", "input_schema", "function")
    return tool.get("type") in ("function", "custom") or any(key in tool for key in shapes)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in cast("JsonObject", value).values():
            yield from _texts(one)
    elif isinstance(value, (list, tuple)):
        for one in cast("list[object]", value):
            yield from _texts(one)
