"""The record in the hands of its owner: keys, anchors, erasure, rotation, rollback."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.codec.forms import to_json
from mentis.errors import (
    HomeExists,
    RolledBack,
    SettingsError,
    SigningKeyError,
    StoreDamaged,
    UsageError,
)
from mentis.home.create import create_home
from mentis.home.log_identity import init_log
from mentis.home.parts import Parts
from mentis.ledger import auditor, keeping
from mentis.ledger.anchors import FileAnchor
from mentis.ledger.checkpoint import sign_checkpoint
from mentis.ledger.merkle import tree_of
from mentis.ports.clock import FixedClock
from mentis.ports.signer import Signer
from mentis.record import (
    export as record_export,
)
from mentis.record import (
    keys as record_keys,
)
from mentis.record import (
    rollback as record_rollback,
)
from mentis.record import (
    rotation as record_rotation,
)
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.settings.edit import change_settings
from mentis.status.statuses import open_statuses
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.known_homes import KnownHomes
from mentis.stores.sqlite.database import Database
from mentis.values.checkpoint import Checkpoint
from mentis.values.entry import Draft, Verdict

AGENT = "home/ada"
DAY = timedelta(days=1)


@dataclass
class Owned:
    """A home with notes in its ledger, one a day."""

    path: Path
    clock: FixedClock

    def open(self, *, readonly: bool = False) -> Record:
        return open_record(self.path, parts=Parts(clock=self.clock), readonly=readonly)

    def add(self, count: int) -> None:
        with self.open() as record:
            for n in range(count):
                draft = Draft("note", "test", {"text": f"note {n}", "n": n})
                record.ledger.append(record.agent, [draft], record.stamp())

    def verify(self, *checkpoints: Path) -> Verdict:
        (verdict,) = verify_home(self.path, checkpoints=checkpoints)
        return verdict


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    home = create_home(tmp_path / "home")
    owned = Owned(home, FixedClock(datetime(2026, 1, 1, tzinfo=UTC), DAY))
    owned.add(10)
    return owned


def forget(home: Path) -> None:
    """As if the home had been made before logs were remembered beside the keys."""
    KnownHomes(config_folder(os.environ)).file(home).unlink()


# The key


def test_a_new_home_pins_its_log_and_keeps_the_key_outside(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    with open_record(home) as record:
        sealing = record.require_sealing()
        file = sealing.folder.key_file(sealing.pin.public_key)
    assert file.stat().st_mode & 0o777 == 0o600
    assert not file.is_relative_to(home)
    assert file.is_relative_to(os.environ["MENTIS_CONFIG"])


def test_a_home_that_cannot_be_made_leaves_no_key(tmp_path: Path) -> None:
    create_home(tmp_path / "home")
    keys = sorted(Path(os.environ["MENTIS_CONFIG"]).rglob("*.pem"))
    with pytest.raises(HomeExists):
        create_home(tmp_path / "home")
    assert sorted(Path(os.environ["MENTIS_CONFIG"]).rglob("*.pem")) == keys


def test_the_key_is_never_put_into_the_home_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "home" / "keys"))
    with pytest.raises(SigningKeyError, match="inside the home"):
        create_home(tmp_path / "home")


def test_a_key_from_the_environment_is_used_where_settings_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_LEDGER__KEY_ENV", "LOG_KEY")
    monkeypatch.setenv("LOG_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    home = create_home(tmp_path / "home")
    owned = Owned(home, FixedClock())
    owned.add(1)
    with owned.open() as record:
        assert record.checkpoint().standing.size == 1
        assert (
            not record.require_sealing()
            .folder.key_file(record.require_sealing().pin.public_key)
            .exists()
        )
        with pytest.raises(SigningKeyError, match="not in a file"):
            record_keys.change_key(record)
    assert owned.verify().intact


def test_a_home_from_before_works_and_says_how_to_get_checkpoints(owned: Owned) -> None:
    marker = owned.path / "mentis.toml"
    lines = marker.read_text().splitlines(keepends=True)
    marker.write_text("".join(li for li in lines if not li.startswith(("origin", "public_key"))))
    forget(owned.path)
    owned.add(1)
    verdict = owned.verify()
    assert any("mentis ledger checkpoint --init" in note for note in verdict.notes)
    with owned.open() as record, pytest.raises(SigningKeyError) as caught:
        record.checkpoint()
    assert "--init" in caught.value.hint


def test_a_home_without_a_key_gets_one(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    marker = home / "mentis.toml"
    marker.write_text('format = 1\nname = "home"\n')
    forget(home)
    log = init_log(Home(home), os.environ)
    Owned(home, FixedClock()).add(1)
    with open_record(home) as record:
        assert record.require_sealing().pin == log.pin
        assert record.checkpoints()[-1][0] == 1
    with pytest.raises(UsageError, match="has a log already"):
        init_log(Home(home), os.environ)


def test_a_new_key_is_an_entry_and_old_checkpoints_still_count(
    owned: Owned, tmp_path: Path
) -> None:
    with owned.open() as record:
        note = tmp_path / "old.note"
        note.write_text(record.checkpoint().note)
        before = record.require_sealing().pin
        pin, (entry,) = record_keys.change_key(record)
        assert entry.kind == "key"
        with pytest.raises(SigningKeyError):  # who still runs with the old settings signs no more
            record.require_sealing().signer()
    assert pin.origin == before.origin
    assert pin.public_key != before.public_key
    owned.add(2)
    with owned.open() as record:
        assert record.require_sealing().pin == pin
        new = tmp_path / "new.note"
        new.write_text(record.checkpoint().note)
    verdict = owned.verify(note, new)
    assert (verdict.findings, verdict.vouched) == ((), 13)


def overtaken(owned: Owned, record: Record) -> Record:
    """Whoever takes the key finds that it is changed before they come to sign with it."""
    sealing = record.require_sealing()

    def taken() -> Signer:
        signer = sealing.signer()
        with owned.open() as other:
            record_keys.change_key(other)
        return signer

    return replace(record, sealing=replace(sealing, signer=taken))


def test_a_checkpoint_by_a_key_that_is_changed_meanwhile_has_not_seen_the_change(
    owned: Owned,
) -> None:
    owned.add(2)
    with owned.open() as record:
        made = overtaken(owned, record).require_sealing().checkpoint(record.store, AGENT)
    assert made.standing.size == 12
    assert owned.verify().findings == ()


def test_nothing_is_recorded_that_a_key_has_signed_which_is_changed_meanwhile(
    owned: Owned,
) -> None:
    with owned.open() as record:
        record.start()
        with pytest.raises(SigningKeyError):
            overtaken(owned, record).erase(3, ["text"], reason="gdpr")
    assert owned.verify().findings == ()
    with owned.open() as record:
        assert record.entry(3).body["text"] == "note 3"
        record.erase(3, ["text"], reason="gdpr")
    assert owned.verify().findings == ()


@pytest.mark.parametrize("cut", ["begun", "recorded", "pinned"])
def test_a_change_of_the_key_that_was_cut_short_is_finished_by_the_next(
    owned: Owned, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(Exception):
        pass

    def stop(*_: object) -> None:
        raise Cut

    if cut == "begun":
        monkeypatch.setattr("mentis.home.log_identity.KeyChange._record", stop)
    elif cut == "recorded":
        monkeypatch.setattr("mentis.home.log_identity.change_settings", stop)
    else:
        monkeypatch.setattr("mentis.stores.files.key_folder.KeyFolder.retire_other_keys", stop)
    with owned.open() as record, pytest.raises(Cut):
        record_keys.change_key(record)
    monkeypatch.undo()
    with owned.open() as record, pytest.raises(SigningKeyError, match="cut short"):
        record.require_sealing().signer()
    owned.add(1)  # nothing is signed meanwhile, but everything is recorded
    with owned.open() as record:
        record_keys.change_key(record)
    owned.add(1)
    with owned.open() as record:
        assert record.checkpoints()[-1][0] == record.store.count(AGENT)
        kinds = [entry.kind for entry in record.store.entries(AGENT)]
    assert kinds.count("key") == 1
    assert owned.verify().findings == ()


# Anchors


def test_an_anchor_is_told_every_checkpoint_and_read_back(owned: Owned, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.txt"
    with owned.open() as record:
        made = record_keys.add_anchor(record, f"file:{file}")
        assert made.standing.size == 10
    assert owned.verify().vouched == 10
    owned.add(2)
    assert [kept.note.splitlines()[1] for kept in FileAnchor(file).notes()] == ["10", "12"]
    assert owned.verify().vouched == 12
    with owned.open(readonly=True) as record:
        (state,) = record_keys.list_anchors(record)
    assert (state.size, state.fault) == (12, "")


def test_a_git_repository_is_an_anchor(owned: Owned, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    for words in (["init", "-q"], ["config", "user.name", "a"], ["config", "user.email", "a@b"]):
        repository.mkdir(exist_ok=True)
        subprocess.run(["git", "-C", repository, *words], check=True)
    with owned.open() as record:
        record_keys.add_anchor(record, f"git:{repository}")
    owned.add(1)
    assert owned.verify().vouched == 11


def test_an_anchor_inside_the_home_or_of_no_kind_is_refused(owned: Owned) -> None:
    with owned.open() as record:
        with pytest.raises(UsageError, match="inside the home"):
            record_keys.add_anchor(record, "file:notes.txt")
        with pytest.raises(SettingsError, match="is no anchor"):
            record_keys.add_anchor(record, "mail:me")
    with owned.open() as record:
        assert record_keys.list_anchors(record) == ()


def test_an_anchor_that_is_gone_is_a_remark_of_the_verdict(owned: Owned, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.txt"
    with owned.open() as record:
        record_keys.add_anchor(record, f"file:{file}")
    file.unlink()
    verdict = owned.verify()
    assert verdict.vouched == 0
    assert f"anchor file:{file} could not be read: {file}: it is not there" in verdict.notes


# Erasure and rotation


def test_an_erased_field_is_gone_and_the_record_verifies(owned: Owned) -> None:
    with owned.open() as record:
        tombstone = record.erase(4, ["text"], reason="asked for")
        assert record.entry(4).body == {"n": 4, "clock": record.entry(4).body["clock"]}
    verdict = owned.verify()
    assert verdict.findings == ()
    (erased,) = verdict.erased
    assert (erased.index, erased.fields, erased.tombstone) == (4, ("text",), tombstone.index)
    assert b"note 4" not in (owned.path / "mentis.db").read_bytes()


def test_with_a_window_goes_all_that_it_could_be_told_or_guessed_from(owned: Owned) -> None:
    body = {
        "window": {"goal": "the code is 4711"},
        "received": {"digest": "sha256:..."},
        "judgement": {"warnings": ["the code is 4711"]},
        "attempts": [{"where": "/time_source", "given": "the code is 4711"}],
        "metadata": {"n": 1},
    }
    with owned.open() as record:
        (made,) = record.ledger.append(AGENT, [Draft("window", "t", body)], record.stamp())
        record.erase(made.index, ["window"], reason="asked for")
        assert set(record.entry(made.index).body) == {"metadata", "clock"}
    verdict = owned.verify()
    assert verdict.findings == ()
    assert verdict.erased[0].fields == ("attempts", "judgement", "received", "window")


def test_rotated_entries_are_read_shown_and_proved(owned: Owned) -> None:
    with owned.open() as record:
        done = record_rotation.rotate(record, 6)
        assert (done.first, done.last, done.dropped) == (0, 5, 6)
        assert record.store.find(AGENT, 3) is None
        assert record.entry(3).body["n"] == 3
        proof = record.prove(3)
        checked = record_export.check_proof(to_json(proof), record.require_sealing().pin)
        assert (checked.holds, checked.signed) == (True, True)
    verdict = owned.verify()
    assert (verdict.findings, verdict.entries) == ((), 11)
    assert not any("segments" in note or "not here" in note for note in verdict.notes)
    with owned.open() as record:
        assert record.entry(10).kind == "rotation"
        record_rotation.rotate(record, record_rotation.index_to_keep(record, 2))
    assert (owned.verify().findings, owned.verify().entries) == ((), 12)


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9" * 5000, "soon"]
)
def test_a_place_to_cut_that_is_none_is_refused_as_such(owned: Owned, text: str) -> None:
    with owned.open() as record, pytest.raises(UsageError, match="neither an index nor a time"):
        record_rotation.index_before(record, text)


def test_what_is_kept_longer_than_there_was_time_never_expires(owned: Owned) -> None:
    keep_segments(owned, days=10**10)
    with owned.open() as record:
        record_rotation.rotate(record, 6)
        assert record_rotation.expire(record).entry is None


def test_a_changed_segment_is_named(owned: Owned) -> None:
    with owned.open() as record:
        path = record_rotation.rotate(record, 6).path
    path.write_text(path.read_text().replace("note 3", "note 8"))
    (finding,) = owned.verify().findings
    assert (finding.index, finding.column, finding.attack) == (3, "body", "edited")
    path.write_text("nothing of ours\n")
    found = {(finding.column, finding.attack) for finding in owned.verify().findings}
    assert found == {("segment", "unreadable"), ("index", "deleted")}


@pytest.mark.parametrize("which", [0, 1])
def test_a_segment_that_somebody_deleted_is_missing(owned: Owned, which: int) -> None:
    with owned.open() as record:
        files = [record_rotation.rotate(record, index).path for index in (3, 6)]
    files[which].unlink()
    (finding,) = owned.verify().findings
    assert (finding.index, finding.attack) == (0, "deleted")
    assert f"entries 0 to {(2, 5)[which]} are neither" in finding.message


@pytest.mark.parametrize("change", ["deleted", "shorter", "head", "added"])
def test_a_resumed_verification_reads_everything_once_a_segment_changed(
    owned: Owned, change: str
) -> None:
    def resumed() -> Verdict:
        with open_statuses(owned.path) as statuses:
            return statuses.verify(resume=True)

    with owned.open() as record:
        files = [record_rotation.rotate(record, index).path for index in (3, 6)]
    assert resumed().intact
    assert any("verified before" in note for note in resumed().notes)
    text = files[0].read_text()
    if change == "deleted":
        files[0].unlink()
    elif change == "shorter":
        files[0].write_text(text[:-2])
    elif change == "head":
        files[0].write_text(
            text.replace('"format":"mentis-segment-1"', '"format":"mentis-segment-7"')
        )
    else:
        with owned.open() as record:
            record_rotation.rotate(record, 8)
    verdict = resumed()
    assert verdict.intact == (change == "added")
    assert any("everything was read again" in note for note in verdict.notes)
    if change == "added":
        assert not any("everything was read again" in note for note in resumed().notes)


def test_a_beginning_that_somebody_deleted_does_not_pass_as_rotation(owned: Owned) -> None:
    forge(
        owned,
        "INSERT INTO dropped (agent, idx, hash, delivery)"
        " SELECT agent, idx, hash, delivery FROM ledger WHERE idx < 5",
        "DELETE FROM ledger WHERE idx < 5",
    )
    (finding,) = owned.verify().findings
    assert (finding.index, finding.attack) == (0, "deleted")


def test_what_somebody_took_is_not_called_let_go(owned: Owned) -> None:
    with owned.open() as record:
        first = record_rotation.rotate(record, 3).path
        second = record_rotation.rotate(record, 6).path
    first.unlink()
    keep_segments(owned, days=1)
    with owned.open() as record, pytest.raises(StoreDamaged, match="does not verify"):
        record_rotation.expire(record)
    assert second.exists()


def test_a_segment_that_nobody_signed_for_is_said_to_be_so(owned: Owned) -> None:
    with owned.open() as record:
        record_rotation.rotate(record, 3)
        signer = record.require_sealing().signer()
        segment, lines = keeping.seal_segment(record.keeping, 6, signer)
        record.segments.write(segment, lines)
        record.store.drop_before(AGENT, 6)
    verdict = owned.verify()
    assert verdict.findings == ()
    assert any("entries 3 to 5 were read from segments, and no" in note for note in verdict.notes)


def forge(owned: Owned, *statements: str) -> None:
    with Database(owned.path / "mentis.db") as database, database.write() as connection:
        for statement in statements:
            connection.execute(statement)


def keep_segments(owned: Owned, *, days: int) -> None:
    text = (owned.path / "mentis.toml").read_text()
    (owned.path / "mentis.toml").write_text(
        text.replace("[ledger]\n", f"[ledger]\nkeep_segments_days = {days}\n")
    )


JUNK = {
    "the head and a forged entry after it": [
        "INSERT INTO dropped VALUES ('home/ada', 10, hex(zeroblob(32)), NULL)",
        "INSERT INTO dropped (agent, idx, hash) SELECT agent, idx, hash FROM ledger WHERE idx = 9",
    ],
    "far beyond": ["INSERT INTO dropped VALUES ('home/ada', 500, hex(zeroblob(32)), NULL)"],
    "a gap": ["INSERT INTO dropped VALUES ('home/ada', -1, hex(zeroblob(32)), NULL)"],
    "an index that is a text": [
        "INSERT INTO dropped VALUES ('home/ada', 'x', hex(zeroblob(32)), NULL)"
    ],
    "moved before the beginning": ["UPDATE ledger SET idx = -1 WHERE idx = 7"],
    "a head that is a text": ["UPDATE ledger SET idx = 'x' WHERE idx = 9"],
}


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_nothing_is_signed_over_hashes_that_somebody_put_in(
    owned: Owned, junk: list[str], *, rotated: bool
) -> None:
    if rotated:
        with owned.open() as record:
            record_rotation.rotate(record, 3)
    forge(owned, *junk)
    with owned.open() as record:
        with pytest.raises(StoreDamaged):
            record.checkpoint()
        with pytest.raises(StoreDamaged):
            record.ledger.append(AGENT, [Draft("note", "test", {})], record.stamp())
    assert not owned.verify().intact


@pytest.mark.parametrize("rotated", [False, True])
def test_a_hash_of_zeros_in_the_place_of_the_first_is_found(owned: Owned, *, rotated: bool) -> None:
    if rotated:
        with owned.open() as record:
            record_rotation.rotate(record, 3)
    forge(owned, "INSERT OR REPLACE INTO dropped VALUES ('home/ada', 0, hex(zeroblob(32)), NULL)")
    assert owned.verify().findings[0].index in {0, 1}
    with owned.open(readonly=True) as record, pytest.raises(StoreDamaged):
        record.prove(1)


@pytest.mark.parametrize(
    "change", ["UPDATE checkpoints SET note = x'ff'", "UPDATE checkpoints SET size = 'x'"]
)
def test_a_checkpoint_of_another_type_is_unreadable(owned: Owned, change: str) -> None:
    forge(owned, change)
    (finding,) = owned.verify().findings
    assert (finding.column, finding.attack) == ("checkpoint", "unreadable")


def test_a_checkpoint_kept_under_another_size_is_named(owned: Owned) -> None:
    with owned.open() as record:
        record.checkpoint()
    forge(owned, "UPDATE checkpoints SET size = 99 WHERE size = 10")
    attacks = {(finding.column, finding.attack) for finding in owned.verify().findings}
    assert attacks == {("checkpoint", "edited")}


def test_an_older_checkpoint_put_last_does_not_hide_what_is_gone(owned: Owned) -> None:
    with owned.open() as record:
        record.checkpoint()
        kept = record.require_sealing().folder.kept_file(AGENT)
    kept.unlink()
    note = first_note(owned)
    forge(owned, "DELETE FROM ledger WHERE idx >= 7")
    with Database(owned.path / "mentis.db") as database, database.write() as connection:
        connection.execute(
            "INSERT INTO checkpoints (agent, size, note) VALUES (?, 1, ?)", (AGENT, note)
        )
    with owned.open() as record, pytest.raises(RolledBack):
        record.start()


def first_note(owned: Owned) -> str:
    with owned.open(readonly=True) as record:
        return sign_checkpoint(
            Checkpoint(record.keeping.log, 1, tree_of([record.entry(0).hash]).root.hex()),
            record.require_sealing().signer(),
        )


def test_after_a_rotation_proofs_lead_to_the_longest_checkpoint_and_the_list_is_in_order(
    owned: Owned,
) -> None:
    with owned.open() as record:
        record.checkpoint()
        record_rotation.rotate(record, 6)
        sizes = [size for size, _ in record.checkpoints()]
        assert sizes == sorted(sizes)
        assert 6 in sizes
        assert record.prove(0).size == sizes[-1] == 10


def drop_nothing(*_: object) -> int:
    return 0


def test_a_rotation_cut_short_after_the_file_leaves_every_entry_once(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    with owned.open() as record, monkeypatch.context() as patch:
        patch.setattr(type(record.store), "drop_before", drop_nothing)
        record_rotation.rotate(record, 6)
    assert (owned.verify().findings, owned.verify().entries) == ((), 11)
    with owned.open() as record:
        record_rotation.rotate(record, 6)
    assert (owned.verify().findings, owned.verify().entries) == ((), 12)


def test_a_field_is_erased_inside_a_segment(owned: Owned) -> None:
    with owned.open() as record:
        path = record_rotation.rotate(record, 6).path
        record.erase(3, ["text"], reason="asked for")
    assert "note 3" not in path.read_text()
    verdict = owned.verify()
    assert verdict.findings == ()
    assert [erased.index for erased in verdict.erased] == [3]


def test_a_value_that_comes_back_after_its_tombstone_is_named(owned: Owned) -> None:
    with owned.open() as record:
        path = record_rotation.rotate(record, 6).path
        before = path.read_bytes()
        tombstone = record.erase(3, ["text"], reason="asked for")
    path.write_bytes(before)
    (finding,) = owned.verify().findings
    assert (finding.index, finding.attack) == (3, "erased")
    assert f"entry {tombstone.index} says it was erased" in finding.message


def test_segments_expire_by_policy_and_an_entry_says_so(owned: Owned) -> None:
    with owned.open() as record:
        first = record_rotation.rotate(record, 3).path
        second = record_rotation.rotate(record, 6).path
        with pytest.raises(UsageError, match="kept for ever"):
            record_rotation.expire(record)
    keep_segments(owned, days=9)
    with owned.open() as record:
        done = record_rotation.expire(record)
        assert done.files == (first,)
        assert done.entry is not None
        assert done.entry.kind == "retention"
        proof = record.prove(1)
        assert record_export.check_proof(to_json(proof), record.require_sealing().pin).good
    assert not first.exists()
    assert second.exists()
    verdict = owned.verify()
    assert verdict.findings == ()
    assert "entries 0 to 2 are not here: only their hashes were used" in verdict.notes
    second.unlink()
    assert [finding.attack for finding in owned.verify().findings] == ["deleted"]


def test_what_was_let_go_is_known_to_the_auditor(owned: Owned, tmp_path: Path) -> None:
    with owned.open() as record:
        path = record_rotation.rotate(record, 3).path
    keep_segments(owned, days=1)
    with owned.open() as record:
        record_rotation.expire(record)
        pin = record_export.write_export(record, tmp_path / "out.zip").pin
    assert not path.exists()
    told = auditor.audit(
        str(tmp_path / "out.zip"), key=pin.public_key, origin=pin.origin, checkpoints=()
    )
    assert (told["findings"], told["entries"]) == ([], 12)
    assert "entries 0 to 2 are not here: only their hashes are" in told["notes"]
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(tmp_path / "out.zip") as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "entries.jsonl":
                lines = content.splitlines(keepends=True)
                moved = [f"{json.loads(line)['hash']}\n".encode() for line in lines[:2]]
                content = b"".join(lines[2:])
                gone = source.read("dropped.txt") + b"".join(moved)
                target.writestr("dropped.txt", gone)
            if name not in ("dropped.txt", "report.html"):
                target.writestr(name, content)
    told = auditor.audit(str(other), key=pin.public_key, origin=pin.origin, checkpoints=())
    missing, counted = told["findings"]
    assert "entries 0 to 4 are missing" in missing["message"]
    assert counted["message"] == "ledger.json tells of 9 entries, not 7"


def test_a_time_says_what_to_rotate_too(owned: Owned) -> None:
    with owned.open() as record:
        time = record.entry(4).time
        assert record_rotation.index_before(record, time) == 4
        assert record_rotation.index_before(record, "7") == 7
        assert record_rotation.index_before(record, "2030-01-01") == 9
        with pytest.raises(UsageError, match="neither an index nor a time"):
            record_rotation.index_before(record, "soon")


# Rollback and repair


def older_copy(owned: Owned, entries: int) -> None:
    """Put the ledger back to where it had so many entries, checkpoints and all."""
    with Database(owned.path / "mentis.db") as database, database.write() as connection:
        connection.execute("DELETE FROM ledger WHERE idx >= ?", (entries,))
        connection.execute("DELETE FROM checkpoints WHERE size > ?", (entries,))


def test_a_rolled_back_ledger_takes_nothing_until_that_is_accepted(owned: Owned) -> None:
    older_copy(owned, 7)
    with owned.open() as record:
        with pytest.raises(RolledBack):
            record.checkpoint()
        entry = record_rollback.accept_rollback(record, reason="the disk died").entry
    assert (entry.kind, entry.index) == ("rollback", 7)
    owned.add(1)
    verdict = owned.verify()
    assert verdict.findings == ()
    assert any("a rollback was accepted" in note for note in verdict.notes)
    with owned.open() as record, pytest.raises(UsageError, match="nothing was rolled back"):
        record_rollback.accept_rollback(record, reason="again")


def test_a_rollback_is_accepted_also_where_the_store_still_has_the_lost_checkpoint(
    owned: Owned, tmp_path: Path
) -> None:
    with owned.open() as record:
        record_keys.add_anchor(record, f"file:{tmp_path / 'anchor.txt'}")
    with Database(owned.path / "mentis.db") as database, database.write() as connection:
        connection.execute("DELETE FROM ledger WHERE idx >= 7")
    with owned.open() as record:
        record_rollback.accept_rollback(record, reason="the disk died")
    owned.add(5)
    verdict = owned.verify()
    assert (verdict.findings, verdict.vouched) == ((), 13)


def test_a_ledger_that_went_another_way_is_accepted_back_to_the_last_common_checkpoint(
    owned: Owned,
) -> None:
    owned.add(5)
    older_copy(owned, 12)
    # Somebody without the key goes on with the copy.
    with owned.open() as record:
        for n in range(6):
            draft = Draft("note", "elsewhere", {"n": n})
            record.store.append(AGENT, [draft], record.stamp())
        with pytest.raises(RolledBack):
            record.start()
        entry = record_rollback.accept_rollback(record, reason="two machines").entry
    assert entry.index == 18
    owned.add(1)
    verdict = owned.verify()
    assert verdict.findings == ()
    assert any("proved 12 of the 18 entries" in note for note in verdict.notes)


def test_repair_points_at_the_damage_and_changes_nothing(owned: Owned) -> None:
    with owned.open() as record:
        assert record.repair().entry is None
    with Database(owned.path / "mentis.db") as database, database.write() as connection:
        connection.execute("UPDATE ledger SET source = 'x' WHERE idx = 4")
    with owned.open() as record:
        before = list(record.store.entries(AGENT))
        done = record.repair()
        assert list(record.store.entries(AGENT))[:-1] == before
    assert done.entry is not None
    assert "entry 4, hash" in str(done.entry.body["findings"])
    assert owned.verify().findings[0].index == 4


# Handing over


def test_an_export_never_overwrites_and_needs_every_segment(owned: Owned, tmp_path: Path) -> None:
    with owned.open() as record:
        segment = record_rotation.rotate(record, 4).path
        done = record_export.write_export(record, tmp_path / "out.zip")
        assert done.path.stat().st_mode & 0o777 == 0o600
        assert done.entries == 11
        with pytest.raises(UsageError, match="is there already"):
            record_export.write_export(record, tmp_path / "out.zip")
        segment.unlink()
        with pytest.raises(UsageError, match="entries 0 to 3 are neither"):
            record_export.write_export(record, tmp_path / "other.zip")


def test_an_export_that_fails_leaves_nothing(
    owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(*_: object, **__: object) -> int:
        raise StoreDamaged("it cannot be read further")

    monkeypatch.setattr(record_export, "export_bundle", torn)
    with owned.open() as record, pytest.raises(StoreDamaged):
        record_export.write_export(record, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_a_proof_from_before_a_change_of_the_key_is_checked_with_the_record(
    owned: Owned, tmp_path: Path
) -> None:
    with owned.open() as record:
        proof, before = record.prove(3), record.require_sealing().signer()
        record_keys.change_key(record)
    owned.add(2)
    with owned.open() as record:
        pin, now = record.require_sealing().pin, record.prove(11)
        record_rotation.rotate(record, 12)
    assert record_export.check_proof(to_json(proof), pin).signed is False
    checked = record_export.check_proof_at(owned.path, to_json(proof), os.environ)
    assert (checked.good, checked.changed) == (True, True)
    checked = record_export.check_proof_at(owned.path, to_json(now), os.environ)
    assert (checked.good, checked.changed) == (True, False)
    # A key that was given up signs nothing later than its end.
    says = Checkpoint(pin.log(AGENT), now.size, now.root)
    late = replace(now, note=sign_checkpoint(says, before))
    assert not record_export.check_proof_at(owned.path, to_json(late), os.environ).good
    assert not record_export.check_proof_at(tmp_path, to_json(proof), os.environ).good


def test_a_proof_says_whether_the_pinned_key_signed_it(owned: Owned) -> None:
    with owned.open() as record:
        pin, proof = record.require_sealing().pin, record.prove(3)
        growth = record.prove_growth(4)
    assert record_export.check_proof(to_json(proof), pin).good
    assert record_export.check_proof(to_json(growth), pin).good
    assert record_export.check_proof(to_json(proof), None).signed is None
    other = replace(pin, origin="example.org/other")
    assert record_export.check_proof(to_json(proof), other).signed is False
    moved = replace(proof, index=4)
    assert not record_export.check_proof(to_json(moved), pin).holds
    assert not record_export.check_proof(to_json(replace(growth, old_size=5)), pin).holds


def test_a_setting_that_cannot_be_changed_leaves_no_second_key(owned: Owned) -> None:
    marker = owned.path / "mentis.toml"
    marker.write_text('ledger = { store = "sqlite" }\n')
    forget(owned.path)
    keys = sorted(Path(os.environ["MENTIS_CONFIG"]).rglob("*.pem"))
    with pytest.raises(SettingsError):
        init_log(Home(owned.path), os.environ)
    assert sorted(Path(os.environ["MENTIS_CONFIG"]).rglob("*.pem")) == keys
    with pytest.raises(SettingsError):
        change_settings(owned.path, "ledger", {"origin": "x"})
