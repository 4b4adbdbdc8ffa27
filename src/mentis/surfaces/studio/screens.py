"""The screens, in the order in which the top of every page names them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Screen:
    """One of them: its name, where it begins, and which other paths belong to it."""

    label: str
    path: str
    also: tuple[str, ...] = ()
    waits: bool = False  # something there may wait for somebody

    def holds(self, path: str) -> bool:
        """Whether a page is part of this screen."""
        return path.startswith((self.path, *self.also))


SCREENS = (
    Screen("Talk", "/studio/talk"),
    Screen("Blame", "/studio/blame", also=("/studio/recorded", "/studio/search")),
    Screen("Bill", "/studio/bill"),
    Screen("Prompts", "/studio/prompts"),
    Screen("What if", "/studio/what-if"),
    Screen("Proof", "/studio/proof"),
    Screen("Done", "/studio/done", also=("/studio/waiting",), waits=True),
    Screen("Mind", "/studio/mind"),
)
