"""`mentis memory`: what an agent remembers, searched and looked after."""

from __future__ import annotations

import click

from .groups import RenamedGroup
from .memory_keep import add, forget, promote, supersede
from .memory_look import hygiene, list_, quarantine, search, why
from .memory_transfer import export, import_, rebuild


@click.group(cls=RenamedGroup)
def memory() -> None:
    """Add, search, check, export and import memories.

    These are the memories that are searched: facts, decisions, episodes. The files a persona keeps
    about itself are under `mentis persona files`.
    """


for command in (
    add,
    search,
    why,
    list_,
    forget,
    supersede,
    promote,
    quarantine,
    hygiene,
    export,
    import_,
    rebuild,
):
    memory.add_command(command)
