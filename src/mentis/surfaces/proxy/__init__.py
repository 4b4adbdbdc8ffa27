"""Proxy: calls of other programs passed on to a model, byte for byte, and copied."""
