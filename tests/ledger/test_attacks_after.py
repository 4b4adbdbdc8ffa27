"""Every attack again, on a ledger with a past: a rollback, a change of the key; and the auditor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mentis.ledger import keeping
from mentis.ledger.checkpoint import read_note
from mentis.ports.signer import SeededSigner
from mentis.values.entry import Draft, Entry

from .conftest import Ledger, rechained
from .test_keeping import OTHER, store_of
from .test_trust import audited

STRANGER = SeededSigner(bytes([5] * 32))


def plain(ledger: Ledger) -> Ledger:
    ledger.fill(14)
    return ledger


def after_a_rollback(ledger: Ledger) -> Ledger:
    """16 entries were there, 4 are left; what was seen of 16 and 9 is given up."""
    ledger.fill(16)
    seen = [read_note(ledger.note(size)).checkpoint for size in (3, 9, 16)]
    short = replace(ledger, store=store_of(ledger.entries[:4]))
    given_up = keeping.give_up(short.keeping, seen)
    keeping.accept_rollback(
        short.keeping, given_up, reason="disk", signer=ledger.signer, stamp=ledger.stamp
    )
    short.fill(9)
    return short


def after_a_change_of_the_key(ledger: Ledger) -> Ledger:
    ledger.fill(4)
    keeping.change_key(ledger.keeping, ledger.signer, OTHER, ledger.stamp)
    ledger.fill(9)
    return replace(ledger, signer=OTHER)


def after_both(ledger: Ledger) -> Ledger:
    """The change of the key went with the rollback, which carries it."""
    ledger.fill(3)
    change = keeping.change_key(ledger.keeping, ledger.signer, OTHER, ledger.stamp)
    changed = replace(ledger, signer=OTHER)
    changed.fill(12)
    seen = [read_note(changed.note()).checkpoint]
    short = replace(changed, store=store_of(changed.entries[:2]))
    signed = change.body["signed"]
    given_up = keeping.give_up(short.keeping, seen, [signed])  # pyright: ignore[reportArgumentType]  # as JSON
    keeping.accept_rollback(
        short.keeping, given_up, reason="disk", signer=OTHER, stamp=ledger.stamp
    )
    short.fill(11)
    return short


PASTS = [plain, after_a_rollback, after_a_change_of_the_key, after_both]


@dataclass
class Scene:
    """14 entries, and checkpoints of 8 and 12 that somebody has kept."""

    ledger: Ledger
    chain: list[Entry]
    kept: list[str]


@pytest.fixture(params=PASTS, ids=lambda past: past.__name__)
def scene(request: pytest.FixtureRequest, ledger: Ledger) -> Scene:
    made: Ledger = request.param(ledger)
    assert len(made.entries) == 14
    return Scene(made, made.entries, [made.note(8), made.note(12)])


def edit(scene: Scene) -> None:
    scene.chain[6] = replace(scene.chain[6], body={**scene.chain[6].body, "text": "never said"})


def edit_source(scene: Scene) -> None:
    scene.chain[6] = replace(scene.chain[6], source="somebody else")


def delete(scene: Scene) -> None:
    del scene.chain[6]


def insert(scene: Scene) -> None:
    scene.chain.insert(6, scene.chain[2])


def reorder(scene: Scene) -> None:
    scene.chain[6], scene.chain[7] = scene.chain[7], scene.chain[6]


def truncate(scene: Scene) -> None:
    del scene.chain[11:]


def roll_back(scene: Scene) -> None:
    """To before everything that gave a checkpoint up."""
    del scene.chain[2:]


def empty(scene: Scene) -> None:
    scene.chain.clear()


def recompute(scene: Scene) -> None:
    edit(scene)
    scene.chain[:] = rechained(scene.chain, 6)


def swap_the_identity(scene: Scene) -> None:
    other = Ledger(signer=STRANGER)
    other.add(Draft("note", "test", {"text": "another life"}))
    other.fill(13)
    scene.chain[:] = other.entries


def forge_a_checkpoint(scene: Scene) -> None:
    scene.kept.append(scene.ledger.note(10, signer=STRANGER))


def replay(scene: Scene) -> None:
    again = replace(scene.chain[9], time=scene.chain[13].time)
    scene.chain[:] = rechained([*scene.chain, again], 14)


ATTACKS: dict[Callable[[Scene], None], set[str]] = {
    edit: {"edited"},
    edit_source: {"edited"},
    delete: {"deleted"},
    insert: {"inserted"},
    reorder: {"reordered"},
    truncate: {"rolled-back"},
    roll_back: {"rolled-back"},
    empty: {"emptied"},
    recompute: {"rewritten"},
    swap_the_identity: {"rewritten", "forged"},
    forge_a_checkpoint: {"forged"},
    replay: {"replayed"},
}


def test_nobody_touched_it(scene: Scene, tmp_path: Path) -> None:
    verdict = scene.ledger.verify(scene.chain, outside=scene.kept)
    assert (verdict.findings, verdict.vouched) == ((), 12)
    told = audited(scene.ledger, tmp_path, scene.chain, *scene.kept)
    assert (told["findings"], told["vouched"]) == ([], 12)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_the_attack_is_named_by_us_and_found_by_the_auditor(
    scene: Scene, tmp_path: Path, attack: Callable[[Scene], None]
) -> None:
    attack(scene)
    verdict = scene.ledger.verify(scene.chain, outside=scene.kept)
    assert {finding.attack for finding in verdict.findings} & ATTACKS[attack]
    assert not audited(scene.ledger, tmp_path, scene.chain, *scene.kept)["intact"]
