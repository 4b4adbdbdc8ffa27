"""Numbers with their nouns, for what people read."""

from __future__ import annotations


def quantity(number: int, noun: str, plural: str = "") -> str:
    """`1 checkpoint`, `2 checkpoints`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def entries_of(number: int) -> str:
    return quantity(number, "entry", "entries")
