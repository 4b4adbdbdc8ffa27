"""One call of one handler. Whatever foreign code does, there is an outcome, and it can be recorded.

Only being cancelled from outside, and Ctrl-C, come out of here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast, get_args

from anyio import current_time, get_cancelled_exc_class, move_on_after
from anyio.lowlevel import checkpoint_if_cancelled

from mentis.ports.act_handler import ActHandler
from mentis.values.act import ActCall, ActSpec, asks_agent
from mentis.values.action import InnerTurn, Outcome, OutcomeState
from mentis.values.part import MediaPart
from mentis.values.trust import Trust

from .briefs import clean, join_reasons, short

_OURS = "builtin"
_STATES = frozenset(get_args(OutcomeState)) - {"waiting"}  # that is for the gate to say


async def do(handler: ActHandler, call: ActCall, spec: ActSpec) -> Outcome:
    """Do it within its time."""
    with move_on_after(spec.timeout_seconds) as time:
        try:
            answer = await handler.handle(call)
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001  # a handler is foreign code
            # What it says while it is being cancelled does not count.
            await checkpoint_if_cancelled()
            _let_through(error)
            return failed_outcome(call, spec, "crashed", _told(error))
        outcome = _checked(answer, call, spec)
        # It held up the whole loop, or would not be cancelled: that it came to an end after all
        # does not make it one that kept its time.
        return _late(outcome, spec) if current_time() >= time.deadline else outcome
    limit = f"it was ended after {spec.timeout_seconds:g} seconds; how far it came is not known"
    return failed_outcome(call, spec, "timeout", limit)


def _late(outcome: Outcome, spec: ActSpec) -> Outcome:
    note = f"it answered {outcome.state!r}, but only after its {spec.timeout_seconds:g} seconds"
    return replace(outcome, state="timeout", reason=short(join_reasons(note, outcome.reason)))


def failed_outcome(call: ActCall, spec: ActSpec, state: OutcomeState, reason: str) -> Outcome:
    return Outcome(call.action, state, reason=short(reason), key=call.key, source=spec.source)


def _let_through(error: BaseException) -> None:
    """Ctrl-C is meant for us, however deep it was heard."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        if group.subgroup(KeyboardInterrupt) is not None:
            raise KeyboardInterrupt from error


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it tried to end the process (SystemExit: {error.code!r:.100})"
    if isinstance(error, get_cancelled_exc_class()):
        return "it cancelled itself"
    try:
        said = str(error)
    except Exception:  # noqa: BLE001  # even this is the handler's code
        said = "an error that cannot be told"
    return f"{type(error).__name__}: {said}"


def _checked(answer: object, call: ActCall, spec: ActSpec) -> Outcome:
    """The handler's answer, if it is one; who asked for what is not for the handler to say."""
    if not isinstance(answer, Outcome):
        return failed_outcome(call, spec, "crashed", f"it answered with {type(answer).__name__}")
    fault = _fault(answer)
    if fault:
        return failed_outcome(call, spec, "crashed", fault)
    text, note = clean(answer.text)
    return replace(
        answer,
        action=call.action,
        text=text,
        reason=short(join_reasons(answer.reason, note)),
        trust=_trust_of(answer, spec),
        key=call.key,
        source=spec.source,
        screening=answer.screening if spec.source == _OURS else None,
        turn=answer.turn if asks_agent(spec) else None,
    )


def _are_media(media: object) -> bool:
    if not isinstance(media, tuple):
        return False
    parts = cast("tuple[object, ...]", media)
    return all(isinstance(one, MediaPart) and bool(one.data) and not one.url for one in parts)


def _trust_of(answer: Outcome, spec: ActSpec) -> Trust:
    """What comes from outside is untrusted, whatever it says of itself."""
    if spec.source == _OURS:
        return answer.trust
    return Trust.OWNER if spec.trusted else Trust.UNTRUSTED


def _fault(answer: Outcome) -> str:
    if answer.state not in _STATES:
        return f"it answered with the state {answer.state!r:.100}"
    for name, kind in (("text", str), ("reason", str), ("blob", str), ("size", int)):
        value: object = getattr(answer, name)
        if type(value) is not kind:
            return f"the {name} of its answer is {type(value).__name__}, not {kind.__name__}"
    if not _are_media(answer.media):
        return "the media of its answer are not all media parts with their bytes"
    if not isinstance(answer.turn, InnerTurn | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign code
        return "the turn of its answer is none"
    if not isinstance(answer.trust, Trust):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign code
        return "the trust of its answer is none"
    return ""
