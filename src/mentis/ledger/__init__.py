"""The append-only record: canonical bytes, the hash chain, and its verification."""
