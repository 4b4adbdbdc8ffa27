"""Python functions as acts: `@act` reads signature and docstring, and the result is a handler.

A blocking function runs in a thread. Cut off by its deadline it is left behind, for threads cannot
be stopped; an `async` one ends at its next `await`. A function that ends the process (`os._exit`)
ends ours: the intent in the record says at the next start what was being done.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, get_args, overload

from mentis.errors import (
    ActFailed,
    ActFailure,
    BadInput,
    Defect,
    MentisError,
    UserError,
    WorldError,
)
from mentis.ports.act_handler import ActHandler
from mentis.values.act import ActCall, ActSpec, Scope
from mentis.values.action import Outcome, OutcomeState
from mentis.values.block import Mode, OldMode, mode_named
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .docstrings import read_docstring
from .options import refuse_types
from .printing import capture_prints
from .registry import Registry
from .returned import content_of
from .signatures import FunctionSignature, name_of, read_signature, unwrap_partial
from .threads import Threads

if TYPE_CHECKING:
    from pydantic import ValidationError

P = ParamSpec("P")
R = TypeVar("R")
_MOST_SAID = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ActOptions:
    """What the decorator takes. An empty name or description is that of the function."""

    name: str = ""
    description: str = ""
    scope: Scope = "core"
    external_effects: bool = False
    idempotent: bool = False
    timeout_seconds: float = 60.0
    concurrency: int = 0
    endpoint: str = ""
    modes: tuple[Mode | OldMode, ...] = ()
    strict: bool | None = None
    trusted: bool = False
    reference: bool = False


class FunctionAct(Generic[P, R]):
    """A function that can be called as ever, and that a registry takes as a handler."""

    def __init__(
        self,
        function: Callable[P, R],
        options: ActOptions,
        around: Mapping[str, object] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        told = read_docstring(unwrap_partial(function).__doc__)
        self._function = function
        self._waits = _is_async(function)
        self._signature: FunctionSignature = read_signature(function, told.parameters, around or {})
        self._spec = _spec(function, options, told.description, self._signature)
        self._threads = Threads(self._spec.name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    @property
    def spec(self) -> ActSpec:
        return self._spec

    def of(self, source: str) -> FunctionAct[P, R]:
        """The same act, told to come from there."""
        other = copy(self)
        other._spec = replace(self._spec, source=source)  # noqa: SLF001  # of its own class
        return other

    async def handle(self, call: ActCall) -> Outcome:
        from pydantic import ValidationError

        try:
            arguments = self._signature.arguments(call)
        except ValidationError as error:
            return self._outcome(call, "invalid", reason=_told(error))
        if self._waits:
            return await self._await(call, arguments)
        return await self._block(call, arguments)

    async def _await(self, call: ActCall, arguments: dict[str, object]) -> Outcome:
        function = cast("Any", self._function)
        with capture_prints(self._spec.name):
            try:
                return self._answer(call, await function(**arguments))
            except (Exception, SystemExit) as error:  # noqa: BLE001  # foreign code: its failure is an outcome
                return self._failure(call, error)

    async def _block(self, call: ActCall, arguments: dict[str, object]) -> Outcome:
        function = cast("Any", self._function)

        def work() -> Outcome:
            with capture_prints(self._spec.name):
                try:
                    return self._answer(call, function(**arguments))
                except BaseException as error:  # noqa: BLE001  # the same, and the thread is ours
                    return self._failure(call, error)

        try:
            return await self._threads.run(work)
        except ActFailed as error:
            return self._failure(call, error)

    def _answer(self, call: ActCall, result: object) -> Outcome:
        """A function's own outcome keeps its words, but not its say on whose it is or its trust."""
        if isinstance(result, Outcome):
            own = replace(result, action=call.action, key=call.key, trust=Trust.UNTRUSTED)
            return replace(own, source=self._spec.source)
        try:
            text, media = content_of(result)
            return replace(self._outcome(call, "done", text=text), media=media)
        except BadInput as error:
            return self._outcome(call, "crashed", reason=error.message)

    def _failure(self, call: ActCall, error: BaseException) -> Outcome:
        state, reason = failure_of(error)
        return self._outcome(call, state, reason=reason)

    def _outcome(
        self, call: ActCall, state: OutcomeState, *, text: str = "", reason: str = ""
    ) -> Outcome:
        source = self._spec.source
        return Outcome(call.action, state, text=text, reason=reason, key=call.key, source=source)


