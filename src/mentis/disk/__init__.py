"""Disk: the one way files are written."""
