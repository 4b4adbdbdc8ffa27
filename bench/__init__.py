"""Measurements, each a ratio against a baseline taken in the same run."""
