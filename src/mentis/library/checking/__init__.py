"""Checking: prompt files, read like a compiler reads code."""
