"""Of a home that somebody has changed, `verify` and the auditor of its export say the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mentis.errors import MentisError
from mentis.home.create import create_home
from mentis.ledger import auditor
from mentis.record.export import write_export
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.values.entry import Draft

TWICE = """update ledger set NAME = '{"text":"x",' || substr(NAME, 2) where idx = 2"""
CHANGES = {
    "nothing": ("select 1", True),
    "a checkpoint less": ("delete from checkpoints where size < 4", True),
    "the same, written otherwise": ("update ledger set body = ' ' || body where idx = 2", True),
    "a source": ("update ledger set source = 'x' where idx = 2", False),
    "a time": ("update ledger set time = '2030-01-01T00:00:00.000000Z' where idx = 2", False),
    "a kind": ("update ledger set kind = 'erasure' where idx = 2", False),
    "a body": ('update ledger set body = \'{"text":"x","n":2}\' where idx = 2', False),
    "a body that is no object": ("update ledger set body = '[]' where idx = 2", False),
    "salts": ("update ledger set salts = '{}' where idx = 2", False),
    "salts in capitals": ("update ledger set salts = upper(salts) where idx = 2", False),
    "a hash in capitals": ("update ledger set hash = upper(hash) where idx = 5", False),
    "a recipe": ("update ledger set recipe = 's2-v4' where idx = 2", False),
    "a delivery": ("update ledger set delivery = 'x' where idx = 2", False),
    "a key twice in the body": (TWICE.replace("NAME", "body"), False),
    "a key twice in the commitments": (TWICE.replace("NAME", "fields"), False),
    "a key twice in the salts": (TWICE.replace("NAME", "salts"), False),
    "the last entry": ("delete from ledger where idx = 5", False),
    "an entry": ("delete from ledger where idx = 2", False),
    "a checkpoint": ("update checkpoints set note = replace(note, '4', '5')", False),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = create_home(tmp_path / "home")
    with open_record(home) as record:
        for n in range(6):
            draft = Draft("note", "test", {"text": f"note {n}", "n": n})
            record.ledger.append(record.agent, [draft], record.stamp())
            if n in (2, 5):
                record.checkpoint()
    return home


def audited(home: Path, bundle: Path) -> bool:
    """Whether the auditor finds the export whole; what is not handed out at all is not."""
    try:
        with open_record(home) as record:
            pin = write_export(record, bundle).pin
    except MentisError:
        return False
    told = auditor.audit(str(bundle), key=pin.public_key, origin=pin.origin, checkpoints=())
    return told["intact"] and told["signed"] == told["entries"]


@pytest.mark.parametrize("name", CHANGES)
def test_verify_and_the_auditor_say_the_same_of_a_changed_home(
    home: Path, tmp_path: Path, name: str
) -> None:
    change, intact = CHANGES[name]
    with closing(sqlite3.connect(home / "mentis.db")) as database, database:
        database.execute(change)
    verdicts = verify_home(home)
    assert all(verdict.intact for verdict in verdicts) == intact, verdicts
    assert audited(home, tmp_path / "out.zip") == intact
