"""How a window was kept, held against the rules about that: for receipts, health, verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.guardian.case import Operations
from mentis.ledger.guardian.judge import judge_operations
from mentis.ledger.guardian.profiles import MENTIS
from mentis.values.cognition import Memory
from mentis.values.entry import Entry, Verdict
from mentis.values.guardian import GuardianProfile, GuardianState, Receipt, RuleFinding
from mentis.values.health import Health
from mentis.values.lease import Lease
from mentis.values.memory_kind import PRIVATE_KINDS

from .window_state import WINDOW

_MOST = 20
_BREACH = "a breach came before: the next window is a recovery (RED, recovery, repair plan)"
_DOUBT = "whether the last window was kept is unsure: the next one is YELLOW with a recovery plan"


def judge_receipt(receipt: Receipt, profile: GuardianProfile) -> tuple[RuleFinding, ...]:
    """What there is to say of a window that was judged and kept, by its three proofs."""
    facts = Operations(
        before=receipt.before,
        after=receipt.after,
        verified=receipt.verified,
        receipt=receipt,
        audited=True,
    )
    return _judged(facts, profile)


def judge_health(
    health: Health, folder: StatusFolder, holder: Lease | None, profile: GuardianProfile
) -> Health:
    """Who consumes, where something waits or somebody does; and drafts where nobody looks."""
    consumers = (holder.owner,) if holder is not None else () if health.waiting else None
    findings = _judged(Operations(consumers=consumers), profile)
    for path in folder.stranded_drafts:
        facts = Operations(path=str(path), pending_path=str(folder.pending))
        findings += _judged(facts, profile)
    return replace(health, findings=findings)


def after_state(health: Health, state: GuardianState) -> Health:
    """What the record asks of the next window is part of how things stand."""
    if state.after_breach:
        return replace(health, status="RED", reason=_BREACH)
    if state.unsure and health.status == "GREEN":
        return replace(health, status="YELLOW", reason=_DOUBT)
    return health


def judge_memories(memories: Sequence[Memory], profile: GuardianProfile) -> tuple[RuleFinding, ...]:
    """Texts that are kept both as something private and as something that is told."""
    private, told = dict[str, str](), set[str]()
    for memory in memories:
        same = " ".join(memory.text.split()).casefold()
        if memory.superseded_by:
            continue
        if memory.kind in PRIVATE_KINDS:
            private[same] = memory.text
        else:
            told.add(same)
    mixed = tuple(text for same, text in private.items() if same in told)
    return _judged(Operations(mixed=mixed), profile)


def judge_verdict(verdict: Verdict, unjudged: Sequence[int] | None = None) -> Verdict:
    """What verification came to, and whether every window was judged, if that was looked at."""
    audited = None if unjudged is None else not unjudged
    found = _judged(Operations(verified=verdict.intact, audited=audited), MENTIS)
    told = [f"{one.rule}: {one.what}" for one in found]
    if unjudged:
        told.append(f"windows that nobody judged: entry {', '.join(map(str, unjudged[:_MOST]))}")
    return replace(verdict, notes=(*verdict.notes, *told))


def was_judged(entry: Entry) -> bool:
    """A window that was imported was judged where it comes from."""
    return entry.kind != WINDOW or "judgement" in entry.fields


def _judged(facts: Operations, profile: GuardianProfile) -> tuple[RuleFinding, ...]:
    return judge_operations(facts, GuardianState(), profile).findings
