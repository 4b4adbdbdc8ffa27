"""Makes values out of the checked entries of the JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from mentis.values.block import Block, Message, Variant
from mentis.values.keywords import Keywords
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability

if TYPE_CHECKING:
    from .formats import BlockEntry, ContentEntry, KeywordsEntry, PlaceholderEntry, VariantEntry

# Registries of the origin system say nothing about stability: a value that code works out or the
# caller passes may change every turn, one that is read from a file does not.
DEFAULT_STABILITY: Mapping[str, Stability] = {
    "static": Stability.STABLE,
    "computed": Stability.TURN,
    "runtime": Stability.TURN,
}


def build_block(
    block_id: str,
    entry: BlockEntry,
    content: ContentEntry,
    *,
    origin: Literal["shipped", "owner"],
    owned: tuple[str, ...] = (),
) -> Block:
    return Block(
        id=block_id,
        name=entry.name,
        order=entry.order,
        target=entry.target,
        position=entry.position,
        variants={name: _variant(variant) for name, variant in content.variants.items()},
        type=entry.type,
        category=entry.category,
        enabled=entry.enabled,
        description=entry.description,
        tags=tuple(entry.tags),
        variant_condition=entry.variant_condition,
        requires_any=tuple(entry.requires_any),
        requires_all=tuple(entry.requires_all),
        requires_none=tuple(entry.requires_none),
        modes=tuple(entry.modes),
        group=entry.group,
        stability=entry.stability,
        trust=entry.trust,
        priority=entry.priority,
        max_tokens=entry.max_tokens,
        required=entry.required,
        keep_with=entry.keep_with,
        origin=origin,
        file=entry.domain_file,
        extra=_extra(entry, content),
        owned=owned,
        personas=tuple(entry.personas),
        keywords=entry.keywords and _keywords(entry.keywords),
    )


def _keywords(entry: KeywordsEntry) -> Keywords:
    return Keywords(
        keys=tuple(entry.keys),
        secondary=tuple(entry.secondary),
        logic=entry.logic,
        whole_words=entry.whole_words,
        case_sensitive=entry.case_sensitive,
        scan_depth=entry.scan_depth,
        sticky=entry.sticky,
        cooldown=entry.cooldown,
        delay=entry.delay,
        probability=entry.probability,
        wakes=entry.wakes,
        woken=entry.woken,
        depth=entry.depth,
        book=entry.book,
        budget=entry.budget,
    )


def _extra(entry: BlockEntry, content: ContentEntry) -> dict[str, object]:
    """Fields we do not know, apart by file, since both may use the same name."""
    found = {"manifest": entry.model_extra, "domain": content.model_extra}
    return {name: dict(fields) for name, fields in found.items() if fields}


def _variant(variant: VariantEntry) -> Variant:
    messages = variant.messages or ()
    return Variant(variant.content or "", tuple(Message(m.role, m.content) for m in messages))


def build_placeholder(key: str, entry: PlaceholderEntry) -> Placeholder:
    return Placeholder(
        key=key,
        phase=entry.resolve_phase,
        source=entry.source,
        stability=entry.stability or DEFAULT_STABILITY[entry.resolve_phase],
        name=entry.name,
        description=entry.description,
        category=entry.category,
        source_path=entry.source_path,
        type=entry.type,
        default=tuple(entry.default) if isinstance(entry.default, list) else entry.default,
        compute_function=entry.compute_function,
        join_separator=entry.join_separator,
        default_when_empty=entry.default_when_empty,
    )
