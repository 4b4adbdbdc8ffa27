"""Whether our tables are those that the migrations make, and nothing acts on them.

A rule or a trigger decides what is written, a policy or a view what is read, so nothing that goes
through it could be believed. What else is in the schema is not ours to judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mentis.errors import StoreDamaged
from mentis.stores.rows import Row

if TYPE_CHECKING:
    import psycopg

_MOST = 5
# One line for each thing that makes a table what it is, without the name of the schema.
_READ = """
WITH ours AS (
    SELECT pg_class.* FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
    WHERE nspname = current_schema() AND relname = ANY(%s)
)
SELECT relname, CASE WHEN relkind = 'r' THEN 'table' ELSE 'relation of kind ' || relkind::text END
    || CASE WHEN relpersistence = 'p' THEN '' ELSE ', not kept' END
    || CASE WHEN relrowsecurity THEN ', with row security' ELSE '' END
    || CASE WHEN relispartition THEN ', a partition' ELSE '' END
FROM ours
UNION ALL SELECT relname, concat_ws(' ', 'column', attname, format_type(atttypid, atttypmod),
    CASE WHEN attnotnull THEN 'not null' END, CASE WHEN collname <> 'default' THEN collname END,
    CASE WHEN atthasdef THEN 'default' END, nullif(attidentity::text, ''),
    nullif(attgenerated::text, ''))
FROM ours JOIN pg_attribute ON attrelid = ours.oid LEFT JOIN pg_collation c ON c.oid = attcollation
WHERE attnum > 0 AND NOT attisdropped
UNION ALL SELECT relname, CASE WHEN indisvalid THEN '' ELSE 'invalid ' END
    || regexp_replace(pg_get_indexdef(indexrelid), ' ON (ONLY )?.* USING ', ' USING ')
