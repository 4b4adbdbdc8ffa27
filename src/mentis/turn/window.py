"""The model's own window: asked for in the prompt, taken out of the answer, judged and recorded.

With `status.window = "model"` every answer opens with one, that of a tick too. What it announces is
held against what was done, and the next turn, or tick, is told what came of that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import cast

from mentis.codec.forms import to_object
from mentis.errors import MentisError, StoreLocked, WindowRefused
from mentis.facts.abilities import abilities
from mentis.ledger.guardian.response import check_response, find_window
from mentis.ledger.guardian.state import with_routes
from mentis.ports.entries import Stamp
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_turns import BROKEN
from mentis.record.window_stamp import WindowStamp
from mentis.record.window_state import WINDOW, WindowStateFollower, derive_state
from mentis.settings.settings import Settings
from mentis.settle.claims import claims
from mentis.settle.correction import Attempts, Failure
from mentis.settle.window import WindowHoldback, split_window
from mentis.status.add import DIRECT
from mentis.status.contexts import read_context, read_project
from mentis.status.desk import folder_of, rules_of
from mentis.stores.files.home import Home
from mentis.values.action import Outcome
from mentis.values.cognition import Sense
from mentis.values.entry import Before, Draft, Entry
from mentis.values.guardian import GuardianProfile, GuardianState
from mentis.values.inventory import KIND as INVENTORY
from mentis.values.json import JsonObject
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trace import Degradation
from mentis.values.trust import Trust
from mentis.values.value import Value
from mentis.values.written import dump

BLOCK = "status_window"
REFUSED = "refused_window"
CLAIMS = "claims"
WITHHELD = "withheld"
VERDICT = "window_verdict"
PART = "status window"  # that is degraded, where none can be asked for
WINDOW_TOKENS = 1024  # that an answer may have more, where it opens with one
CARRIED_BYTES = 8 * 1024  # of a context that is told with every window
LOOKED_BACK = 16  # turns among which the last one is that was no thought
_NAME = re.compile(r"[\w.:/-]{1,64}")
_BOUND = "is held to a schema of calls, so its answers cannot open with a window"


@dataclass(frozen=True, slots=True)
class WindowRequest(Value):
    """That windows are asked for, by which rules and in which state the next one is judged, and
    what the last one came to: for a turn, and for a tick. `carried` is what it should carry.
    """

    state: GuardianState
    profile: GuardianProfile
    verdict: tuple[Span, ...] = ()
    sensed: tuple[Sense, ...] = ()
    carried: Mapping[str, object] = field(default_factory=dict[str, object])


def ask_for_windows(
    record: AgentRecord, home: Home, settings: Settings
) -> WindowRequest | Degradation | None:
    """None where they are off; what is wrong, where they cannot be judged. It blocks."""
    if settings.model.status.window != "model":
        return None
    try:
        profile = rules_of(home, settings)
        state = with_routes(derive_state(record.ledger, record.agent), DIRECT)
    except MentisError as error:
        return Degradation(PART, f"none is asked for: {error.message}")
    entries = _lately(record)
    return WindowRequest(
        state,
        profile,
        verdict_spans(entries),
        verdict_senses(entries),
        _carried(record.agent, home, settings),
    )


def _carried(agent: str, home: Home, settings: Settings) -> dict[str, object]:
    """The owner's context and what is known of the project; a file that cannot be told says why."""
    folder = folder_of(home, agent.rpartition("/")[2], settings)
    told: dict[str, object] = {}
    for name, read in (
        ("persistent_context", lambda: read_context(folder, "persistent_context")),
        ("project_awareness", lambda: read_project(folder, settings, agent)),
    ):
        try:
            found = read()
            if len(dump(found)) > CARRIED_BYTES:
                told[name] = {"unreadable": f"longer than {CARRIED_BYTES} bytes"}
            elif found:
                told[name] = found
        except MentisError as error:
            told[name] = {"unreadable": error.message}
    return told


