"""Judges and stamps a window inside the write transaction: by the very state it will follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from mentis.codec.canon import canonical
from mentis.codec.forms import to_object
from mentis.errors import Defect, WindowRefused
from mentis.ledger.chain import format_time, hash_entry, make_stamp
from mentis.ledger.guardian.case import NOTHING_KNOWN, Case, Commit, Operations
from mentis.ledger.guardian.judge import judge_commit, judge_draft
from mentis.ledger.guardian.profiles import digest_of, level_of
from mentis.ledger.guardian.reading import object_at, texts_at
from mentis.ledger.guardian.rules_health import missing_foundation
from mentis.ledger.guardian.rules_protocol import PLACE, misplaced
from mentis.ledger.guardian.rules_stamped import attempts
from mentis.ledger.guardian.stamp import stamp_window
from mentis.ledger.guardian.state import with_routes
from mentis.ledger.guardian.table import BY_ID
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.values.digest import digest
from mentis.values.entry import Before, Draft, Entry
from mentis.values.guardian import (
    GuardianProfile,
    GuardianState,
    Judgement,
    Routes,
    RuleFinding,
)
from mentis.values.json import JsonObject

from .window_state import WINDOW, WindowStateFollower, state_fields

_CLOCK = "S2-CHRONOS-FRESH"  # which the clock can break, and nobody else here


class WindowStamp:
    """A stamp for drafts of windows. Several threads may use one: the store runs one at a time."""

    def __init__(
        self,
        follower: WindowStateFollower,
        profile: GuardianProfile,
        routes: Routes,
        *,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._follower = follower
        self._profile = profile
        self._rules = digest_of(profile)
        self._routes = routes
        self._clock = clock
        self._ids = ids
        self.judgement: Judgement | None = None  # of the last window
        self.before = 0  # how many entries the store had when that was stamped

    def __call__(self, agent: str, head: Before | None, draft: Draft) -> Entry:
        moment = self._clock.now()
        self.before = 0 if head is None else head.index + 1
        plain = make_stamp(lambda: moment, self._ids.salt, self._clock.uptime)
        if WINDOW not in draft.body:
            return plain(agent, head, draft)
        state = with_routes(self._follower.at(head), self._routes)
        window = cast("JsonObject", draft.body[WINDOW])
        facts = Operations(unclaimed=_unclaimed(draft.body))
        judgement = judged_or_refused(window, state, self._profile, facts=facts)
        time = format_time(moment)

        def stamp(judgement: Judgement) -> tuple[Entry, JsonObject]:
            made: list[Entry] = []

            def digest(stamped: JsonObject) -> str:
                # The hash of a window is that of its entry, which covers the window without it.
                body = {**draft.body, WINDOW: stamped, **self._beside(window, judgement, state)}
                filled = replace(draft, body=body, ruleset=self._profile.name)
                made.append(plain(agent, head, filled))
                return made[0].hash

            done = stamp_window(
                window,
                time=time if head is None else max(time, head.time),
                prev=None if head is None else head.hash,
                digest=digest,
                place={at[1:]: self._place(at, state) for at in self._misplaced(window, state)},
            )
            return made[0], done.window

        entry, final = stamp(judgement)
        if found := self._judge_commit(entry, final, state, now=time):
            # It is kept all the same, with what the rules say of it beside it.
            judgement = replace(judgement, kept=found)
            entry, _ = stamp(judgement)
        self.judgement = judgement
        self._follower.go_on(entry)
        return entry

    def _judge_commit(
        self, entry: Entry, window: JsonObject, state: GuardianState, *, now: str
    ) -> tuple[RuleFinding, ...]:
        """What the rules about kept windows say of an entry, before it is one."""
        commit = Commit(
            time=entry.time,
            hash=entry.hash,
            recomputed=hash_entry(entry),
            prev=entry.prev,
            now=now,
            head_time=state.head_time,
        )
        found = judge_commit(window, commit, state, self._profile).findings
        ours = [one for one in found if one.rule != _CLOCK]
        if ours:
            raise Defect(f"a window was stamped wrongly: {ours[0].rule} {ours[0].what}")
        return found

    def _misplaced(self, window: JsonObject, state: GuardianState) -> tuple[str, ...]:
        """Where the ledger writes its own step and cycle; a profile may leave them as they came."""
        if level_of(self._profile, BY_ID[PLACE]) == "off":
            return ()
        return misplaced(window, state)

    @staticmethod
    def _place(where: str, state: GuardianState) -> str:
        return state.step_id if where == "/step_id" else state.cycle_text

    def _beside(
        self, window: JsonObject, judgement: Judgement, state: GuardianState
    ) -> dict[str, object]:
        beside: dict[str, object] = {
            "metadata": {"rules": self._rules},
            "judgement": to_object(judgement),
            "state": state_fields(state),
        }
        overwritten = (*self._misplaced(window, state), *attempts(window))
        if overwritten:
            beside["attempts"] = [{"where": at, "given": _given(window, at)} for at in overwritten]
        return beside


def _unclaimed(body: JsonObject) -> tuple[str, ...] | None:
    """The acts that the claims of a turn's window leave out; None where no acts are known."""
    claims = body.get("claims")
    if not isinstance(claims, Mapping):
        return None
    return texts_at(cast("JsonObject", claims), "unclaimed")


def judged_or_refused(
    window: JsonObject,
    state: GuardianState,
    profile: GuardianProfile,
    *,
    facts: Operations = NOTHING_KNOWN,
) -> Judgement:
    """The judgement of a window that may be kept; WindowRefused with it otherwise."""
    judgement = judge_draft(window, state, profile, facts=facts)
    if judgement.blocked:
        raise refusal(judgement, window)
    refuse_fallen(window, state, profile)
    return judgement


def refuse_fallen(window: JsonObject, state: GuardianState, profile: GuardianProfile) -> None:
    """What a window stands on is never missing, whatever a profile makes of its rules."""
    if missing := missing_foundation(Case(window, state, profile)):
        judgement = judge_draft(window, state, profile)
        raise refusal(judgement, window, also=f"missing: {', '.join(missing)}")


def refusal(judgement: Judgement, window: JsonObject, *, also: str = "") -> WindowRefused:
    blocking = [finding for finding in judgement.findings if finding.level == "block"]
    problems = [f"{found.rule} {found.where or '-'}: {found.what}" for found in blocking]
    if also:
        problems.append(also)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return WindowRefused(
        f"the guardian refuses this window (profile {judgement.profile}): {problems[0]}{more}",
        hint=blocking[0].hint
        if blocking
        else "a window stands on goal, inputs, actions, confidence",
        problems=problems,
        profile=judgement.profile,
        rules=sorted({finding.rule for finding in blocking}),
        attempts=list(attempts(window)),
        draft=digest(canonical(window)),
        judgement=to_object(judgement),
    )


def _given(window: JsonObject, pointer: str) -> object:
    *holders, name = pointer.strip("/").split("/")
    for holder in holders:
        window = object_at(window, holder)
    return window.get(name)
