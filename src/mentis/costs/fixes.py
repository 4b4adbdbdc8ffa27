"""The cheapest thing to do about the cost of a turn, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mentis.ask.prices import tariff_of
from mentis.ask.recorded_calls import CALL
from mentis.facts.abilities import abilities
from mentis.home.identity import RECORDED
from mentis.values.cost import CacheLoss, CallCost, TurnCost
from mentis.values.route import Route

from .entry_costs import TALK

_PLACEHOLDER = re.compile(r"block (\S+) \(\{\{(.+)\}\}\)")
_TALK = re.compile(r"(user|assistant|system|tool) turn \d+|turn .+|summary|call of .+")


def cheapest_fix(turn: TurnCost, loss: CacheLoss | None, routes: Sequence[Route]) -> str:
    """Of the cache first: to find again costs nobody a word. Else of what most was paid for."""
    dearest = max(turn.calls, key=lambda call: (call.usd or 0, call.usage.input), default=None)
    if dearest is None or turn.cost.planned == len(turn.calls):
        return ""  # nobody said what it used
    if loss is not None and loss.fix:
        return loss.fix
    if turn.agent.startswith(RECORDED):
        return _foreign_fix(turn)
    named = (one for one in routes if (one.name, one.model) == (dearest.route, dearest.model))
    route = next(named, None)
    if loss is not None and loss.cause != "first" and (said := _cache_fix(loss, dearest, route)):
        return said
    return _share_fix(turn, dearest, route)


def _foreign_fix(turn: TurnCost) -> str:
    """Of another program, whose settings are not ours."""
    told, written = turn.cost.usage.input, turn.cost.usage.output * 5
    if written > told:
        return f"{round(100 * written / (written + told))} % is what it wrote: ask for less"
    if turn.kind not in TALK and turn.kind != CALL:
        return "a call beside the conversation: see whether the program can do without it"
    return (
        f"the prompt itself: mentis why {turn.entry} --persona {turn.agent} says which parts are"
        " large"
    )


def _cache_fix(loss: CacheLoss, call: CallCost, route: Route | None) -> str:
    if loss.cause == "changed":
        return _change_fix(loss, call.route)
    settings = f"mentis settings set routes.{call.route}"
    fixes = {
        "expired": "ask again sooner, or several things at once: what was kept had run out",
        "off": f"if its server has a cache, say so: {settings}.facts.cache found",
        "dropped": "nothing in the prompt: the provider did not keep it; ask again sooner",
    }
    if route is not None and not route.caching:
        fixes["off"] = f"switch it on: {settings}.caching true"
    if route is not None and abilities(route).cache_explicit:
        fixes["dropped"] = f"have it kept by name: {settings}.cache explicit"
    return fixes.get(loss.cause, "")


def _change_fix(loss: CacheLoss, route: str) -> str:
    if loss.pointer.startswith("/tools") or loss.where.startswith(("tool ", "the tools")):
        return (
            "keep the tools the same within a session: raise recall.max_tools so that all are"
            " declared, and take out servers that come and go"
        )
    if found := _PLACEHOLDER.fullmatch(loss.where):
        block, key = found[1], found[2]
        return (
            f"{{{{{key}}}}} had another value: tell it at the end, where nothing is kept behind it:"
            f" mentis prompts edit {block} --set 'stability=\"turn\"'"
        )
    if loss.where.startswith("block "):
        block = loss.where.removeprefix("block ")
        return (
            f"{block} was another text before: edit blocks between sessions, not within one"
            f" (mentis prompts history {block})"
        )
    if _TALK.fullmatch(loss.where):
        return (
            "what was said before is told otherwise (said anew, summed up, or cut for room): raise"
            f" routes.{route}.context_tokens if the model has more, so that less is cut"
        )
    return f"keep {loss.where or 'it'} as it is within a session, or tell it at the end"


def _share_fix(turn: TurnCost, call: CallCost, route: Route | None) -> str:
    """By what most was paid for; without prices a token out counts as five in."""
    whole, own = turn.whole, turn.cost
    if (whole.usd or 0, whole.tokens) > (2 * (own.usd or 0), 2 * own.tokens):
        dearest = max(turn.inner, key=lambda one: (one.whole.usd or 0, one.whole.tokens))
        return f"most of it is what {dearest.agent} was asked: ask it for less, or more seldom"
    usage, each, read = own.usage, 5.0, 1.0
    if route is not None:
        tariff = tariff_of(route, usage)
        read = tariff.read
        each = tariff.output / tariff.input if tariff.input and tariff.output else each
    told = usage.input - usage.cache_read * (1 - read)
    written = usage.output * each
    if written > told:
        share = round(100 * written / (written + told))
        if usage.reasoning * 2 > usage.output:
            return (
                f"{share} % is what it wrote, and most of that is thinking: lower"
                f" routes.{call.route}.options.reasoning_effort"
            )
        return f"{share} % is what it wrote: ask for less, or lower routes.{call.route}.max_tokens"
    steps = max(one.step for one in turn.calls)
    if steps > 2:
        return (
            f"{steps} steps read the prompt {steps} times: let tools do more at once, and answer"
            " shorter"
        )
    if turn.kind not in TALK:
        return "the prompt itself: a smaller model may do for this, on a route of its own"
    return f"the prompt itself: mentis why {turn.entry} says which blocks are large"
