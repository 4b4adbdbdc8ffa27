"""Homes on this machine: backed up, restored, made of copies; what they reach, their channels.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .app.file_export import ExportLoss, FileExport
    from .app.home_backup import BackupInfo, BackupResult, backup_home, list_backups
    from .app.home_import import (
        HomeImport,
        HomeImportPlan,
        import_file,
        plan_file_import,
        undo_import,
    )
    from .app.home_move import HomeMove, lay_out_home, move_home, move_home_back
    from .app.home_restore import RestoreResult, restore_home
    from .app.import_letta import export_agent_file
    from .app.lore_export import export_lorebook
    from .app.persona_commits import PersonaCommits, open_persona_commits
    from .app.persona_export import export_persona
    from .app.preset_export import export_preset
    from .app.session_export import export_session
    from .app.worker import Mailbox, Worker, WorkerReport
    from .channels.channels import Channels, ChannelStatus, open_channels
    from .home.view import ViewStatus, discard_view, pull_view, push_view, view_status
    from .record.adoption import Adoption, adopt_home
    from .tools.reach import HomeReach, list_reach, revoke_reach

_HOMES = {
    "Adoption": "record.adoption",
    "BackupInfo": "app.home_backup",
    "BackupResult": "app.home_backup",
    "ChannelStatus": "channels.channels",
    "Channels": "channels.channels",
    "ExportLoss": "app.file_export",
    "FileExport": "app.file_export",
    "HomeImport": "app.home_import",
    "HomeImportPlan": "app.home_import",
    "HomeMove": "app.home_move",
    "HomeReach": "tools.reach",
    "Mailbox": "app.worker",
    "PersonaCommits": "app.persona_commits",
    "RestoreResult": "app.home_restore",
    "ViewStatus": "home.view",
    "Worker": "app.worker",
    "WorkerReport": "app.worker",
    "adopt_home": "record.adoption",
    "backup_home": "app.home_backup",
    "discard_view": "home.view",
    "export_agent_file": "app.import_letta",
    "export_lorebook": "app.lore_export",
    "export_persona": "app.persona_export",
    "export_preset": "app.preset_export",
    "export_session": "app.session_export",
    "import_file": "app.home_import",
    "lay_out_home": "app.home_move",
    "list_backups": "app.home_backup",
    "list_reach": "tools.reach",
    "move_home": "app.home_move",
    "move_home_back": "app.home_move",
    "open_channels": "channels.channels",
    "open_persona_commits": "app.persona_commits",
    "plan_file_import": "app.home_import",
    "pull_view": "home.view",
    "push_view": "home.view",
    "restore_home": "app.home_restore",
    "revoke_reach": "tools.reach",
    "undo_import": "app.home_import",
    "view_status": "home.view",
}

__all__ = (
    "Adoption",
    "BackupInfo",
    "BackupResult",
    "ChannelStatus",
    "Channels",
    "ExportLoss",
    "FileExport",
    "HomeImport",
    "HomeImportPlan",
    "HomeMove",
    "HomeReach",
    "Mailbox",
    "PersonaCommits",
    "RestoreResult",
    "ViewStatus",
    "Worker",
    "WorkerReport",
    "adopt_home",
    "backup_home",
    "discard_view",
    "export_agent_file",
    "export_lorebook",
    "export_persona",
    "export_preset",
    "export_session",
    "import_file",
    "lay_out_home",
    "list_backups",
    "list_reach",
    "move_home",
    "move_home_back",
    "open_channels",
    "open_persona_commits",
    "plan_file_import",
    "pull_view",
    "push_view",
    "restore_home",
    "revoke_reach",
    "undo_import",
    "view_status",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
