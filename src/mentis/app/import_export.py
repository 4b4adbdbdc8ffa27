"""Exports of chat services as conversations of a persona: all of them, or those that are chosen."""

from __future__ import annotations

from collections.abc import Sequence

from mentis.errors import BadInput
from mentis.exchange.cards import read_json
from mentis.exchange.chat_exports import (
    CONVERSATIONS,
    ExportedConversation,
    export_service,
    read_export,
)
from mentis.values.imported import ImportedConversation

from .import_plan import ArrivalDraft, HomeImportPlan, ImportArrival, ImportWish, id_of
from .import_source import ImportSource

MOST_CONVERSATIONS = 2_000
_NAMED = 20  # attachments that are named one by one for each conversation


def export_arrival(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    """What becomes of an export; None where it is none."""
    names = [name for name in source.names if CONVERSATIONS.fullmatch(name)]
    if not names and (source.is_folder or source.is_zip):
        return None
    packed = source.is_zip or source.is_folder
    read = source.read(lambda name: name in names) if packed else {source.name: source.data}
    documents = [read_json(data, name) for name, data in sorted(read.items())] if packed else []
    documents = documents or [source.document()]
    services = {export_service(one) for one in documents}
    if len(services) != 1 or None in services:
        return None
    service = services.pop() or ""
    whose = wish.personas.pick(wish.persona or None)
    found = [one for document in documents for one in read_export(document)]
    chosen = _chosen(found, wish.only, source.name)
    draft = ArrivalDraft()
    conversations = [_conversation(one, draft, whose) for one in chosen if one.turns]
    if len(chosen) < len(found):
        draft.lose(f"{len(found) - len(chosen)} conversations", "not chosen; kept in the original")
    if empty := len(chosen) - len(conversations):
        draft.lose(f"{empty} conversations", "nobody says anything in them")
    for other in (name for name in source.names if name not in read):
        draft.lose(other, "not read")
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="chat export",
        version=service,
        name=source.stem,
        persona=whose,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
    )
    return ImportArrival(plan, conversations=tuple((whose, one) for one in conversations))


def _chosen(
    found: Sequence[ExportedConversation], only: Sequence[str], name: str
) -> list[ExportedConversation]:
    unknown = [one for one in only if not any(one in (each.id, each.title) for each in found)]
    if unknown:
        hint = "--dry-run lists the conversations with their ids"
        raise BadInput(f"{name} has no conversation {unknown[0]!r}", hint=hint)
    chosen = [one for one in found if not only or one.id in only or one.title in only]
    if len(chosen) > MOST_CONVERSATIONS:
        message = f"{name} has {len(chosen)} conversations; {MOST_CONVERSATIONS} come at once"
        raise BadInput(message, hint="choose some with --only TITLE or --only ID")
    return chosen


def _conversation(
    one: ExportedConversation, draft: ArrivalDraft, whose: str
) -> ImportedConversation:
    title = one.title.strip() or "Untitled"
    others = sum(len(turn.others) for turn in one.turns)
    also = f"; {others} answers that were not chosen are kept, too" if others else ""
    draft.add(
        f"{title} ({len(one.turns)} messages)",
        f"conversation of {whose}",
        trust="untrusted",
        note=f"{one.id} {one.time[:10]}{also}".strip(),
    )
    if one.edited:
        part = f"{one.edited} branches of {title}"
        draft.lose(part, "said anew there; the branch that was read last is kept")
    for what, count in one.unsaid:
        if count:
            draft.lose(f"{what} in {title} ({count})", "no words of either; kept in the original")
    for name in one.attachments[:_NAMED]:
        draft.lose(f"attachment {name or 'without a name'} of {title}", "kept in the original")
    if (more := len(one.attachments) - _NAMED) > 0:
        draft.lose(f"{more} more attachments of {title}", "kept in the original")
    return ImportedConversation(id_of(title), one.turns, title)
