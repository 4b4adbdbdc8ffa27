"""The `mentis` command."""
