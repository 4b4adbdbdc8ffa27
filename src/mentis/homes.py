"""Homes on this machine: backed up, restored, and copies that become homes of their own.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .app.home_backup import BackupInfo, BackupResult, backup_home, list_backups
    from .app.home_restore import RestoreResult, restore_home
    from .record.adoption import Adoption, adopt_home
    from .tools.reach import HomeReach, list_reach, revoke_reach

_HOMES = {
    "Adoption": "record.adoption",
    "BackupInfo": "app.home_backup",
    "BackupResult": "app.home_backup",
    "HomeReach": "tools.reach",
    "RestoreResult": "app.home_restore",
    "adopt_home": "record.adoption",
    "backup_home": "app.home_backup",
    "list_backups": "app.home_backup",
    "list_reach": "tools.reach",
    "restore_home": "app.home_restore",
    "revoke_reach": "tools.reach",
}

__all__ = (
    "Adoption",
    "BackupInfo",
    "BackupResult",
    "HomeReach",
    "RestoreResult",
    "adopt_home",
    "backup_home",
    "list_backups",
    "list_reach",
    "restore_home",
    "revoke_reach",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
