"""Settings that have no effect any more are told once, in a line of the program's own."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from .logs import log_event, logs_json
from .output import say


@contextmanager
def told_notices() -> Generator[None]:
    """While a command runs; other warnings are shown as Python shows them."""
    before = warnings.showwarning

    def show(  # noqa: PLR0917  # Python's own signature
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        from mentis.settings.constant import RetiredSettingWarning

        if isinstance(message, RetiredSettingWarning):
            say(f"note: {message}")
        elif logs_json():
            told = str(message)
            log_event("warning", level=logging.WARNING, category=category.__name__, message=told)
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
