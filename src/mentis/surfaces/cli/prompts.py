"""`mentis prompts`: the blocks of the library, as their owner sees and changes them."""

from __future__ import annotations

import click

from .groups import RenamedGroup
from .prompts_archive import export, import_, promote
from .prompts_change import copy, edit, new, order, placeholder, rm, toggle
from .prompts_history import conflicts, diff, history, reset, undo
from .prompts_look import check, list_, lore, preview, search, show, usages
from .prompts_trial import what_if


@click.group(cls=RenamedGroup)
def prompts() -> None:
    """See, edit and check the blocks that prompts are made of.

    Shipped blocks are never written: your changes are kept beside them, every change is a
    revision, and every revision can be undone.
    """


for command in (
    list_,
    show,
    edit,
    new,
    copy,
    rm,
    toggle,
    order,
    placeholder,
    search,
    usages,
    check,
    preview,
    lore,
    what_if,
    diff,
    history,
    undo,
    reset,
    conflicts,
    export,
    import_,
    promote,
):
    prompts.add_command(command)
