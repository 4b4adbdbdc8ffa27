"""Report: a record as one page that a person reads and prints, and that checks itself."""
