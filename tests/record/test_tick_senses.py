"""Senses that wait for the next tick in files and rows: ours by a seal, anybody's without it."""

from __future__ import annotations

from pathlib import Path

from mentis.app.wiring import open_agent_parts
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.record.tick_senses import kept_senses, read_senses, seal_senses, write_senses
from mentis.stores.memory.blobs import BlobsInMemory
from mentis.values.cognition import Sense
from mentis.values.trust import Trust

NOTE = Sense("delivery-1", "mail", {"text": "Keep it."}, Trust.OWNER, "post")


def test_senses_without_our_seal_are_nobodys(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    agent_parts, database, _ = open_agent_parts(home, persona=None, route="default", parts=Parts())
    with database:
        content, blobs = write_senses([NOTE]), BlobsInMemory()
        assert read_senses(agent_parts.who, content, seal_senses(agent_parts.who, content)) == (
            NOTE,
        )
        assert [one.trust for one in read_senses(agent_parts.who, content, "")] == [Trust.UNTRUSTED]
        (forged,) = kept_senses(
            agent_parts.who, blobs, {"blob": blobs.keep(content), "seal": "0" * 64}
        )
        assert forged.trust is Trust.UNTRUSTED
        assert kept_senses(agent_parts.who, blobs, {"blob": "sha256:0"})[0].kind == "senses.lost"
        unsayable = Sense("s", "mail", {"text": "\ud800"}, Trust.OWNER)
        assert (
            read_senses(agent_parts.who, write_senses([unsayable, NOTE]), "")[0].kind
            == "senses.lost"
        )
        agent_parts.acting.close()
        agent_parts.record.ledger.close()
