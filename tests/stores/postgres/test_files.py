"""Files of a home as rows: what changed is known by one number, and nobody overwrites another."""

from __future__ import annotations

import pytest

from mentis.errors import StoreConflict, StoreDamaged
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.files import GONE, FileRow, PostgresFiles
from mentis.values.digest import digest

PERSONA = FileRow("personas/ada/persona.toml", b"name = 'Ada'\n")
SKILL = FileRow("skills/run.sh", b"#!/bin/sh\n", runs=True)


@pytest.fixture
def files(postgres: PostgresDatabase) -> PostgresFiles:
    return PostgresFiles(postgres)


def test_what_changed_since_a_revision_is_told_with_what_is_gone(files: PostgresFiles) -> None:
    assert (files.newest, files.since(0)) == (0, ((), 0))
    assert files.save([PERSONA, SKILL], {}) == files.newest == 2
    assert files.since(0) == ((PERSONA, SKILL), 2)
    gone = FileRow(SKILL.path, None)
    assert files.save([gone], {SKILL.path: SKILL.digest}) == 3
    assert files.since(2) == ((gone,), 3)
    assert files.since(3) == ((), 3)


@pytest.mark.parametrize("expected", [GONE, digest(b"another")])
def test_one_that_is_not_what_was_expected_keeps_all_of_them_out(
    files: PostgresFiles, expected: str
) -> None:
    files.save([PERSONA], {})
    with pytest.raises(StoreConflict, match=r"personas/ada/persona\.toml was changed"):
        files.save([SKILL, FileRow(PERSONA.path, b"mine")], {PERSONA.path: expected})
    assert files.since(0) == ((PERSONA,), 1)


def test_a_changed_row_is_damage(files: PostgresFiles, postgres: PostgresDatabase) -> None:
    files.save([PERSONA], {})
    with postgres.session() as connection:
        connection.execute("UPDATE files SET data = 'x'")
    with pytest.raises(StoreDamaged, match="is not what its digest says"):
        files.since(0)