# Before the call


def window_values(
    asked: WindowRequest | None, route: Route, *, tools: bool
) -> tuple[dict[str, object], tuple[Degradation, ...]]:
    """What switches the blocks on that ask for a window, and why it cannot be, where it cannot."""
    if asked is None:
        return {}, ()
    if tools and abilities(route).calls == "bound":
        return {}, (Degradation(PART, f"route {route.name!r} {_BOUND}"),)
    return {BLOCK: "on", "status_state": _state(asked)}, ()


def _state(asked: WindowRequest) -> str:
    """One line of JSON: a model reads it in any language."""
    state = asked.state
    told: dict[str, object] = {
        "step_id": state.step_id,
        "cycle": state.cycle_text,
        "audit_due": state.audit_due,
        "after_breach": state.after_breach,
    }
    told |= {"unsure": True} if state.unsure else {}
    return dump(told | dict(asked.carried)).decode()


def opening_for(request: PromptRequest) -> WindowHoldback | None:
    """What takes the window, where the prompt asks for one."""
    return WindowHoldback() if asks_for_window(request.system_instruction) else None


def asks_for_window(spans: Iterable[Span]) -> bool:
    """The owner may have switched the block off."""
    return any(span.block == BLOCK for span in spans)


# After it


def window_failures(
    whole: str | None, asked: WindowRequest | None, attempts: Attempts
) -> tuple[Failure, ...]:
    """What the guardian blocks of a whole answer, as failures to be corrected. Once no call is left
    that could mend it, the answer stands: a window keeps nobody from acting, and the record says
    what it was.
    """
    if whole is None or asked is None or attempts.calls >= attempts.budget:
        return ()
    judged = check_response(whole, asked.state, asked.profile)
    blocking = (finding for finding in judged.findings if finding.level == "block")
    return tuple(
        Failure("rule", f"{one.rule} {one.where}: {one.what}; {one.hint}") for one in blocking
    )


def window_fields(
    asked: WindowRequest | None,
    answers: Iterable[str | None],
    outcomes: Sequence[Outcome],
    *,
    known: Collection[str] = (),
    broken: bool = False,
) -> dict[str, object]:
    """What an entry says of the window: the first good one of the answers, as they came.

    Where all are refused, the last of them under another name, with the judgement. What was kept
    from the reader and is no window that can be read stands there as it was written; of an answer
    that broke off nothing else is said.
    """
    whole = [answer for answer in answers if answer is not None]
    if asked is None or not whole:
        return {}
    for answer in whole:
        if not check_response(answer, asked.state, asked.profile).blocked:
            window = find_window(answer)[1]
            return {WINDOW: window, CLAIMS: to_object(claims(window, outcomes, known))}
    withheld = split_window(whole[-1], broken=broken).withheld
    if broken:
        return {WITHHELD: withheld} if withheld else {}
    judged = check_response(whole[-1], asked.state, asked.profile)
    window = find_window(whole[-1])[1]
    told: dict[str, object] = {"judgement": to_object(judged)}
    if window:
        told |= {REFUSED: window, CLAIMS: to_object(claims(window, outcomes, known))}
    elif withheld:
        told[WITHHELD] = withheld
    return told


def turn_stamp(record: AgentRecord, asked: WindowRequest | None) -> Stamp:
    """The stamp for a turn that may carry a window. Nothing about the window blocks the entry."""
    plain = record.stamp()
    if asked is None:
        return plain
    follower = WindowStateFollower(record.ledger, record.agent)
    windows = WindowStamp(follower, asked.profile, DIRECT, clock=record.clock, ids=record.ids)

    def stamp(agent: str, head: Before | None, draft: Draft) -> Entry:
        if draft.kind == INVENTORY:  # what is kept is bound before it
            with suppress(StoreLocked):
                follower.at(head)
            entry = plain(agent, head, draft)
            follower.pass_by(entry)
            return entry
        try:
            return windows(agent, head, draft)
        except (WindowRefused, StoreLocked) as refusal:
            return plain(agent, head, replace(draft, body=_refused(draft.body, refusal)))

    return stamp


