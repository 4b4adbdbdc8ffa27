"""Rules about one block among the others: its place, its conditions, its variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from mentis.library.problems import did_you_mean
from mentis.library.search import texts
from mentis.values.block import Block, Category, Position, Target

from .desk import CheckDesk, CheckFinding

POSITIONS: Mapping[Target, tuple[Position, ...]] = {
    "system_prompt": ("system_prompt", "system_prompt_append"),
    "message": ("first_assistant", "consent_dialog", "user_message", "history"),
    "prefill": ("prefill",),
}
# Told only when their category is asked for, and those that are asked for one by one, by id.
_ON_DEMAND: frozenset[Category] = frozenset({"summary", "spec_autofill", "cortex"})
_ONE_BY_ONE: frozenset[Category] = frozenset({"spec_autofill", "utility", "afterthought"})
CHARACTERS_PER_TOKEN = 4


def check_blocks(desk: CheckDesk) -> Iterator[CheckFinding]:
    blocks = desk.loaded.library.blocks
    ids = {block.id for block in blocks}
    known = {name.partition("@")[0] for block in blocks for name in block.variants} | {"default"}
    for block in blocks:
        yield from _position(block, desk)
        yield from _type(block, desk)
        yield from _condition(block, desk, known)
        yield from _keys(block, desk)
        yield from _default(block, desk)
        yield from _length(block, desk)
        yield from _together(block, desk, ids)
    yield from _orders(blocks, desk)
    yield from _groups(blocks, desk)


def _position(block: Block, desk: CheckDesk) -> Iterator[CheckFinding]:
    allowed = POSITIONS[block.target]
    if block.position not in allowed:
        yield CheckFinding(
            "prompt-target-position",
            desk.meta(block.id, "position"),
            f"position {block.position!r} does not go with target {block.target!r}",
            f"with {block.target!r} go: {', '.join(allowed)}; {_target_of(block.position)}",
        )


def _target_of(position: Position) -> str:
    target = next(target for target, allowed in POSITIONS.items() if position in allowed)
    return f"{position!r} goes with target {target!r}"


def _type(block: Block, desk: CheckDesk) -> Iterator[CheckFinding]:
    if block.type == "multi_turn" and block.target != "message":
        yield CheckFinding(
            "prompt-type-target",
            desk.meta(block.id, "type"),
            f"a {block.target} is text, so the messages of {block.id!r} are never told",
            "give it target 'message', or type 'text' and a content",
        )


def _condition(block: Block, desk: CheckDesk, known: set[str]) -> Iterator[CheckFinding]:
    wanted = block.variant_condition
    if wanted is not None and wanted not in known:
        yield CheckFinding(
            "prompt-unknown-variant",
            desk.meta(block.id, "variant_condition"),
            f"no block has a variant {wanted!r}",
            did_you_mean(wanted, known) or f"there are: {', '.join(sorted(known))}",
        )


def _keys(block: Block, desk: CheckDesk) -> Iterator[CheckFinding]:
    registered = desk.loaded.library.placeholders
    for field in ("requires_any", "requires_all", "requires_none"):
        keys: tuple[str, ...] = getattr(block, field)
        for index, key in enumerate(keys):
            if key not in registered:
                yield CheckFinding(
                    "prompt-unknown-key",
                    desk.meta(block.id, field).at(index),
                    f"{field} of {block.id!r} asks for {key!r}, which is not registered",
                    desk.suggestion(key) or "register the placeholder, or take it out",
                )


def _default(block: Block, desk: CheckDesk) -> Iterator[CheckFinding]:
    variant = block.variants.get("default")
    if variant is None and block.variant_condition not in block.variants:
        yield CheckFinding(
            "prompt-no-default",
            desk.content(block.id, "variants"),
            f"{block.id!r} has no default variant; other variants leave it out",
            "add one, or name the variant it is for as variant_condition",
        )
    if variant is not None and not variant.messages and not variant.content.strip():
        yield CheckFinding(
            "prompt-empty-default",
            desk.wording(block.id, "default"),
            f"the default variant of {block.id!r} is empty, so it says nothing by default",
            "write it, switch the block off, or name a variant_condition",
        )


def _length(block: Block, desk: CheckDesk) -> Iterator[CheckFinding]:
    limit = block.max_tokens
    longest = max((len(text) for text in texts(block)), default=0)
    tokens = -(-longest // CHARACTERS_PER_TOKEN)
    if limit is not None and tokens > limit:
        yield CheckFinding(
            "prompt-max-tokens",
            desk.meta(block.id, "max_tokens"),
            f"max_tokens is {limit}, and the longest text of {block.id!r} has about {tokens}",
            f"raise it to {tokens} or more, or shorten the text",
        )


def _together(block: Block, desk: CheckDesk, ids: set[str]) -> Iterator[CheckFinding]:
    other = block.keep_with
    if other is None or (other in ids and other != block.id):
        return
    found = "itself" if other == block.id else f"{other!r}, which there is not"
    yield CheckFinding(
        "prompt-keep-with",
        desk.meta(block.id, "keep_with"),
        f"{block.id!r} is kept with {found}",
        did_you_mean(other, ids - {block.id}) or "name another block, or drop the field",
    )


def _orders(blocks: Sequence[Block], desk: CheckDesk) -> Iterator[CheckFinding]:
    ordered = sorted(blocks, key=lambda block: (block.target, block.order))
    for (target, order), tied in groupby(ordered, key=lambda block: (block.target, block.order)):
        earlier: list[Block] = []
        for block in tied:
            other = next((one for one in earlier if _meet(one, block)), None)
            earlier.append(block)
            if other is not None:
                yield CheckFinding(
                    "prompt-duplicate-order",
                    desk.meta(block.id, "order"),
                    f"{other.id!r} has order {order:g} in the {target} as well;"
                    " which comes first rests on the manifest",
                    f"give {block.id!r} an order of its own",
                )


def _meet(one: Block, other: Block) -> bool:
    """Whether two blocks can be told in one prompt."""
    if not (one.enabled and other.enabled) or one.position != other.position:
        return False
    if one.group is not None and one.group == other.group:
        return False
    if None not in (wanted := {one.variant_condition, other.variant_condition}) and len(wanted) > 1:
        return False
    if one.modes and other.modes and not set(one.modes) & set(other.modes):
        return False
    return _categories_meet(one, other)


def _categories_meet(one: Block, other: Block) -> bool:
    categories = {one.category, other.category}
    appended = one.position == "system_prompt_append"
    if categories & _ONE_BY_ONE and not appended:
        return False
    return appended or len(categories) == 1 or not categories & _ON_DEMAND


def _groups(blocks: Iterable[Block], desk: CheckDesk) -> Iterator[CheckFinding]:
    members: dict[str, list[Block]] = {}
    for block in blocks:
        if block.group is not None:
            members.setdefault(block.group, []).append(block)
    for group, found in members.items():
        if len(found) == 1:
            yield CheckFinding(
                "prompt-lone-group",
                desk.meta(found[0].id, "group"),
                f"{found[0].id!r} is the only block of group {group!r}",
                did_you_mean(group, members.keys() - {group}) or "add another, or drop the group",
            )
