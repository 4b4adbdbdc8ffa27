"""Assemble: the prompt as one text, in layers."""
