"""Judges text from outside: a filter, not a boundary."""
