"""Memories: what an agent remembers, searched and screened."""
