"""Prompt files in, one frozen Library snapshot out; the shipped set as data."""
