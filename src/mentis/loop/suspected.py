"""Which senses ticks failed with, on the disk: a new loop does not begin to try them from nothing.

A file that only the loop of this agent writes, and only while it is the one that runs. It says
nothing of what the senses are, and is no part of the record: what is set aside is.
"""

from __future__ import annotations

from pathlib import Path

from mentis.home.counts_file import CountsFile

_LOST = "it is written anew; senses that failed before are tried as if they were new"


class SuspectsFile(CountsFile):
    __slots__ = ()

    def __init__(self, path: Path) -> None:
        super().__init__(path, _LOST)
