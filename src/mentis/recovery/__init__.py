"""Recovery: closes what a dead process left open: acts, messages, ticks."""
