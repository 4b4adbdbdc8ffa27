"""Every built-in act, for whoever lists them."""

from __future__ import annotations

from . import goals, memories, memory_files, messages, rest, results, shell, skills, web, windows
from .kind import Kind

BUILT_IN: tuple[Kind, ...] = (
    messages.MESSAGE,
    memories.REMEMBER,
    memories.RECALL,
    memory_files.READ,
    memory_files.WRITE,
    goals.UPDATE,
    rest.SLEEP,
    windows.SAVE,
    results.READ,
    skills.READ,
    shell.SHELL,
    web.WEB,
)
