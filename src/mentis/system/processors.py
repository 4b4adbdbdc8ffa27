"""How many processors this process may use, and how busy the machine is."""

from __future__ import annotations

import os
import sys


def usable_cpus() -> int:
    """Those it may run on, where the system says so (Linux), else all."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_average() -> float:
    """Of the last minute; 0 where the system does not count it."""
    return 0.0 if sys.platform == "win32" else os.getloadavg()[0]
