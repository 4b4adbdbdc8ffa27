"""Values to JSON and back, with schemas, and places in the files they came from."""
