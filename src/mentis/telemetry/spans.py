"""Spans around what an agent does. Where the program has not loaded OpenTelemetry, or samples
nothing of this, a span is silent: nothing is reckoned and nothing is said.

A span that is opened inside another one is its child, also in a worker thread or in acts done side
by side: both take the context of whoever starts them along.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

from mentis.errors import MentisError
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Outcome
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply, Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span as PromptSpan
from mentis.values.trace import Trace

from . import names
from .messages import answered_messages, as_json, asked_messages, without_keys

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Attribute: TypeAlias = str | bool | int | float | tuple[str, ...]
CorrectionNote: TypeAlias = tuple[
    str, tuple[str, ...]
]  # the block that asks again, and what failed
Kind: TypeAlias = Literal["INTERNAL", "CLIENT"]
_IN_PROCESS = ("embedded", "scripted", "replay")


@dataclass(slots=True)
class AgentScope:
    """Whose work is going on. `content`: what is said may be told, as the settings say once they
    are read; until then it may not.
    """

    agent: str
    name: str
    session: str = ""
    content: bool = False


_NOBODY = AgentScope("", "")
_CURRENT: ContextVar[AgentScope] = ContextVar("mentis_agent_scope", default=_NOBODY)


class LiveSpan:
    """A span while it is open. All that is said on a silent one is left out before it is made."""

    def __init__(self, span: Span | None, scope: AgentScope) -> None:
        self._span = span
        self.scope = scope

    @property
    def recording(self) -> bool:
        return self._span is not None

    def tell(self, attributes: Mapping[str, Attribute | None]) -> None:
        """What is None or empty is not known, and not told."""
        if self._span is not None:
            self._span.set_attributes(_known(attributes))

    def event(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._span is not None:
            self._span.add_event(name, attributes)

    def fail(self, kind: str, message: str, exception: str = "") -> None:
        """It ended in an error. The message of one can quote what was said."""
        if self._span is None:
            return
        tracing = sys.modules["opentelemetry.trace"]
        self._span.set_status(tracing.StatusCode.ERROR, kind)
        self._span.set_attribute(names.ERROR, kind)
        told = {names.EXCEPTION_TYPE: exception or kind}
        if self.scope.content:
            told[names.EXCEPTION_MESSAGE] = without_keys(message)
        self._span.add_event(names.EXCEPTION, told)

    def fail_with(self, error: BaseException) -> None:
        exception = type(error).__name__
        if isinstance(error, MentisError):
            self.fail(error.code, error.message, exception)
        else:
            self.fail(exception, str(error), exception)

    def tell_correction(self, correction: CorrectionNote | None) -> None:
        """It asks again: the block with which, and how much had failed."""
        if self._span is not None and correction is not None:
            block, failures = correction
            self.tell({names.CORRECTION: block, names.CORRECTION_FAILURES: len(failures)})
            if self.scope.content:
                self.tell({names.CORRECTION_REASONS: tuple(map(without_keys, failures))})

    # What came of it

    def tell_reply(self, reply: Reply) -> None:
        """The end of a model's answer."""
        if self._span is None:
            return
        self.tell(
            {
                names.RESPONSE_MODEL: reply.model,
                names.FINISH_REASONS: _finishes(reply),
                **usage_attributes(reply.usage),
                **(answered_messages(reply) if self.scope.content else {}),
            }
        )

    def tell_outcome(self, outcome: Outcome) -> None:
        """The end of an act; what is not done is an error."""
        if self._span is None:
            return
        self.tell({names.ACT_STATE: outcome.state})
        if self.scope.content and outcome.text:
            self.tell({names.TOOL_RESULT: without_keys(outcome.text)})
        if outcome.state != "done":
            self.fail(outcome.state, outcome.reason)

    def tell_end(self, reply: Reply, entry: Entry, *, stop: str, steps: int) -> None:
        """The end of a turn, with the entry that binds it."""
        if self._span is None:
            return
        self.tell_reply(reply)
        self.tell({names.STOP: stop, names.STEPS: steps, **entry_attributes(entry)})


@contextmanager
def agent_span(
    scope: AgentScope, route: Route, attributes: Mapping[str, Attribute | None]
) -> Generator[LiveSpan]:
    """Around one invocation of an agent: a turn, a tick, a question beside the conversation."""
    if _tracing() is None:
        yield LiveSpan(None, scope)
        return
    about: dict[str, Attribute | None] = {
        names.PROVIDER: provider_name(route),
        names.REQUEST_MODEL: route.model,
        **attributes,
    }
    before = _CURRENT.set(scope)
    try:
        with operation(names.INVOKE_AGENT, scope.name, about) as live:
            yield live
    finally:
        _CURRENT.reset(before)


@contextmanager
def chat_span(
    route: Route,
    request: PromptRequest,
    trace: Trace,
    rendering: Rendering,
    *,
    correction: CorrectionNote | None = None,
) -> Generator[LiveSpan]:
    """Around one call of a model; with a `correction` it asks once more for what failed."""
    if _tracing() is None:
        yield LiveSpan(None, _NOBODY)
        return
    kind: Kind = "INTERNAL" if route.backend in _IN_PROCESS else "CLIENT"
    about = {**_request_attributes(route), names.REQUEST_STREAM: kind == "CLIENT" or None}
    with operation(names.CHAT, route.model, about, kind=kind) as live:
        if live.recording:
            spans = (*request.system_instruction, *request.context_summary, *request.prefill)
            live.tell(
                {
                    names.ROUTE: route.name,
                    names.PAYLOAD: rendering.digest,
                    names.LIBRARY: trace.library,
                    names.BLOCKS: block_digests(spans),
                    **(asked_messages(request) if live.scope.content else {}),
                }
            )
            live.tell_correction(correction)
        yield live


