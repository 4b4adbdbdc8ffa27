"""Prompts of recorded calls, read from the bodies that were kept: what was told, part by part."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from mentis.errors import ReplayError
from mentis.facts.ability import Wire
from mentis.ports.blob_store import BlobStore
from mentis.record.call_bodies import read_body
from mentis.record.foreign_calls import foreign_call
from mentis.render.compare import context_of
from mentis.values.cost import PromptChange, PromptPart, RecordedPrompt
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.json import JsonObject, json_object
from mentis.values.trust import Trust

from .prompts import SYSTEM, TALK, describe_place, diverge, items_at, prompt_of, texts_in
from .reading import with_listed_input
from .tool_notes import results_in

_MOST_BEFORE = 200  # calls that are looked at for the verdicts on older results
_MANY = 1 << 30  # more messages than there are
_TRUST: Mapping[str, Trust] = {
    "system": Trust.OWNER,
    "developer": Trust.OWNER,
    "user": Trust.OWNER,
    "assistant": Trust.SELF,
    "model": Trust.SELF,
}


@dataclass(frozen=True, slots=True)
class RecordedPrompts:
    """Reads what the calls of recorded agents said. Its methods block."""

    blobs: BlobStore

    def body(self, entry: Entry, field: str = "request") -> tuple[bytes, bool]:
        """The bytes that were kept of a body, and whether they are, to the byte, what went by.
        ReplayError where there are none.
        """
        kept = json_object(entry.body.get(field))
        content = read_body(self.blobs, str(kept["body"])) if "body" in kept else None
        if content is None:
            why = str(kept.get("left_out") or "nothing was kept of it, or it was erased")
            raise ReplayError(
                f"entry {entry.index} has no {field} to show: {why}",
                hint=f"`mentis ledger show {entry.index}` says what is known of it",
            )
        packed = bool(json_object(kept.get("headers")).get("content-encoding"))
        whole = packed or kept.get("bytes") == len(content)  # older entries do not say `redacted`
        same = digest(content) == kept.get("digest")
        return content, same and whole and not kept.get("redacted")

    def told(self, entry: Entry, find: Callable[[int], Entry]) -> RecordedPrompt:
        """The parts of a call's prompt; `find` gives entries before it. ReplayError as above."""
        content, identical = self.body(entry)
        wire = _wire(entry)
        payload = _payload(content, wire)
        if payload is None or wire is None:
            raise ReplayError(
                f"entry {entry.index} asked no model in a format that is read here",
                hint=f"`mentis replay {entry.index} --body` prints its bytes",
            )
        verdicts = _verdicts(entry, find)
        return RecordedPrompt(tuple(_parts(payload, wire, verdicts)), identical)

    def change(self, entry: Entry, before: Entry) -> PromptChange | None:
        """The first byte in which two prompts differ; None where they do not, or nobody can say."""
        wire = _wire(entry)
        try:
            payloads = [_payload(self.body(one)[0], wire) for one in (before, entry)]
        except ReplayError:
            return None
        old, new = payloads
        if wire is None or wire != _wire(before) or old is None or new is None:
            return None
        first, second = prompt_of(old, wire), prompt_of(new, wire)
        found = diverge(first, second)
        if found is None:
            return None
        where = describe_place(found.pointer, new)
        was, now = context_of(first, found.byte), context_of(second, found.byte)
        return PromptChange(found.byte, found.pointer, where, was, now)


def _payload(content: bytes, wire: Wire | None) -> JsonObject | None:
    try:
        found: object = json.loads(content)
    except ValueError:
        return None
    told = json_object(found)
    return with_listed_input(told, wire) if told and wire else None


def _wire(entry: Entry) -> Wire | None:
    wire = json_object(entry.body.get("call")).get("wire")
    return cast("Wire", wire) if wire in TALK else None