@overload
def act(function: Callable[P, R], /) -> FunctionAct[P, R]: ...
@overload
def act(
    *,
    name: str = "",
    description: str = "",
    scope: Scope = "core",
    external_effects: bool = False,
    idempotent: bool = False,
    timeout_seconds: float = 60.0,
    concurrency: int = 0,
    endpoint: str = "",
    modes: tuple[Mode | OldMode, ...] = (),
    strict: bool | None = None,
    trusted: bool = False,
    reference: bool = False,
) -> Callable[[Callable[P, R]], FunctionAct[P, R]]: ...
def act(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> FunctionAct[..., Any] | Callable[[Callable[..., Any]], FunctionAct[..., Any]]:
    """Make a function a tool: `@tool`, or `@tool(scope="message", external_effects=True)`.

    Its name, description and parameters are those of the function; a parameter annotated with
    `ActCall` is given the call (its key, its session) and not told to the model. It may be async.
    It returns text, None, what JSON can say, media (a `MediaPart`, bytes of a picture, a list with
    some), or an `Outcome`; it raises `ActFailed` to say why it
    did not act. What it says is text from outside, screened and fenced, unless you vouch for all
    of it with `trusted=True`. With `reference=True` you say that nobody outside can write what it
    answers (contacts, prices, opening hours), so that its values do not taint. BadInput when a
    parameter has no type or nothing describes it.
    """
    # A function inside a function may name types that only its surroundings know.
    around = sys._getframe(1).f_locals  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # as pydantic does
    given = ActOptions(**options)

    def made(plain: Callable[..., Any]) -> FunctionAct[..., Any]:
        nested = "<locals>" in name_of(plain)
        return FunctionAct(plain, given, around if nested else None)

    return made if function is None else made(function)


tool = act  # its name at the root of the package


class DeferredTool:
    """A tool that is only declared: a call of it ends the turn, and the caller executes it."""

    def __init__(self, declaration: ToolDeclaration) -> None:
        self._spec = ActSpec(declaration, source="caller", modes=("chat",), deferred=True)

    @property
    def spec(self) -> ActSpec:
        return self._spec

    async def handle(self, call: ActCall) -> Outcome:
        raise Defect("a deferred tool is executed by the caller", tool=call.action.type)


def deferred_specs(declared: Iterable[ToolDeclaration]) -> tuple[ActSpec, ...]:
    """What the caller of one turn executes, checked as every act is, in its order."""
    registry, names = Registry(), list[str]()
    for one in declared:
        registry.add(DeferredTool(one))
        names.append(one.name)
    return tuple(spec for name in names if (spec := registry.spec(name)))


def as_handler(given: ActHandler | ToolDeclaration | Callable[..., object]) -> ActHandler:
    """A function becomes an act by its signature and docstring, a declaration a deferred tool."""
    if isinstance(given, ToolDeclaration):
        return DeferredTool(given)
    if hasattr(given, "spec") and hasattr(given, "handle"):
        return cast("ActHandler", given)
    return cast("ActHandler", act(cast("Callable[..., object]", given)))


def _spec(
    function: Callable[..., object], options: ActOptions, told: str, signature: FunctionSignature
) -> ActSpec:
    refuse_types(options, name_of(function))
    name = options.name or getattr(function, "__name__", "")
    description = options.description or told
    if not name.replace("<lambda>", "") or not description.strip():
        missing = "description" if name.replace("<lambda>", "") else "name"
        raise BadInput(
            f"{name_of(function)} has no {missing}, and a model would have to guess what it does",
            hint=f"write a docstring, or @act({missing}=...)",
            function=name_of(function),
        )
    declaration = ToolDeclaration(
        name,
        description,
        signature.schema,
        external_effects=options.external_effects,
        idempotent=options.idempotent,
        strict=options.strict,
        reference=options.reference,
    )
    return ActSpec(
        declaration,
        options.scope,
        endpoint=options.endpoint,
        modes=tuple([mode_named(name) for name in options.modes]),
        timeout_seconds=options.timeout_seconds,
        concurrency=options.concurrency,
        trusted=options.trusted,
    )


def _is_async(function: Callable[..., object]) -> bool:
    plain = unwrap_partial(function)
    own_call = getattr(type(plain), "__call__", None)  # noqa: B004  # what it is, not whether
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(own_call)


def failure_of(error: BaseException) -> tuple[OutcomeState, str]:
    """What was raised, as a state and one text. A traceback is for the log, not for a model."""
    match error:
        case ActFailed():
            return _given(error)
        case BadInput():
            return "invalid", _cut(error.message)
        case UserError():
            return "refused", _cut(error.message)
        case WorldError():
            return "unavailable", _cut(error.message)
        case MentisError():
            return "crashed", _cut(f"{error.code}: {error.message}")
        case _:
            return "crashed", _cut(_said(error))


def _given(error: ActFailed) -> tuple[OutcomeState, str]:
    """What was raised has failed, also when it says otherwise."""
    if error.state in get_args(ActFailure):
        return error.state, _cut(error.message)
    return "crashed", _cut(f"{error.message} (with {error.state!r:.80}, no failure's state)")


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # foreign code again: even its words may fail
        return type(error).__name__


def _told(error: ValidationError) -> str:
    """Where and why, in words for the model that wrote the payload."""
    found = [
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return _cut("; ".join(found))


def _cut(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…"
