"""Net: the one HTTP policy."""
