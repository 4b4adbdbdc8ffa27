"""The ledger in PostgreSQL: one chain per agent, many agents and processes at once."""
