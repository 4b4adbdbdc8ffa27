"""Logs of other programs: where the money went, why the cache broke, and what to change."""
