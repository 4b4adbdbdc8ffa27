"""What is compared with the tables of a server is what the migrations make."""

from __future__ import annotations

import re

from mentis.stores.postgres.migrations import MIGRATIONS
from mentis.stores.postgres.schema import CHECKED


def test_every_table_that_the_migrations_make_is_looked_at() -> None:
    statements = " ".join(statement for step in MIGRATIONS for statement in step)
    assert {*re.findall(r"CREATE TABLE (\w+)", statements), "version"} == CHECKED
