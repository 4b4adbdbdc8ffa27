"""Ports: the seams to the outside, as Protocols."""
