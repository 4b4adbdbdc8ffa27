"""Which pieces of its prompt a recorded answer hangs on."""