FROM ours JOIN pg_index ON indrelid = ours.oid
UNION ALL SELECT relname, 'constraint ' || conname
FROM ours JOIN pg_constraint ON conrelid = ours.oid WHERE contype NOT IN ('p', 'u', 'n')
UNION ALL SELECT relname, 'rule ' || rulename FROM ours JOIN pg_rewrite ON ev_class = ours.oid
UNION ALL SELECT relname, 'trigger ' || tgname FROM ours JOIN pg_trigger ON tgrelid = ours.oid
UNION ALL SELECT relname, 'policy ' || polname FROM ours JOIN pg_policy ON polrelid = ours.oid
UNION ALL SELECT relname, 'inheritance'
FROM ours JOIN pg_inherits ON ours.oid IN (inhrelid, inhparent)
"""
_EXPECTED = {
    "ledger": """
        table
        column agent text not null C
        column idx bigint not null
        column time text not null
        column source text not null
        column kind text not null
        column ruleset text
        column prev text
        column fields text not null
        column hash text not null C
        column body text not null
        column salts text not null
        column recipe text not null
        column delivery text C
        CREATE UNIQUE INDEX ledger_pkey USING btree (agent, idx)
        CREATE UNIQUE INDEX ledger_delivery USING btree (agent, delivery) """
    """WHERE (delivery IS NOT NULL)
    """,
    "dropped": """
        table
        column agent text not null C
        column idx bigint not null
        column hash text not null
        column delivery text C
        CREATE UNIQUE INDEX dropped_pkey USING btree (agent, idx)
        CREATE UNIQUE INDEX dropped_agent_delivery_key USING btree (agent, delivery)
    """,
    "checkpoints": """
        table
        column id bigint not null a
        column agent text not null C
        column size bigint not null
        column note text not null
        CREATE UNIQUE INDEX checkpoints_pkey USING btree (id)
    """,
    "leases": """
        table
        column agent text not null C
        column owner text not null
        column fence bigint not null
        column expires text not null
        column released integer not null
        column purpose text not null C
        CREATE UNIQUE INDEX leases_pkey USING btree (agent, purpose)
    """,
    "marks": """
        table
        column agent text not null C
        column kind text not null C
        column key text not null C
        column value text not null
        CREATE UNIQUE INDEX marks_pkey USING btree (agent, kind, key)
    """,
    "memories": """
        table
        column agent text not null C
        column id text not null C
        column memory text not null
        column text text not null
        column content text C
        column revision bigint not null
        column state text not null C
        column kind text not null C
        column worth text not null C
        column time text not null C
        column names text not null C
        column words text not null C
        CREATE UNIQUE INDEX memories_pkey USING btree (agent, id)
        CREATE INDEX memory_content USING btree (agent, content, id)
        CREATE INDEX memory_revision USING btree (agent, revision)
        CREATE INDEX memory_list USING btree (agent, state, "time", id, kind, worth)
    """,
    "memory_vectors": """
        table
        column agent text not null C
        column fingerprint text not null C
        column id text not null C
        column text text not null
        column vector real[] not null
        column revision bigint not null
        CREATE UNIQUE INDEX memory_vectors_pkey USING btree (agent, fingerprint, id)
    """,
    "memory_standing": """
        table
        column agent text not null C
        column revision bigint not null
        column forgotten bigint not null
        CREATE UNIQUE INDEX memory_standing_pkey USING btree (agent)
    """,
    "revisions": """
        table
        column key text not null C
        column number bigint not null
        column content text not null
        column digest text not null
        column time text not null
        column words text not null
        column author text not null
        CREATE UNIQUE INDEX revisions_pkey USING btree (key, number)
    """,
    "inventory": """
        table
        column number bigint not null a
        column scope text not null C
        column kind text not null C
        column name text not null C
        column salt text
        column leaf text
        column bound text not null C
        CREATE UNIQUE INDEX inventory_pkey USING btree (number)
        CREATE UNIQUE INDEX inventory_scope_kind_name_key USING btree (scope, kind, name)
        CREATE INDEX inventory_bound USING btree (scope, bound)
    """,
    "inventory_lists": """
        table
        column digest text not null C
        column items text not null
        CREATE UNIQUE INDEX inventory_lists_pkey USING btree (digest)
    """,
    "turns": """
        table
        column id bigint not null a
        column agent text not null C
        column session text not null C
        column number bigint not null
        column turn text not null
        CREATE UNIQUE INDEX turns_pkey USING btree (agent, session, number)
    """,
    "media": """
        table
        column agent text not null C
        column digest text not null C
        column data bytea not null
        CREATE UNIQUE INDEX media_pkey USING btree (agent, digest)
    """,
    "turn_media": """
        table
        column agent text not null C
        column session text not null C
        column number bigint not null
        column part bigint not null
        column digest text not null C
        CREATE UNIQUE INDEX turn_media_pkey USING btree (agent, session, number, part)
    """,
    "blobs": """
        table
        column digest text not null C
        column data bytea not null
        CREATE UNIQUE INDEX blobs_pkey USING btree (digest)
    """,
    "files": """
        table
        column path text not null C
        column data bytea
        column digest text not null
        column runs integer not null
        column revision bigint not null
        CREATE UNIQUE INDEX files_pkey USING btree (path)
        CREATE UNIQUE INDEX file_revision USING btree (revision)
    """,
    "inbox": """
        table
        column agent text not null C
        column id text not null C
        column number bigint not null a
        column session text not null
        column stimulus text not null
        column seal text not null
        column time timestamp with time zone not null
        column tries integer not null
        column answer text
        CREATE UNIQUE INDEX inbox_pkey USING btree (agent, id)
        CREATE INDEX inbox_waiting USING btree (agent, number) WHERE (answer IS NULL)
    """,
    "rings": """
        table
        column agent text not null C
        column due timestamp with time zone not null
        column number bigint not null
        column claim bigint not null
        column claimed boolean not null
        CREATE UNIQUE INDEX rings_pkey USING btree (agent)
        CREATE INDEX ring_due USING btree (due)
    """,
    "workers": """
        table
        column name text not null C
        column since timestamp with time zone not null
        column seen timestamp with time zone not null
        column serving integer not null
        column draining boolean not null
        CREATE UNIQUE INDEX workers_pkey USING btree (name)
    """,
    "version": """
        table
        column number integer not null
    """,
}
CHECKED = frozenset(_EXPECTED)


def check_schema(connection: psycopg.Connection[Row], where: str) -> None:
    """StoreDamaged unless each of our tables is as the newest version has it."""
    rows = connection.execute(_READ.encode(), (sorted(CHECKED),)).fetchall()
    found = Counter((table, line) for table, line in rows)
    expected = Counter(_lines())
    odd, missing = (found - expected).elements(), (expected - found).elements()
    told = [f"{table} has {line!r}, which is not ours" for table, line in sorted(odd)]
    told += [f"{table} lacks {line!r}" for table, line in sorted(missing)]
    if told:
        raise StoreDamaged(
            f"{where} does not have the tables it should have: {'; '.join(told[:_MOST])}",
            hint="it was left as it is; take out what is not ours, or put a backup in its place",
            column="schema",
        )


def _lines() -> Iterator[tuple[str, str]]:
    for table, text in _EXPECTED.items():
        yield from ((table, line.strip()) for line in text.strip().splitlines())