@contextmanager
def tool_span(call: ActCall, spec: ActSpec) -> Generator[LiveSpan]:
    """Around one act while it is done."""
    if _tracing() is None:
        yield LiveSpan(None, _NOBODY)
        return
    about: dict[str, Attribute | None] = {
        names.TOOL_NAME: spec.name,
        names.TOOL_TYPE: names.FUNCTION,
        names.TOOL_CALL: call.action.call_id,
        names.TOOL_DESCRIPTION: spec.declaration.description,
        names.ACT_KEY: call.key,
        names.ACT_SOURCE: spec.source,
    }
    with operation(names.EXECUTE_TOOL, spec.name, about) as live:
        if live.recording and live.scope.content:
            live.tell({names.TOOL_ARGUMENTS: as_json(dict(call.action.payload))})
        yield live


@contextmanager
def embedding_span(fingerprint: str, texts: int) -> Generator[LiveSpan]:
    """Around texts that are embedded anew."""
    if _tracing() is None:
        yield LiveSpan(None, _NOBODY)
        return
    model = fingerprint.partition("/")[0].partition("+")[0]
    about: dict[str, Attribute | None] = {
        names.PROVIDER: names.EMBEDDER,
        names.REQUEST_MODEL: model,
        names.TEXTS: texts,
    }
    with operation(names.EMBEDDINGS, model, about) as live:
        yield live


@contextmanager
def operation(
    name: str, whom: str, attributes: Mapping[str, Attribute | None], *, kind: Kind = "INTERNAL"
) -> Generator[LiveSpan]:
    """A span of that operation, current while it is open; an error that leaves it is its own."""
    tracing, scope = _tracing(), _CURRENT.get()
    if tracing is None:
        yield LiveSpan(None, scope)
        return
    about = {
        names.OPERATION: name,
        names.AGENT_ID: scope.agent,
        names.AGENT_NAME: scope.name,
        names.CONVERSATION: scope.session,
        **attributes,
    }
    started = tracing.get_tracer(names.SCOPE).start_span(
        f"{name} {whom}".rstrip(), kind=tracing.SpanKind[kind], attributes=_known(about)
    )
    live = LiveSpan(started if started.is_recording() else None, scope)
    # Also one that records nothing: what is below it follows the same decision.
    with tracing.use_span(started, True, False, False):
        try:
            yield live
        except Exception as error:
            live.fail_with(error)
            raise
        except BaseException:  # whoever cancels it does not call it an error
            live.tell({names.INTERRUPTED: True})
            raise


# Attributes


def usage_attributes(usage: Usage | None) -> dict[str, Attribute | None]:
    if usage is None:
        return {}
    return {
        names.INPUT_TOKENS: usage.input,
        names.OUTPUT_TOKENS: usage.output,
        names.CACHE_READ: usage.cache_read,
        names.CACHE_WRITE: usage.cache_write,
        names.REASONING_TOKENS: usage.reasoning or None,
    }


def entry_attributes(entry: Entry) -> dict[str, Attribute | None]:
    return {names.ENTRY: entry.hash, names.ENTRY_INDEX: entry.index}


def provider_name(route: Route) -> str:
    """Who is asked, as the conventions call them: by their address, else by the format."""
    host = urlsplit(route.url).hostname or ""
    for end, name in names.HOSTS.items():
        if host == end or host.endswith((f".{end}", f"-{end}")):
            return name
    return names.PROVIDERS[route.backend]


def block_digests(spans: Iterable[PromptSpan]) -> tuple[str, ...]:
    """Each block of a prompt with the digest of the text that it came to, in their order."""
    texts: dict[str, list[str]] = {}
    for span in spans:
        if span.block:
            texts.setdefault(span.block, []).append(span.text)
    encoded = ((block, "".join(text).encode(errors="replace")) for block, text in texts.items())
    return tuple(f"{block} {digest(text)}" for block, text in encoded)


def _request_attributes(route: Route) -> dict[str, Attribute | None]:
    options, place = route.options, urlsplit(route.url)
    port = place.port or (443 if place.scheme == "https" else 80)
    return {
        names.PROVIDER: provider_name(route),
        names.REQUEST_MODEL: route.model,
        names.SERVER: place.hostname,
        names.PORT: port if place.hostname else None,
        names.MAX_TOKENS: route.max_tokens,
        names.TEMPERATURE: route.temperature,
        names.TOP_P: options.top_p,
        names.TOP_K: options.top_k,
        names.FREQUENCY_PENALTY: options.frequency_penalty,
        names.PRESENCE_PENALTY: options.presence_penalty,
        names.STOP_SEQUENCES: options.stop,
        names.SEED: route.seed,
    }


def _finishes(reply: Reply) -> tuple[str, ...]:
    return (names.FINISHES.get(reply.stop, reply.stop),)


def _known(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    told = ((name, value) for name, value in attributes.items())
    return {name: value for name, value in told if value is not None and value not in ("", ())}


def _tracing() -> ModuleType | None:
    """Whoever uses it has loaded it; nobody else pays for it."""
    return sys.modules.get("opentelemetry.trace")
