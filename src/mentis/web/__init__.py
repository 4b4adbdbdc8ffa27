"""HTTP that every surface shares."""
