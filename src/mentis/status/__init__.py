"""Status: the windows in which an agent says what it does."""
