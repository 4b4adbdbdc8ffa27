"""Memories brought up for a query: which, in which order, and why."""
