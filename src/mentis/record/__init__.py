"""Record: the one way anything is appended, read, verified and exported."""
