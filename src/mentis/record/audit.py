"""An export in the hands of whoever got it: checked by the verifier that stands alone."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import IO, Any

from mentis.errors import BadInput
from mentis.ledger import auditor
from mentis.values.checkpoint import Pin


def audit_export(content: bytes, pin: Pin | None) -> dict[str, Any]:
    """The verdict on an export, as `verify.py --json` prints it; BadInput where it is none.

    Nothing is written. `pin` is the log that it should be of; without one it is never `ok`.
    """
    return _audit(io.BytesIO(content), pin)


def audit_file(path: Path, pin: Pin | None) -> dict[str, Any]:
    """The same of a file, which may be the page out of an export."""
    return _audit(str(path), pin)


def _audit(bundle: str | IO[bytes], pin: Pin | None) -> dict[str, Any]:
    key, origin = (pin.public_key, pin.origin) if pin else (None, None)
    try:
        return auditor.audit(bundle, key=key, origin=origin, checkpoints=())
    except auditor.WrongArgument as error:
        raise BadInput(str(error), hint="give the key as `mentis export` prints it") from error
    except (auditor.Unreadable, OSError, zipfile.BadZipFile) as error:
        raise _unreadable(str(error)) from error
    except Exception as error:
        # Whoever made the file chose what is in it.
        raise _unreadable(repr(error)) from error


def _unreadable(why: str) -> BadInput:
    return BadInput(
        f"this is no export that can be read: {why}"[:1000],
        hint="choose a file that `mentis export` wrote; one that was cut short or packed"
        " anew is none",
    )
