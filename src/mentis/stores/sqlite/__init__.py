"""The store ports on one SQLite file, the embedded default."""
