"""System: what Linux, macOS and Windows do differently."""
