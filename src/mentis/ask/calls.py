"""The answered calls of one turn, and the one reply they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

from mentis.codec.forms import to_json, to_object
from mentis.compose.compose import Composition
from mentis.record.inputs import PromptInputs
from mentis.values.digest import Digest, digest
from mentis.values.memo import IdentityMemo
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply, Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.trace import Attempt, Trace
from mentis.values.value import Value

_BROKEN = ("error", "cut_off")
_KEEPS = "correction_partial"
_DIGESTS = IdentityMemo[Digest](64)


@dataclass(frozen=True, slots=True)
class ModelCall(Value):
    """`failed` is what was wrong with the answer; `then` the block that asked again, or why not.

    `sent` False: the request was refused or never left, so that nobody charges for it. `whole` are
    the words with the window they open with, where one was asked for; `asked_at` is when it went
    out.
    """

    route: Route
    composed: Composition
    rendering: Rendering
    reply: Reply
    failed: tuple[str, ...] = ()
    then: str = ""
    sent: bool = True
    inputs: PromptInputs | None = None
    whole: str | None = None
    asked_at: datetime | None = None

    @property
    def planned_usage(self) -> Usage | None:
        """What is counted where nothing was reported; None where something was, or nobody asked."""
        if self.reply.usage is not None or not self.sent:
            return None
        return planned_usage(prompt_tokens(self.composed.trace), self.route)

    def usage_fields(self) -> Mapping[str, object]:
        """What the record says that was used: `usage` as reported, or `planned`, an estimate."""
        usage, plan = self.reply.usage, self.planned_usage
        if usage is not None:
            return {"usage": to_object(usage)}
        return {} if plan is None else {"planned": to_object(plan)}

    def attempt(self) -> Attempt:
        return Attempt(self.route.name, self.reply.stop, self.failed, self.then)

    def place(self) -> dict[str, object]:
        route = self.route
        return {"name": route.name, "backend": route.backend, "model": route.model}

    def entry_fields(self) -> Mapping[str, object]:
        """What the entry of the turn says about it."""
        told: dict[str, object] = {
            "route": self.place(),
            "stop": self.reply.stop,
            "then": self.then,
            "failed": len(self.failed),
            "request": request_digest(self.composed.request),
            "payload": self.rendering.digest,
            "reply": _DIGESTS.remember(_value_digest, self.reply),
        }
        return {**told, **self.usage_fields()}


def request_digest(request: PromptRequest) -> Digest:
    """Worked out once: calls, steps and the entry of a turn name the same requests."""
    return _DIGESTS.remember(_value_digest, request)


def _value_digest(value: Value) -> Digest:
    return digest(to_json(value))


def prompt_tokens(trace: Trace) -> int:
    counted = trace.tokens
    return sum(counted[name].tokens for name in ("total", "framing") if name in counted)


def planned_usage(prompt: int, route: Route) -> Usage:
    """The most that a call may come to: its longest answer, and the whole prompt cached anew."""
    return Usage(prompt, route.max_tokens, cache_write=prompt if route.caching else 0)


def combine_replies(calls: Sequence[ModelCall]) -> Reply:
    """One reply: the last answer, after those parts of earlier ones that stand.

    Earlier errors were mended by what followed, and are in the attempts; a correction that broke
    off changes nothing. `raw` and `usage` are of all calls.
    """
    if len(calls) == 1:
        return calls[0].reply
    replies = [call.reply for call in standing(calls)]
    return replace(
        replies[-1],
        text="\n\n".join(reply.text for reply in replies if reply.text),
        reasoning="\n\n".join(reply.reasoning for reply in replies if reply.reasoning),
        actions=tuple(action for reply in replies for action in reply.actions),
        parts=tuple(part for reply in replies for part in reply.parts),
        notes=tuple(note for reply in replies for note in reply.notes),
        usage=total(call.reply.usage for call in calls),
        raw=tuple(event for call in calls for event in call.reply.raw),
    )


def total(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of what was reported; None when nobody reported anything."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    names = [one.name for one in fields(Usage)]
    return Usage(**{name: sum(getattr(usage, name) for usage in known) for name in names})


def standing(calls: Sequence[ModelCall]) -> list[ModelCall]:
    """Those whose answers count: none that another one took the place of."""
    kept: list[ModelCall] = []
    for call in calls:
        if kept and call.reply.stop in _BROKEN:
            continue
        if kept and kept[-1].then != _KEEPS:
            kept.pop()
        kept.append(call)
    return kept
