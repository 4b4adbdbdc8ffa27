"""Who runs this process, and what others may do with a file.

Windows knows neither user numbers nor permission bits: there every file counts as the user's own,
and what keeps others out is the folder it lies in (the profile of the user).
"""

from __future__ import annotations

import os
import stat
import sys


def user_id() -> int:
    """The number that files of this user have; 0 where files have none."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def others_can_touch(status: os.stat_result) -> bool:
    """Whether anybody but its owner may read, write or run it."""
    return sys.platform != "win32" and bool(status.st_mode & 0o077)


def others_can_write(status: os.stat_result) -> bool:
    """Whether anybody but its owner may write it; a group in which he is alone is himself."""
    if sys.platform == "win32":
        return False
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _alone_in(status.st_gid)


def _alone_in(group: int) -> bool:
    """Many systems give each user a group of the same name and let it write by default."""
    if sys.platform == "win32":
        return True
    import grp
    import pwd

    try:
        name, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}
