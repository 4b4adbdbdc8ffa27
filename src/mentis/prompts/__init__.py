"""Prompts: edits of the library, the personas and the state of a mind."""
