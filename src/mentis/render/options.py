"""Options of a call in the words of each format. What a format or a model has no word for is lost
by name, never in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mentis.errors import OptionError
from mentis.facts.ability import Abilities
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.rendering import Loss
from mentis.values.route import Route

# Options that are one value under one name.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "openai-chat": {
        name: name
        for name in (
            *("temperature", "seed", "top_p", "top_k", "min_p", "frequency_penalty"),
            *("presence_penalty", "repetition_penalty", "stop", "reasoning_effort"),
            "service_tier",
        )
    },
    "openai-responses": {name: name for name in ("temperature", "seed", "top_p", "service_tier")},
    "anthropic": {
        **{name: name for name in ("temperature", "seed", "top_p", "top_k", "service_tier")},
        "stop": "stop_sequences",
    },
    "gemini": {
        **{name: name for name in ("temperature", "seed")},
        "top_p": "topP",
        "top_k": "topK",
        "frequency_penalty": "frequencyPenalty",
        "presence_penalty": "presencePenalty",
        "stop": "stopSequences",
    },
}
_SAMPLING = frozenset(
    {
        *("temperature", "seed", "top_p", "top_k", "min_p"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty"),
    }
)
# Options that are written by functions of their own, where their format has them.
_REASONING = ("reasoning_effort", "reasoning_budget", "reasoning_summary")
_SHAPED: Mapping[str, tuple[str, ...]] = {
    "openai-chat": ("parallel_calls", "server_tools"),
    "openai-responses": ("parallel_calls", "server_tools", "cache_diagnostics", *_REASONING),
    "anthropic": ("parallel_calls", "server_tools", "cache_diagnostics", *_REASONING),
    "gemini": ("server_tools", "safety", "service_tier", *_REASONING),
}
# The whole of a choice of tools is written, or lost, where tools are; headers where they are sent.
_ELSEWHERE = ("tool_choice", "body", "compared_reply")
_LEVELS = {"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
_LEAST_BUDGET = 1024


def plain_options(
    route: Route, able: Abilities, losses: list[Loss], *, wire: str
) -> dict[str, object]:
    """Those that are one value under one name; and a loss for each that is not sent at all."""
    renamed = dict(name.split("=", 1) for name in able.option_names)
    names = {name: renamed.get(name, own) for name, own in _NAMES.get(wire, {}).items()}
    own = {"temperature": route.temperature, "seed": route.seed}
    sent: dict[str, object] = {}
    for name, value in (own | route.options.chosen()).items():
        if value is None or name in _ELSEWHERE:
            continue
        if why := _why_not(name, route, able, wire=wire):
            pointer = f"/{name}"
            sampled = name in _SAMPLING
            losses.append(
                Loss("sampling", why, pointer) if sampled else Loss("option", why, pointer)
            )
        elif name in names and name not in _SHAPED.get(wire, ()):
            sent[names[name]] = list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]  # of texts
    return sent


def _why_not(name: str, route: Route, able: Abilities, *, wire: str) -> str:
    sent = wire in _NAMES
    if name == "headers" and sent:
        return "" if able.headers else f"{route.model} is sent no headers"
    if name == "betas" and sent:
        return "" if able.beta_header else f"{route.model} has no header for betas"
    if name not in _NAMES.get(wire, {}) and name not in _SHAPED.get(wire, ()):
        return f"the format {wire} has no {name}"
    taken = able.sampling if name in _SAMPLING else able.native_tools or name != "server_tools"
    taken = taken and (able.seed or name != "seed")
    return "" if taken and name not in able.refuses else f"{route.model} takes no {name}"


def _reasoning(route: Route, able: Abilities) -> CallOptions:
    """The options with only what is wanted of the reasoning, as far as the model takes it."""
    given = route.options
    effort, budget, summary = (
        None if name in able.refuses else getattr(given, name) for name in _REASONING
    )
    return CallOptions(reasoning_effort=effort, reasoning_budget=budget, reasoning_summary=summary)


def responses_reasoning(route: Route, able: Abilities, losses: list[Loss]) -> dict[str, object]:
    wanted = _reasoning(route, able)
    if wanted.reasoning_budget is not None:
        why = f"{route.model} takes an effort, and no budget, of reasoning"
        losses.append(Loss("option", why, "/reasoning_budget"))
    made: dict[str, object] = {}
    if wanted.reasoning_effort is not None:
        made["effort"] = wanted.reasoning_effort
    if wanted.reasoning_summary not in (None, "none"):
        made["summary"] = wanted.reasoning_summary
    return {"reasoning": made} if made else {}


def anthropic_reasoning(route: Route, able: Abilities, losses: list[Loss]) -> dict[str, object]:
    wanted = _reasoning(route, able)
    effort, budget = wanted.reasoning_effort, wanted.reasoning_budget
    made, thinking = dict[str, object](), dict[str, object]()
    if effort == "none" or budget == 0:
        thinking = {"type": "disabled"}
    elif budget is not None and _LEAST_BUDGET <= budget < route.max_tokens:
        thinking = {"type": "enabled", "budget_tokens": budget}
    elif budget is not None:
        why = f"{budget} is not from {_LEAST_BUDGET} to below max_tokens ({route.max_tokens})"
        losses.append(Loss("option", why, "/reasoning_budget"))
    if wanted.reasoning_summary is not None and thinking.get("type") != "disabled":
        shown = "omitted" if wanted.reasoning_summary == "none" else "summarized"
        thinking = {**(thinking or {"type": "adaptive"}), "display": shown}
    if thinking:
        made["thinking"] = thinking
    if effort not in (None, "none"):
        if effort == "minimal":
            losses.append(Loss("option", "'minimal' became 'low'", "/reasoning_effort"))
        made["output_config"] = {"effort": "low" if effort == "minimal" else effort}
    return made


def gemini_reasoning(route: Route, able: Abilities, losses: list[Loss]) -> dict[str, object]:
    """A level or a budget: a model refuses both at once."""
    wanted = _reasoning(route, able)
    effort, budget, made = wanted.reasoning_effort, wanted.reasoning_budget, dict[str, object]()
    if effort == "none":
        made["thinkingBudget"] = 0
    elif effort is not None:
        level = _LEVELS.get(effort, "HIGH")
        if effort not in _LEVELS:
            losses.append(Loss("option", f"{effort!r} became 'high'", "/reasoning_effort"))
        made["thinkingLevel"] = level
    if budget is not None and effort is None:
        made["thinkingBudget"] = budget
    elif budget is not None:
        why = f"{route.model} takes an effort or a budget of reasoning, and not both"
        losses.append(Loss("option", why, "/reasoning_budget"))
    if wanted.reasoning_summary is not None:
        made["includeThoughts"] = wanted.reasoning_summary != "none"
    return {"thinkingConfig": made} if made else {}


def gemini_options(route: Route, able: Abilities) -> dict[str, object]:
    """Those that stand beside `generationConfig`, not in it."""
    given, made = route.options, dict[str, object]()
    if given.safety and "safety" not in able.refuses:
        made["safetySettings"] = [
            {"category": category, "threshold": threshold}
            for category, threshold in given.safety.items()
        ]
    if given.service_tier and "service_tier" not in able.refuses:
        made["serviceTier"] = given.service_tier
    return made


def anthropic_comparison(route: Route, able: Abilities) -> dict[str, object]:
    """Also without a reply to compare with: only then can the next one be compared with this."""
    if not _compares(route, able):
        return {}
    return {"diagnostics": {"previous_message_id": route.options.compared_reply or None}}


def responses_comparison(route: Route, able: Abilities) -> dict[str, object]:
    compared = route.options.compared_reply
    if not compared or not _compares(route, able):
        return {}
    return {"prompt_cache_options": {"comparison_response_id": compared}}


def _compares(route: Route, able: Abilities) -> bool:
    return bool(route.options.cache_diagnostics) and "cache_diagnostics" not in able.refuses


# Members of a payload that options are written as, beside those of their own name.
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    **{wire_name: (name,) for names in _NAMES.values() for name, wire_name in names.items()},
    "repeat_penalty": ("repetition_penalty",),
    "random_seed": ("seed",),
    "parallel_tool_calls": ("parallel_calls",),
    "reasoning": ("reasoning_effort", "reasoning_summary"),
    "output_config": ("reasoning_effort",),
    "thinkingLevel": ("reasoning_effort",),
    "thinking": ("reasoning_budget", "reasoning_summary", "reasoning_effort"),
    "thinkingBudget": ("reasoning_budget", "reasoning_effort"),
    "includeThoughts": ("reasoning_summary",),
    "safetySettings": ("safety",),
    "serviceTier": ("service_tier",),
    "diagnostics": ("cache_diagnostics",),
    "prompt_cache_options": ("cache_diagnostics",),
}


def options_sent(payload: JsonObject, route: Route) -> dict[str, str]:
    """The members of a payload that are options of the route, each with the option it says."""
    members = dict(payload)
    for holder in ("generationConfig", "thinkingConfig"):
        if isinstance(held := members.get(holder), Mapping):
            members |= cast("JsonObject", held)
    chosen = {"temperature", "seed", *route.options.chosen()}
    says = {name: [one for one in _MEMBERS.get(name, ()) if one in chosen] for name in members}
    return {name: options[0] for name, options in says.items() if options}


def with_server_tools(
    tools: list[dict[str, object]], route: Route, able: Abilities
) -> list[dict[str, object]]:
    """Ours, and behind them those that the provider executes itself."""
    given = route.options.server_tools
    if not given or not able.native_tools or "server_tools" in able.refuses:
        return tools
    return [*tools, *(dict(tool) for tool in given)]


def parallel_calls(
    route: Route, able: Abilities, losses: list[Loss], *, tools: bool
) -> bool | None:
    """Whether several calls at once are wanted; None where there is nothing to say."""
    wanted = route.options.parallel_calls
    if wanted is None or "parallel_calls" in able.refuses:
        return None
    if not tools:
        why = "there are no native tools in this payload"
        losses.append(Loss("option", why, "/parallel_calls"))
        return None
    return wanted


def with_extra_body(payload: JsonObject, extra: JsonObject) -> JsonObject:
    """The payload with more in it. What is there already stays: to say it twice is refused."""
    if not extra:
        return payload
    joined = dict(payload)
    for key, value in extra.items():
        there = joined.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            joined[key] = with_extra_body(cast("JsonObject", there), cast("JsonObject", value))
        elif key in joined:
            raise OptionError(
                f"options.body: the payload has a {key!r} of its own",
                hint="there is an option or a setting for what can be changed of it",
                option="body",
            )
        else:
            joined[key] = value
    return joined
