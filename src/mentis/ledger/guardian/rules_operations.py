"""Rules about how a draft was kept: path, atomic write, count, consumer, verification, receipt."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Check, Fault, Kind, Rule

ATOMIC_STEPS = ("temp", "fsync", "replace")


def _path(case: Case) -> Iterator[Fault]:
    if case.facts.path != case.facts.pending_path:
        yield Fault("", f"{case.facts.path} is not the pending path {case.facts.pending_path}")


def _atomic(case: Case) -> Iterator[Fault]:
    steps = iter(case.facts.steps or ())
    missing = [step for step in ATOMIC_STEPS if step not in steps]
    if missing:
        yield Fault("", f"the write left out {missing[0]}, or did it in another order")


def _plus_one(case: Case) -> Iterator[Fault]:
    grown = (case.facts.after or 0) - (case.facts.before or 0)
    if grown != 1:
        yield Fault("", f"one draft, and the record grew by {grown}")


def _one_consumer(case: Case) -> Iterator[Fault]:
    holders = case.facts.consumers or ()
    if len(holders) != 1:
        yield Fault("", f"{len(holders)} consumers: {', '.join(holders) or 'nobody'}")


def _audited(case: Case) -> Iterator[Fault]:
    if not case.facts.audited:
        yield Fault("", "the guardian is on and this window was not judged")


def _verified(case: Case) -> Iterator[Fault]:
    if not case.facts.verified:
        yield Fault("", "verification found something wrong")


def _acknowledged(case: Case) -> Iterator[Fault]:
    receipt = case.facts.receipt
    if receipt is None or receipt.acknowledged:
        return
    if receipt.logged:
        yield Fault("", "logged, but neither counted exactly once nor verified")
    else:
        yield Fault("", "the log line is missing, so it is unsure: YELLOW")


def _overridden(case: Case) -> Iterator[Fault]:
    for rule in case.facts.overridden or ():
        yield Fault("", f"an optional module set {rule} aside")


def _mixed(case: Case) -> Iterator[Fault]:
    for text in case.facts.mixed or ():
        yield Fault("", f"kept as a thought and as a fact: {text!r}")


_SOUND = "a record that is kept carelessly proves nothing"


def _row(
    number: str,
    name: str,
    what: str,
    check: Check,
    *,
    needs: tuple[str, ...],
    fix: str,
    kind: Kind = "state",
    why: str = _SOUND,
) -> Rule:
    level = "warn" if number.startswith("W") else "block"
    return Rule(f"S2-{name}", number, level, "operations", kind, what, why, fix, check, needs=needs)


RULES = (
    _row(
        "33",
        "PATH",
        "the draft was written to the configured pending path",
        _path,
        needs=("path", "pending_path"),
        fix="use `mentis status write`, or the path that `mentis settings` shows",
    ),
    _row(
        "34",
        "ATOMIC",
        "a draft is written as temp, fsync, replace",
        _atomic,
        needs=("steps",),
        fix="use `mentis status write`",
        kind="program",
        why=f"{_SOUND}; our writer does and its tests show it, and how others wrote a file nobody"
        " can see: so it is judged only where a program tells its steps",
    ),
    _row(
        "35",
        "PLUS-ONE",
        "one draft makes the record exactly one longer",
        _plus_one,
        needs=("before", "after"),
        fix="run `mentis status verify` and look into the quarantine",
    ),
    _row(
        "36",
        "ONE-CONSUMER",
        "exactly one consumer holds the lease",
        _one_consumer,
        needs=("consumers",),
        fix="start `mentis status watch` where nobody consumes, stop all but one where several do",
    ),
    _row(
        "60",
        "GUARDIAN",
        "while the guardian is on, every window is judged",
        _audited,
        needs=("audited",),
        fix="keep windows through the ledger only",
    ),
    _row(
        "64",
        "VERIFY",
        "verification passes",
        _verified,
        needs=("verified",),
        fix="run `mentis status verify`: it names the entry",
        kind="program",
    ),
    _row(
        "65",
        "ACK",
        "a window counts as kept by its log line and the count or verification",
        _acknowledged,
        needs=("receipt",),
        fix="look into the watcher's log, count, verify",
    ),
    _row(
        "W9",
        "W-WORTH",
        "an optional module never sets a check aside",
        _overridden,
        needs=("overridden",),
        fix="let the module add findings, never take one away",
        why=f"{_SOUND}; there is no such module here, so it is judged only where a program that"
        " has one tells what it set aside",
    ),
    Rule(
        "S2-W-FACTSPLIT",
        "W5",
        "warn",
        "operations",
        "heuristic",
        "facts and private thoughts are kept in separate stores",
        "a thought that is filed as a fact comes back as one; kinds keep them apart here, and what"
        " stands under both is found by `mentis status health`",
        "keep what is known apart from what is felt: `mentis memory forget` one of them",
        _mixed,
        prompt="status_conduct",
        needs=("mixed",),
    ),
)
