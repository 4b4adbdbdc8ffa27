"""The full report of a crash, in a file, with secrets struck out."""

from __future__ import annotations

import os
import platform
import tempfile
import traceback
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from mentis.net.redact import redact

from .logs import log_defect, logs_json
from .output import say

_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def tell_defect(error: Exception, args: list[str]) -> None:
    """Write the report, and say where it is."""
    report = write_report(error, args)
    if logs_json():
        log_defect(error, report)
        return
    say(f"mentis: this is a defect in Mentis: {type(error).__name__}: {error}")
    say(f"The full report is in {report}")


def write_report(error: Exception, args: list[str]) -> Path:
    """Write the report, in the state folder if that can be had, and return where it is."""
    text = redact(_text(error, args), _secrets())
    name = f"crash-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    for folder in (_state_folder(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        return path
    return Path(os.devnull)


def _state_folder() -> Path:
    if chosen := os.environ.get("MENTIS_STATE"):
        return Path(chosen)
    from platformdirs import user_state_path

    return user_state_path("mentis")


def _text(error: Exception, args: list[str]) -> str:
    facts = (
        f"mentis {version('mentis')}, Python {platform.python_version()}, {platform.platform()}",
        f"command: mentis {' '.join(args)}",
        "",
    )
    return "\n".join(facts) + "".join(traceback.format_exception(error))


def _secrets() -> list[str]:
    names = (name for name in os.environ if any(mark in name.upper() for mark in _SECRET_NAMES))
    return [os.environ[name] for name in names]
