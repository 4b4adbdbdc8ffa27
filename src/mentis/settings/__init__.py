"""Settings: what the owner chose, from files and environment, each value with its place."""
