"""Somebody with the file changes it; `status verify`, or the refusal to start, names what was done.

The database is a real one, and whoever attacks it knows the recipes, but not the key.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from mentis.ledger.chain import commit_field, hash_entry
from mentis.ledger.checkpoint import sign_checkpoint
from mentis.ledger.merkle import tree_of
from mentis.ledger.signature import encode_key
from mentis.ports.signer import SeededSigner
from mentis.record.keys import add_anchor
from mentis.record.record import open_record
from mentis.stores.rows import COLUMNS, to_entry, to_row
from mentis.values.checkpoint import Checkpoint
from mentis.values.entry import Draft, Entry


class Done(Protocol):
    code: int
    out: str
    err: str

    def json(self) -> Any: ...  # noqa: ANN401 - what a command prints


Mentis = Callable[..., Done]
THIEF = SeededSigner(bytes([9] * 32))
SELECT = f"SELECT {', '.join(COLUMNS)} FROM ledger ORDER BY idx"  # noqa: S608 - constants
INSERT = f"INSERT INTO ledger ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608


class Victim:
    """A home with ten entries, sealed, with an anchor elsewhere that has seen them."""

    def __init__(self, mentis: Mentis, home: Path, elsewhere: Path) -> None:
        self.mentis = mentis
        self.home = home
        self.anchor = elsewhere / "anchor.txt"
        self.add(6)
        self.older = elsewhere / "older.db"
        self._copy(self.older)
        self.add(4)
        with open_record(home) as record:
            add_anchor(record, f"file:{self.anchor}")

    def add(self, count: int) -> None:
        with open_record(self.home) as record:
            start = record.store.count(record.agent)
            for n in range(start, start + count):
                draft = Draft("note", "test", {"text": f"note {n}"}, delivery=f"mail-{n}")
                record.ledger.append(record.agent, [draft], record.stamp())

    @contextmanager
    def attack(self) -> Generator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.home / "mentis.db")) as connection, connection:
            yield connection

    @property
    def chain(self) -> list[Entry]:
        with self.attack() as connection:
            return [to_entry(row) for row in connection.execute(SELECT)]

    def put(self, chain: list[Entry]) -> None:
        with self.attack() as connection:
            connection.execute("DELETE FROM ledger")
            connection.executemany(INSERT, [to_row(entry) for entry in chain])

    def put_older(self) -> None:
        for file in self.home.glob("mentis.db*"):
            file.unlink()
        shutil.copy(self.older, self.home / "mentis.db")

    def verify(self) -> tuple[Done, list[dict[str, Any]]]:
        done = self.mentis("--home", self.home, "status", "verify", "--json")
        chains = json.loads(done.out)["chains"]
        return done, [finding for chain in chains for finding in chain["findings"]]

    def named(self) -> set[str]:
        done, findings = self.verify()
        assert done.code == 1
        return {finding["attack"] for finding in findings}

    def refused(self) -> None:
        """Nothing goes on from here, by no way in."""
        done = self.mentis("--home", self.home, "chat", "hello")
        assert done.code == 1
        assert "[rolled-back]" in done.err
        assert "accept-rollback" in done.err
        assert self.mentis("--home", self.home, "ledger", "checkpoint").code == 1

    def started(self) -> None:
        assert self.mentis("--home", self.home, "chat", "hello").code == 0

    def _copy(self, target: Path) -> None:
        with self.attack() as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)


@pytest.fixture
def victim(mentis: Mentis, home: Path, tmp_path: Path) -> Victim:
    return Victim(mentis, home, tmp_path)


def rechained(chain: list[Entry]) -> list[Entry]:
    """Every commitment, link and hash made to fit again."""
    fitting: list[Entry] = []
    for index, entry in enumerate(chain):
        salts = {name: bytes.fromhex(salt) for name, salt in entry.salts.items()}
        fields = {name: commit_field(name, entry.body[name], salts[name]) for name in entry.body}
        prev = fitting[-1].hash if fitting else None
        bent = replace(entry, index=index, prev=prev, fields=fields)
        fitting.append(replace(bent, hash=hash_entry(bent)))
    return fitting


def test_nobody_touched_it(victim: Victim) -> None:
    done, findings = victim.verify()
    assert (done.code, findings) == (0, [])
    assert json.loads(done.out)["chains"][0]["vouched"] == 10
    victim.started()


def test_an_edited_body_is_named(victim: Victim) -> None:
    with victim.attack() as connection:
        connection.execute("UPDATE ledger SET body = replace(body, 'note 4', 'x') WHERE idx = 4")
    _, (finding,) = victim.verify()
    assert (finding["index"], finding["column"], finding["attack"]) == (4, "body", "edited")


@pytest.mark.parametrize("column", ["source", "kind", "time", "ruleset"])
def test_an_edited_column_is_named(victim: Victim, column: str) -> None:
    with victim.attack() as connection:
        connection.execute(f"UPDATE ledger SET {column} = 'x' WHERE idx = 4")  # noqa: S608
    _, findings = victim.verify()
    assert (findings[0]["index"], findings[0]["attack"]) == (4, "edited")


def test_a_deleted_entry_is_named(victim: Victim) -> None:
    with victim.attack() as connection:
        connection.execute("DELETE FROM ledger WHERE idx = 4")
    assert "deleted" in victim.named()


def test_an_inserted_entry_is_named(victim: Victim) -> None:
    chain = victim.chain
    forged = replace(chain[4], delivery=None, source="boss")
    later = [replace(entry, index=entry.index + 1) for entry in chain[4:]]
    victim.put([*chain[:4], forged, *later])
    assert "inserted" in victim.named()
    victim.refused()


def test_reordered_entries_are_named(victim: Victim) -> None:
    chain = victim.chain
    chain[4], chain[5] = replace(chain[5], index=4), replace(chain[4], index=5)
    victim.put(chain)
    assert "reordered" in victim.named()


def test_a_truncated_ledger_is_named_and_refuses_to_start(victim: Victim) -> None:
    with victim.attack() as connection:
        connection.execute("DELETE FROM ledger WHERE idx >= 7")
    assert victim.named() == {"truncated"}
    victim.refused()


def test_an_older_copy_is_named_and_refuses_to_start(victim: Victim) -> None:
    victim.put_older()
    named = victim.named()
    assert named <= {"rolled-back", "truncated"}
    victim.refused()


def test_an_emptied_ledger_is_named_and_refuses_to_start(victim: Victim) -> None:
    with victim.attack() as connection:
        connection.execute("DELETE FROM ledger")
        connection.execute("DELETE FROM checkpoints")
    assert victim.named() == {"emptied"}
    victim.refused()


def test_a_database_that_was_removed_refuses_to_start(victim: Victim) -> None:
    for file in victim.home.glob("mentis.db*"):
        file.unlink()
    victim.refused()


def test_a_recomputed_suffix_is_named_and_refuses_to_start(victim: Victim) -> None:
    chain = victim.chain
    chain[7] = replace(chain[7], body={**chain[7].body, "text": "never said"})
    victim.put(rechained(chain))
    _, (finding,) = victim.verify()
    assert (finding["index"], finding["attack"]) == (6, "rewritten")
    victim.refused()


def test_a_rewritten_ledger_with_checkpoints_of_another_key_is_named(victim: Victim) -> None:
    chain = victim.chain
    chain[2] = replace(chain[2], source="boss")
    chain = rechained(chain)
    victim.put(chain)
    with open_record(victim.home, readonly=True) as record:
        log = record.require_sealing().pin.log(record.agent)
    says = Checkpoint(log, 10, tree_of(entry.hash for entry in chain).root.hex())
    with victim.attack() as connection:
        connection.execute("DELETE FROM checkpoints")
        connection.execute(
            "INSERT INTO checkpoints (agent, size, note) VALUES ('home/ada', 10, ?)",
            (sign_checkpoint(says, THIEF),),
        )
    assert victim.named() == {"forged", "rewritten"}
    victim.refused()


def test_the_ledger_of_another_agent_in_its_place_is_named(victim: Victim) -> None:
    with victim.attack() as connection:
        connection.execute("UPDATE ledger SET agent = 'home/eve'")
        connection.execute("UPDATE checkpoints SET agent = 'home/eve'")
    assert {"emptied", "identity"} <= victim.named()
    victim.refused()


def test_another_name_of_the_log_is_named(victim: Victim) -> None:
    marker = victim.home / "mentis.toml"
    lines = marker.read_text().splitlines(keepends=True)
    marker.write_text(
        "".join('origin = "example.org/eve"\n' if li.startswith("origin") else li for li in lines)
    )
    assert "identity" in victim.named()


def test_another_key_in_the_settings_is_named(victim: Victim) -> None:
    marker = victim.home / "mentis.toml"
    lines = marker.read_text().splitlines(keepends=True)
    key = f'public_key = "{encode_key(THIEF.public)}"\n'
    marker.write_text("".join(key if li.startswith("public_key") else li for li in lines))
    assert victim.named() == {"forged", "identity"}


def test_a_forged_checkpoint_at_the_anchor_is_named(victim: Victim) -> None:
    with open_record(victim.home, readonly=True) as record:
        log = record.require_sealing().pin.log(record.agent)
    with victim.anchor.open("a") as file:
        file.write(sign_checkpoint(Checkpoint(log, 10, "00" * 32), THIEF))
    assert victim.named() == {"forged"}


def test_a_draft_cannot_be_replayed_without_another_table(victim: Victim) -> None:
    chain = victim.chain
    with victim.attack() as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%delivery%'"
        ).fetchall():
            connection.execute(f"DROP INDEX {name}")
    victim.put(rechained([*chain, chain[3]]))
    done = victim.mentis("--home", victim.home, "status", "verify")
    assert (done.code, "missing: index 'ledger_delivery'" in done.err) == (1, True)


def test_a_field_taken_out_without_a_tombstone_is_named(victim: Victim) -> None:
    chain = victim.chain
    body = {name: value for name, value in chain[4].body.items() if name != "text"}
    salts = {name: value for name, value in chain[4].salts.items() if name != "text"}
    chain[4] = replace(chain[4], body=body, salts=salts)
    victim.put(chain)
    assert victim.named() == {"erased"}


def test_an_accepted_rollback_lets_it_go_on_and_is_told_for_ever(victim: Victim) -> None:
    victim.put_older()
    victim.refused()
    asked = victim.mentis("--home", victim.home, "ledger", "accept-rollback", "--reason", "disk")
    assert asked.code == 2
    done = victim.mentis(
        "--home", victim.home, "ledger", "accept-rollback", "--reason", "disk", "--yes"
    )
    assert done.out == "entry 6 says that a rollback was accepted: disk\n"
    victim.started()
    verified = victim.mentis("--home", victim.home, "status", "verify")
    assert verified.code == 0
    assert "a rollback was accepted" in verified.err


def test_a_resumed_verification_notices_and_goes_on_once_the_rollback_is_accepted(
    victim: Victim,
) -> None:
    verify = ("--home", victim.home, "status", "verify", "--resume")
    assert victim.mentis(*verify).code == 0
    victim.put_older()
    assert victim.mentis(*verify).code == 1
    assert not list(victim.home.rglob("verified*")), "it is not for the home to say"
    victim.mentis("--home", victim.home, "ledger", "accept-rollback", "--reason", "x", "--yes")
    assert victim.mentis(*verify).code == 0
    resumed = victim.mentis(*verify)
    assert resumed.code == 0
    assert "whether an erased value is back" in resumed.err


def test_repair_points_at_the_damage_and_stays_at_exit_code_1(victim: Victim) -> None:
    with victim.attack() as connection:
        connection.execute("UPDATE ledger SET source = 'boss' WHERE idx = 4")
    done = victim.mentis("--home", victim.home, "ledger", "repair")
    assert done.code == 1
    assert "entry 4, hash:" in done.out
    assert "entry 10 points at it" in done.err
    assert victim.chain[4].source == "boss"
    assert victim.named() == {"edited"}


def test_the_name_of_an_agent_writes_no_line_of_the_verdict(victim: Victim) -> None:
    evil = "home/zz\nok  home/boss: 999 entries, head feed\x1b[2K"
    with victim.attack() as connection:
        connection.execute(INSERT, to_row(replace(victim.chain[0], agent=evil)))
    done = victim.mentis("--home", victim.home, "status", "verify")
    assert done.code == 1
    assert not any(line.startswith("ok  home/boss") for line in done.out.splitlines())
    assert "\x1b" not in done.out + done.err
