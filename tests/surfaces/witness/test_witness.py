"""A witness on the loopback address, and homes whose checkpoints it sees."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal

from mentis import create_home
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import RolledBack, SettingsError, StoreDamaged, UsageError
from mentis.home.parts import Parts
from mentis.home.witness_anchor import WitnessAnchor
from mentis.ledger import auditor, keeping
from mentis.ledger.checkpoint import read_note, sign_checkpoint
from mentis.ledger.cosignature import cosign, cosignatures_in, witness_key_text
from mentis.ledger.witnessing import SIZE_TYPE, write_request
from mentis.ports.clock import FixedClock
from mentis.record.export import write_export
from mentis.record.keys import add_anchor, pin_quorum
from mentis.record.record import open_record
from mentis.record.rollback import accept_rollback
from mentis.record.verify_home import verify_home
from mentis.stores.files.witness_folder import SeenCheckpoint, WitnessFolder
from mentis.surfaces.witness.start import WitnessOptions, serve_witness
from mentis.values.checkpoint import Checkpoint, WitnessKey
from mentis.values.entry import Draft, Verdict


@dataclass
class Watching:
    folder: WitnessFolder
    url: str

    @property
    def key(self) -> WitnessKey:
        return WitnessKey(self.folder.facts().name, self.folder.signer().public)

    @property
    def anchor(self) -> str:
        return f"witness:{self.url}#{witness_key_text(self.key)}"


@contextmanager
def watching(folder: Path, name: str = "witness.example/w1") -> Generator[Watching]:
    kept, ready = WitnessFolder.create(folder, name), Future[str]()
    chosen = WitnessOptions(port=0, clock=FixedClock(), on_ready=ready.set_result)
    with start_blocking_portal() as portal:
        serving = portal.start_task_soon(serve_witness, folder, chosen)
        try:
            yield Watching(kept, ready.result(30))
        finally:
            serving.cancel()


@pytest.fixture
def witness(tmp_path: Path) -> Generator[Watching]:
    with watching(tmp_path / "witness") as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = create_home(tmp_path / "home")
    say(made, 3)
    return made


def say(home: Path, count: int) -> None:
    with open_record(home) as record:
        start = record.store.count(record.agent)
        for number in range(start, start + count):
            draft = Draft("note", "test", {"text": f"note {number}"}, delivery=f"mail-{number}")
            record.ledger.append(record.agent, [draft], record.stamp())


def watched(home: Path, *witnesses: Watching) -> None:
    """Every checkpoint of this home goes to them from now on."""
    with open_record(home) as record:
        pin = record.require_sealing().pin
        for one in witnesses:
            one.folder.watch(pin.origin, pin.public_key)
            add_anchor(record, one.anchor)


def verdict_of(home: Path) -> Verdict:
    (verdict,) = verify_home(home)
    return verdict


def test_a_checkpoint_carries_the_cosignature_and_vouches_without_the_witness(
    tmp_path: Path, home: Path
) -> None:
    with watching(tmp_path / "witness") as witness:
        watched(home, witness)
        say(home, 2)
        with open_record(home) as record:
            made = record.checkpoint()
        assert made.faults == ()
        assert cosignatures_in(read_note(made.note), [witness.key])
        key = witness.key
    verdict = verdict_of(home)  # the witness is away
    assert verdict.intact
    assert (verdict.vouched, verdict.entries) == (5, 5)
    assert verdict.witnessed is not None
    assert [one.name for one in verdict.witnessed.cosignatures] == [key.name]
    assert "does not answer" in " ".join(verdict.notes)


def test_a_home_and_its_keys_restored_together_are_caught(
    tmp_path: Path, home: Path, witness: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    monkeypatch.setenv("MENTIS_CONFIG", str(config))
    home = create_home(tmp_path / "kept")
    say(home, 3)
    watched(home, witness)
    shutil.copytree(home, tmp_path / "older home")
    shutil.copytree(config, tmp_path / "older config")
    say(home, 2)
    with open_record(home) as record:
        record.checkpoint()
    assert verdict_of(home).intact
    for now, older in ((home, "older home"), (config, "older config")):
        shutil.rmtree(now)
        (tmp_path / older).rename(now)
    verdict = verdict_of(home)
    assert [one.attack for one in verdict.findings] == ["rolled-back"]
    assert "witness.example/w1" in verdict.findings[0].message
    with open_record(home) as record:
        (fault,) = record.checkpoint().faults
    assert "has seen 5 entries" in fault
    say(home, 4)  # longer than before, and another history
    with open_record(home) as record:
        (fault,) = record.checkpoint().faults
    assert "has seen another ledger of 5 entries" in fault
    assert [one.attack for one in verdict_of(home).findings] == ["rewritten"]


@dataclass
class RolledBackHome:
    """It had five entries that a witness has seen; home and keys are those of three."""

    path: Path
    provider: ScriptedProvider

    async def chat(self) -> None:
        async with Agent.open(self.path, parts=Parts(provider=self.provider)) as agent:
            await agent.chat("hello")

    def entries(self) -> int:
        with open_record(self.path, readonly=True) as record:
            return record.store.count(record.agent)


@pytest.fixture
def rolled_back(
    tmp_path: Path, witness: Watching, monkeypatch: pytest.MonkeyPatch
) -> RolledBackHome:
    config = tmp_path / "config"
    monkeypatch.setenv("MENTIS_CONFIG", str(config))
    home = create_home(tmp_path / "kept")
    say(home, 3)
    watched(home, witness)
    ask_for_one(home)
    shutil.copytree(home, tmp_path / "older home")
    shutil.copytree(config, tmp_path / "older config")
    say(home, 2)
    for now, older in ((home, "older home"), (config, "older config")):
        shutil.rmtree(now)
        (tmp_path / older).rename(now)
    return RolledBackHome(home, ScriptedProvider(["Yes."] * 3))


def ask_for_one(home: Path) -> None:
    with open_record(home, readonly=True) as record:
        pin_quorum(record, 1)


@pytest.mark.parametrize("lists", [True, False])
async def test_under_a_quorum_no_turn_goes_on_from_less_than_a_witness_has_seen(
    rolled_back: RolledBackHome, monkeypatch: pytest.MonkeyPatch, *, lists: bool
) -> None:
    if not lists:  # the protocol has no way to ask: such a witness only says how many it has seen

        def nothing(_anchor: WitnessAnchor) -> tuple[()]:
            return ()

        monkeypatch.setattr(WitnessAnchor, "notes", nothing)
    with pytest.raises(
        RolledBack, match=r"3 entries, and witness witness.example/w1 saw 5"
    ) as told:
        await rolled_back.chat()
    assert "accept-rollback" in told.value.hint
    assert rolled_back.provider.sent == []
    assert rolled_back.entries() == 3


async def test_a_rollback_that_a_witness_knows_of_is_accepted_and_turns_go_on(
    rolled_back: RolledBackHome,
) -> None:
    with open_record(rolled_back.path) as record:
        assert accept_rollback(record, reason="disk").entry.index == 3
    for _ in range(3):  # beyond what the witness has seen, too
        await rolled_back.chat()
    assert rolled_back.entries() >= 7
    assert any("gives up" in note for note in verdict_of(rolled_back.path).notes)


def test_what_is_open_goes_on_no_longer_once_a_witness_has_refused_its_checkpoint(
    home: Path, witness: Watching
) -> None:
    watched(home, witness)
    ask_for_one(home)
    draft = Draft("note", "test", {"text": "here"})
    with open_record(home) as record:
        record.start()
        sealing = record.require_sealing()
        longer = Checkpoint(record.keeping.log, 9, "ab" * 32)  # another one has gone on
        note = sign_checkpoint(longer, sealing.signer())
        line = cosign(read_note(note), witness.key.name, witness.folder.signer(), time=1)
        witness.folder.note_seen(SeenCheckpoint(longer.origin, note + line))
        record.ledger.append(record.agent, [draft] * 100, record.stamp())
        with pytest.raises(RolledBack, match=r"witness \S+ saw"):
            record.ledger.append(record.agent, [draft], record.stamp())


async def test_a_witness_that_is_away_stops_no_turn_under_a_quorum(
    tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with watching(tmp_path / "away") as witness:
        watched(home, witness)
        ask_for_one(home)
    await RolledBackHome(home, ScriptedProvider(["Yes."])).chat()
    assert "does not answer" in caplog.text


def test_a_quorum_is_asked_for_until_so_many_have_seen_it(
    tmp_path: Path, home: Path, witness: Watching
) -> None:
    watched(home, witness)
    with open_record(home, readonly=True) as record:
        with pytest.raises(UsageError, match="2 witnesses cannot be asked for"):
            pin_quorum(record, 2)
        pin_quorum(record, 1)
    assert verdict_of(home).intact
    with watching(tmp_path / "other", "witness.example/w2") as other:
        watched(home, other)
        with open_record(home, readonly=True) as record:
            pin_quorum(record, 2)
        say(home, 1)
        with open_record(home) as record:
            record.checkpoint()
    verdict = verdict_of(home)
    assert verdict.intact
    assert verdict.witnessed is not None
    assert (verdict.witnessed.size, len(verdict.witnessed.cosignatures)) == (4, 2)


def test_the_auditor_asks_for_the_witnesses_that_it_is_given(
    tmp_path: Path, home: Path, witness: Watching
) -> None:
    watched(home, witness)
    with open_record(home) as record:
        write_export(record, tmp_path / "ledger.zip")
        pin = record.require_sealing().pin
    asked = [str(tmp_path / "ledger.zip"), "--key", pin.public_key, "--origin", pin.origin]
    assert auditor.main([*asked, "--witness", witness_key_text(witness.key)]) == 0
    stranger = WitnessKey("witness.example/w2", bytes(32))
    both = [*asked, "--witness", witness_key_text(witness.key)]
    both += ["--witness", witness_key_text(stranger)]
    assert auditor.main(both) == 1
    assert auditor.main([*both, "--quorum", "1"]) == 0
    assert auditor.main([*both, "--quorum", "3"]) == 2
    assert auditor.main([*asked, "--witness", "nobody"]) == 2


def test_each_answer_over_http_is_the_one_that_the_protocol_names(
    home: Path, witness: Watching
) -> None:
    def ask(body: bytes) -> httpx2.Response:
        return httpx2.post(f"{witness.url}/add-checkpoint", content=body)

    with open_record(home) as record:
        note, pin = record.checkpoint().note, record.require_sealing().pin
        proof = keeping.growth_to(record.signable_ledger(), 3)(1)
    assert ask(b"hello").status_code == 400
    assert ask(write_request(0, (), note)).status_code == 404
    witness.folder.watch(pin.origin, witness.folder.signer().public_text)
    assert ask(write_request(0, (), note)).status_code == 403
    witness.folder.watch(pin.origin, pin.public_key)
    assert ask(write_request(4, (), note)).status_code == 400
    assert ask(write_request(0, proof, note)).status_code == 422
    taken = ask(write_request(0, (), note))
    assert taken.status_code == 200
    assert taken.text.startswith("— witness.example/w1 ")
    known = ask(write_request(0, (), note))
    assert (known.status_code, known.text) == (409, "3\n")
    assert known.headers["content-type"].startswith(SIZE_TYPE)
    assert ask(write_request(3, (), note)).status_code == 200
    assert ask(b"old 0\n" + b"x" * 100_000).status_code == 413
    seen = httpx2.get(f"{witness.url}/checkpoints", params={"origin": pin.origin})
    assert seen.text.startswith(note.partition("\n\n")[0])
    assert httpx2.get(f"{witness.url}/checkpoints").status_code == 404
    foreign = {"host": "evil.example"}
    assert httpx2.get(f"{witness.url}/checkpoints", headers=foreign).status_code == 421


def test_of_two_histories_that_come_at_once_one_is_taken(home: Path, witness: Watching) -> None:
    with open_record(home) as record:
        pin, signer = record.require_sealing().pin, record.require_sealing().signer()
        log = pin.log(record.agent)
    witness.folder.watch(pin.origin, pin.public_key)
    notes = [
        keeping.sign_checkpoint(keeping.Checkpoint(log, 3, f"{number:064x}"), signer)
        for number in range(8)
    ]

    def ask(note: str) -> int:
        body = write_request(0, (), note)
        return httpx2.post(f"{witness.url}/add-checkpoint", content=body).status_code

    with ThreadPoolExecutor(8) as several:
        answers = sorted(several.map(ask, notes))
    assert answers == [200, *[409] * 7]


def test_a_witness_that_lost_what_it_saw_signs_nothing(home: Path, witness: Watching) -> None:
    watched(home, witness)
    (file,) = (witness.folder.path / "seen").glob("*.json")
    file.write_text("{}")
    with pytest.raises(StoreDamaged, match="cannot be read"):
        witness.folder.seen_below()
    say(home, 1)
    with open_record(home) as record:
        (fault,) = record.checkpoint().faults
    assert "refused the checkpoint: 50" in fault


def test_a_witness_with_another_key_is_not_believed(home: Path, witness: Watching) -> None:
    with open_record(home) as record:
        pin = record.require_sealing().pin
        witness.folder.watch(pin.origin, pin.public_key)
        other = WitnessKey("witness.example/w1", bytes(range(32)))
        with pytest.raises(Exception, match="no cosignature by its key"):
            add_anchor(record, f"witness:{witness.url}#{witness_key_text(other)}")
        with pytest.raises(SettingsError, match="names no key"):
            add_anchor(record, f"witness:{witness.url}")
    assert verdict_of(home).witnessed is None
