"""Judges windows: rules as data with small predicates, profiles, and the proof that they hold."""
