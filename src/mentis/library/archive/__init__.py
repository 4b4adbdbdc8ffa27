"""Import and export of whole prompt sets: the door to the `archive_` modules."""

from __future__ import annotations

from .plan import MODES, ImportPlan, ImportRow, plan_import
from .read import Archive, read_archive, read_folder
from .write import export_set
from .zip import Limits

__all__ = [
    "MODES",
    "Archive",
    "ImportPlan",
    "ImportRow",
    "Limits",
    "export_set",
    "plan_import",
    "read_archive",
    "read_folder",
]