def _parts(payload: JsonObject, wire: Wire, verdicts: Mapping[str, str]) -> Iterator[PromptPart]:
    """In the order in which a cache matches them."""
    for number, tool in enumerate(items_at(payload, "tools")):
        pointer = f"/tools/{number}"
        name = describe_place(pointer, payload)
        yield PromptPart(name, pointer, Trust.REFERENCE, _dump(tool), name)
    for member in SYSTEM[wire]:
        blocks = items_at(payload, member)
        for number, block in enumerate(blocks):
            name = f"system block {number}"
            yield PromptPart(name, f"/{member}/{number}", Trust.OWNER, _text(block), name)
        if payload.get(member) and not blocks:
            whole = _text(payload[member])
            yield PromptPart("system text", f"/{member}", Trust.OWNER, whole, "system text")
    yield from _messages(payload, wire, verdicts)


def _messages(payload: JsonObject, wire: Wire, verdicts: Mapping[str, str]) -> Iterator[PromptPart]:
    results = {one.pointer: one for one in results_in(payload, wire)}
    for number, item in enumerate(items_at(payload, TALK[wire])):
        pointer, message = f"/{TALK[wire]}/{number}", json_object(item)
        inner = "parts" if wire == "gemini" else "content"
        places = [f"{pointer}/{inner}/{n}" for n in range(len(items_at(message, inner)))]
        if pointer in results or not any(place in results for place in places):
            places = []
        listed = list(zip(places, items_at(message, inner), strict=True)) if places else []
        for place, part in listed or [(pointer, item)]:
            if (found := results.get(place)) is not None:
                name = f"result of {found.tool or 'a tool'}"
                verdict = verdicts.get(place, "not screened")
                told = f"message {number}: {found.tool or 'tool'} result"
                yield PromptPart(told, place, Trust.UNTRUSTED, found.text, name, verdict)
            else:
                yield _said(place, number, message, _text(part))


def _said(pointer: str, number: int, message: JsonObject, text: str) -> PromptPart:
    kind = str(message.get("type", ""))
    role = str(
        message.get("role") or ("assistant" if "call" in kind or kind == "reasoning" else "")
    )
    who = role or kind or "user"
    trust = _TRUST.get(role or "user", Trust.UNTRUSTED)
    return PromptPart(f"message {number} ({who})", pointer, trust, text, f"messages of {who}")


def _verdicts(entry: Entry, find: Callable[[int], Entry]) -> Mapping[str, str]:
    """By pointer: a call notes only what is new in it, and what it shares with the call before was
    looked at then.
    """
    found: dict[str, str] = {}
    fresh = _MANY
    for _ in range(_MOST_BEFORE):
        for note in _notes(entry):
            pointer = str(note.get("pointer", ""))
            if _number(pointer) < fresh:
                found.setdefault(pointer, str(note.get("screening", "")))
        call = foreign_call(entry)
        if call is None or call.before is None:
            break
        before = find(call.before)
        fresh = min(fresh, _shared(before, entry))
        entry = before
    return found


def _notes(entry: Entry) -> list[JsonObject]:
    return [json_object(one) for one in items_at(entry.body, "results")]


def _number(pointer: str) -> int:
    _, _, number, *_ = (*pointer.split("/"), "", "")
    return int(number) if number.isdecimal() else 0


def _shared(before: Entry, after: Entry) -> int:
    """How many messages both begin with."""
    old, new = (
        json_object(json_object(one.body.get("request")).get("prefix")) for one in (before, after)
    )
    pairs = zip(items_at(old, "messages"), items_at(new, "messages"), strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
    counts = (len(items_at(old, "messages")), len(items_at(new, "messages")))
    head = new.get("head", 0)
    return (min(counts) if same is None else same) + (head if isinstance(head, int) else 0)


def _text(value: object) -> str:
    """The words, where there are only words; else as it is written."""
    told = json_object(value)
    words = texts_in(told.get("content", told.get("parts", value)) if told else value)
    return "\n".join(words) or _dump(value)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
