"""Blocks, edits and prompts as JSON: the same for every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mentis.codec.forms import to_object
from mentis.errors import BadInput
from mentis.library.checking.check import check
from mentis.library.edit import Edit
from mentis.library.overlay import Conflict
from mentis.library.problems import did_you_mean
from mentis.library.search import Usages, block_keys
from mentis.values.block import Block

from .effects import EditEffect
from .prompts import Prompts


def block_data(block: Block, changed: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """A block with the fields of it that the owner changed."""
    return {**to_object(block), "overridden": list(changed.get(block.id, ()))}


def edit_data(
    prompts: Prompts,
    edits: Sequence[Edit],
    effects: Sequence[EditEffect],
    worded: str | None = None,
) -> dict[str, object]:
    """What a change did: to the block, and to the prompts it is part of. `worded` is a block one of
    whose wordings was changed.
    """
    told: dict[str, object] = {
        "edits": [to_object(edit) for edit in edits],
        "effects": [to_object(effect) for effect in effects],
    }
    if worded:
        told["in_force"] = [to_object(one) for one in prompts.wordings_in_force(worded)]
    return told


def conflict_data(conflict: Conflict) -> dict[str, object]:
    names = ("block", "field", "base", "ours", "theirs")
    return {name: getattr(conflict, name) for name in names}


def check_data(prompts: Prompts) -> dict[str, object]:
    """What is wrong with the prompt files."""
    problems = check(prompts.loaded_library)
    errors = sum(problem.severity == "error" for problem in problems)
    return {"errors": errors, "problems": [to_object(problem) for problem in problems]}


def usage_data(found: Usages, key: str | None) -> dict[str, object]:
    """Which blocks use which placeholder, or only this one."""
    used = {name: list(by) for name, by in found.by_key.items() if key in (None, name)}
    lists = {"orphaned": list(found.orphaned), "unused": list(found.unused)}
    return {"usages": used, **({} if key else lists)}


def check_placeholders(
    prompts: Prompts, wording: str, block: Block | None, *, anyhow: str = "say --yes"
) -> None:
    """BadInput for a text with a key that nothing registers: more often a slip than meant. `anyhow`
    says how to save it all the same.
    """
    unknown = unknown_placeholders(prompts, wording, block)
    if not unknown:
        return
    known = prompts.loaded_library.library.placeholders
    meant = " ".join(filter(None, (did_you_mean(key, known) for key in unknown)))
    named = ", ".join(f"{{{{{key}}}}}" for key in unknown)
    raise BadInput(
        f"{named} is not registered, and would be told as it stands; nothing was saved",
        hint=f"{meant or 'correct it,'} or {anyhow}",
        unknown=unknown,
    )


def unknown_placeholders(prompts: Prompts, wording: str, block: Block | None) -> list[str]:
    """The keys of a new text that nothing registers, and that its block had not before."""
    before = set(block_keys(block)) if block else set[str]()
    return [key for key in prompts.unknown_placeholders(wording) if key not in before]