def _refused(body: JsonObject, refusal: MentisError) -> JsonObject:
    """The state it was judged by is not the one it follows: others wrote in between."""
    kept = {name: value for name, value in body.items() if name != WINDOW}
    judged = refusal.facts.get("judgement")
    told: dict[str, object] = {REFUSED: body[WINDOW], "refusal": refusal.message}
    return {**kept, **told, **({"judgement": judged} if judged else {})}


# What the next turn and the next tick are told


def verdict_spans(entries: Sequence[Entry]) -> tuple[Span, ...]:
    """For the news of a turn; of the runtime, and so without a word of the window's own."""
    told = _last_verdict(entries)
    if told is None:
        return ()
    entry, verdict = told
    return (
        Span(
            dump({"sense": VERDICT, **verdict}).decode(),
            source=f"window {entry.index}",
            trust=Trust.RUNTIME,
            stability=Stability.TURN,
            reason="what the window before this one came to",
        ),
    )


def verdict_senses(entries: Sequence[Entry]) -> tuple[Sense, ...]:
    """For a tick: `entries` are the latest turns and ticks, oldest first."""
    told = _last_verdict(entries)
    if told is None:
        return ()
    entry, verdict = told
    return (Sense(f"{VERDICT}:{entry.index}", VERDICT, verdict, Trust.RUNTIME),)


def _lately(record: AgentRecord) -> Sequence[Entry]:
    """The latest turns and ticks, back to one that was heard: those that failed may be many."""
    count = LOOKED_BACK
    while True:
        entries = record.latest(count, kind="turn")
        if len(entries) < count or not all(map(_tells_nothing, entries)):
            return entries
        count *= 8


def _last_verdict(entries: Sequence[Entry]) -> tuple[Entry, dict[str, object]] | None:
    """Of the newest turn or tick that has one, or has heard the one before it."""
    for entry in reversed(entries):
        if _tells_nothing(entry):
            continue
        found = _object(entry.body.get(CLAIMS))
        return (entry, _told(entry, found)) if found else None
    return None


def _tells_nothing(entry: Entry) -> bool:
    """What was thought in between has no window; who got no answer has told nobody a verdict. A
    fork is nobody's turn: what it was told of, the agent has not heard.
    """
    turn, tick = _object(entry.body.get("turn")), _object(entry.body.get("tick"))
    broken_off = turn.get("stop") in BROKEN and "acted" not in entry.body  # before the first word
    unheard = broken_off or "failure" in turn or bool(tick.get("unheard"))
    beside = "inner" in turn or "fork" in entry.body
    return beside or (unheard and CLAIMS not in entry.body)


def _told(entry: Entry, found: Mapping[str, object]) -> dict[str, object]:
    each = [_object(one) for one in cast("Sequence[object]", found.get("claims") or ())]
    names = {
        verdict: _names(one.get("act") for one in each if one.get("verdict") == verdict)
        for verdict in ("match", "unsupported")
    }
    told: dict[str, object] = {
        "entry": entry.index,
        "verdict": str(found.get("verdict")),
        **{verdict: acts for verdict, acts in names.items() if acts},
        "unverifiable": sum(one.get("verdict") == "unverifiable" for one in each),
    }
    unclaimed = _names(cast("Sequence[object]", found.get("unclaimed") or ()))
    return told | ({"unclaimed": unclaimed} if unclaimed else {})


def _names(found: Iterable[object]) -> list[str]:
    """Names of acts only, whatever stands there."""
    texts = (one for one in found if isinstance(one, str) and _NAME.fullmatch(one))
    return list(dict.fromkeys(texts))


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
