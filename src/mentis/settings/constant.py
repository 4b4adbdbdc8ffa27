"""A value that used to be a setting and is none any more, because nobody has a reason to turn it.

Its key still loads, without an effect, and says so: `SettingNotice` in what was loaded, and a
`RetiredSettingWarning` for whoever loads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


class Constant(Generic[T]):
    """A value in a section of the settings, what it is, and why nobody chooses it."""

    def __init__(self, value: T, doc: str, reason: str) -> None:
        self.value = value
        self.doc = doc
        self.reason = reason

    def __get__(self, section: object, owner: type[object]) -> T:
        return self.value


@dataclass(frozen=True, slots=True)
class SettingNotice:
    """A key that was set, in the file or by a variable (`origin`), and has no effect any more."""

    key: str
    origin: str
    given: object
    constant: object
    reason: str

    @property
    def message(self) -> str:
        return (
            f"{self.origin}: {self.key} has no effect any more, it is always {self.constant}."
            f" {self.reason} Take it out."
        )


class RetiredSettingWarning(UserWarning):
    """A key that has no effect any more is set."""

    def __init__(self, notice: SettingNotice) -> None:
        super().__init__(notice.message)
        self.notice = notice
