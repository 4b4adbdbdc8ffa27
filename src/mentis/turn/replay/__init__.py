"""Replay: a recorded turn put together again, or with one change."""
