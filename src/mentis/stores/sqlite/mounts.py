"""Where a database file lies. On a network file system WAL mode loses what it has promised."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mentis.errors import HomeError

MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "coda", "fuse.sshfs", "gfs2", "glusterfs", "lustre", "ncpfs"}
    | {"fuse.ceph", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "nfs", "nfs4", "ocfs2", "smb3"}
    | {"smbfs"}
)


def refuse_network(path: Path, mounts: Path = MOUNTS) -> None:
    """HomeError where the machine says that the file lies on another one; silence elsewhere."""
    kind = file_system(path, mounts)
    if kind in _NETWORK:
        raise HomeError(
            f"{path} lies on a network file system ({kind}), where SQLite cannot keep its promises",
            hint="put the home on a local disk, or the ledger into PostgreSQL (ledger.store)",
            path=str(path),
            kind=kind,
        )


def file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the file system that holds `path`, where the system tells (Linux)."""
    found: tuple[int, str | None] = (-1, None)
    with suppress(OSError):
        where = path.absolute().parent.resolve() / path.name
        for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
            mount, separator, kind = line.partition(" - ")
            if not separator:
                continue
            point = Path(mount.split()[4].replace(r"\040", " "))
            # Of two mounts on one point the later one is seen.
            if len(point.parts) >= found[0] and where.is_relative_to(point):
                found = (len(point.parts), kind.split()[0])
    return found[1]
