"""Proof: every entry of a record with its verdict, what it binds, and whether all of it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from anyio import to_thread

from mentis.codec.forms import to_object
from mentis.errors import MentisError, RequestRefused, UsageError
from mentis.home.identity import RECORDED
from mentis.home.signing import open_pin
from mentis.ledger.checkpoint import read_note
from mentis.record.record import Record, open_record
from mentis.record.timeline import (
    ChainSummary,
    RecordTimeline,
    TimelineEntry,
    list_chains,
    read_timeline,
)
from mentis.record.verify_home import verify_home
from mentis.settings.sources import load_settings
from mentis.values.entry import Entry, Verdict
from mentis.values.json import json_object
from mentis.web.application import Door
from mentis.web.problems import with_status

from .pages import PageCall, PageData, Pages

_SHOWN = 50  # entries, or checkpoints, on a page
_TEXT = 4000  # characters of a field that come with the page of its entry
_WHOLE = 120_000  # of all of them

# What a person calls it, and what it says.
_KINDS: Mapping[str, tuple[str, str]] = {
    "turn": ("Turn", "Something was said, and a model answered."),
    "tick": ("Tick", "A moment of its own was begun."),
    "call": ("Recorded call", "Another program called a model."),
    "act": ("Act", "Something was asked for, decided or done."),
    "window": ("Status window", "What it says that it is doing."),
    "refused_window": ("Refused window", "A status window that broke a rule."),
    "breach": ("Breach", "A rule for status windows was broken."),
    "unacknowledged": ("Unsure window", "A status window that nobody confirmed."),
    "memory": ("Memory", "A person decided about something that it remembers."),
    "state": ("Goals and working memory", "A person changed them."),
    "inventory": ("Inventory", "What it keeps beside its record, by digests."),
    "persona": ("Persona", "A file of the persona was changed."),
    "tool": ("Tool", "What a tool says of itself was taken note of."),
    "sense": ("Sense", "Something that it was told of was set aside or given again."),
    "import": ("Imported entry", "Taken over from another record."),
    "erasure": ("Erasure", "Fields of an entry were erased; this says which, and why."),
    "key": ("New key", "From here on another key signs."),
    "rollback": ("Accepted loss", "A person accepted that entries are missing."),
    "rotation": ("Sealed segment", "Older entries went into a sealed file."),
    "retention": ("Expired segment", "A sealed file was old enough to be deleted."),
    "repair": ("Repair", "Something did not hold; this points at it."),
}
_BOUND: Mapping[str, str] = {
    "message": "What was said",
    "instruction": "What it was told to do by itself",
    "answer": "The answer",
    "payload": "The bytes that were sent",
    "reply": "The whole reply of the model",
    "acts": "What was asked for and done",
    "request": "The request, before it was written for a provider",
    "library": "The prompt library as it was",
    "inputs": "Everything that the prompt was made from",
    "asked": "The question as it is kept",
    "acted": "What followed, as it is kept",
    "attachments": "Files that came with it",
}


def proof_doors(pages: Pages) -> list[Door]:
    """All records, one, its checkpoints, and one entry."""
    made = [*pages.doors("/studio/proof", "proof.html", overview_page)]
    for path in ("/studio/proof/recorded/{agent}", "/studio/proof/{persona}"):
        made += pages.doors(f"{path}/checkpoints", "proof-checkpoints.html", checkpoints_page)
        made += pages.doors(f"{path}/{{entry:int}}", "proof-entry.html", entry_page)
        made += pages.doors(path, "proof-timeline.html", timeline_page)
    return made


# All records


async def overview_page(call: PageCall) -> PageData:
    """Every record, and the verdict on it where it was asked for (`check=all`)."""
    known = await call.served.pool.personas(call.token)
    check = call.request.query_params.get("check", "")
    return await to_thread.run_sync(_overview, call, known, check == "all")


def _overview(call: PageCall, known: Sequence[str], check: bool) -> PageData:
    pool = call.served.pool
    found = [one for one in list_chains(pool.path, call.served.parts) if _sees(call, one, known)]
    verdicts = {one.agent: one for one in _verdicts(call)} if check else {}
    listed = [_chain(one, verdicts.get(one.agent)) for one in found]
    more = [one for agent, one in verdicts.items() if agent not in {row.agent for row in found}]
    pin = open_pin(load_settings(pool.path, call.served.parts.variables))
    return {
        "checked": check,
        "holds": all(one.intact for one in verdicts.values()) if check else None,
        "entries": sum(one.entries for one in found),
        "chains": listed,
        "others": [_verdict(one) for one in more],
        "origin": pin.origin if pin else "",
        "key": pin.public_key if pin else "",
        "notes": sorted({one.completeness for one in verdicts.values()}),
    }


def _sees(call: PageCall, one: ChainSummary, known: Sequence[str]) -> bool:
    """A token for one persona sees that one alone."""
    return one.persona in known or (one.persona.startswith(RECORDED) and not call.token.agent)


def _verdicts(call: PageCall) -> tuple[Verdict, ...]:
    return verify_home(call.served.pool.path, persona=call.token.agent or None)


def _chain(one: ChainSummary, verdict: Verdict | None) -> PageData:
    recorded = one.persona.startswith(RECORDED)
    return {
        "agent": one.agent,
        "name": one.persona.removeprefix(RECORDED),
        "recorded": recorded,
        "path": f"/studio/proof/{one.persona}",
        "export": f"{_api(one.persona)}/export",
        "entries": one.entries,
        "sealed": one.sealed,
        "time": one.time,
        "verdict": None if verdict is None else _verdict(verdict),
    }


def _verdict(one: Verdict) -> PageData:
    return {**to_object(one), "intact": one.intact}


# One record


async def timeline_page(call: PageCall) -> PageData:
    """The newest entries of one record, or those before one."""
    return await to_thread.run_sync(_timeline, call, await _record_name(call))


def _timeline(call: PageCall, name: str) -> PageData:
    with _opened(call, name) as record:
        found = read_timeline(record, _SHOWN, before=call.number("before"))
        rows = [_row(one, name) for one in found.entries]
    newest = found.first + _SHOWN >= found.count
    return {
        **_named(name),
        "count": found.count,
        "sealed": found.sealed,
        "rows": rows,
        "missing": list(found.missing),
        "sound": not any(row["findings"] for row in rows),
        "older": found.first or None,
        "newer": None if newest else _newer(found),
        "newest": newest,
    }


def _newer(found: RecordTimeline) -> int:
    return min(found.first + 2 * _SHOWN, found.count)


def _row(one: TimelineEntry, name: str) -> PageData:
    entry = one.entry
    return {
        "index": entry.index,
        "time": entry.time,
        "kind": entry.kind,
        "label": _kind(entry.kind)[0],
        "about": _about(entry),
        "source": entry.source,
        "hash": entry.hash,
        "signed": one.signed,
        "erased": list(one.erased),
        "findings": [to_object(finding) for finding in one.findings],
        "path": f"/studio/proof/{name}/{entry.index}",
    }


def _about(entry: Entry) -> str:
    """A few words on what it is of."""
    told = json_object(entry.body.get(entry.kind))
    for name in ("type", "session", "goal", "name", "operation", "what", "key", "model"):
        value = told.get(name)
        if isinstance(value, str) and value:
            return value[:120]
    return ""


async def checkpoints_page(call: PageCall) -> PageData:
    """The checkpoints of one record, the longest first."""
    return await to_thread.run_sync(_checkpoints, call, await _record_name(call))


def _checkpoints(call: PageCall, name: str) -> PageData:
    start = call.number("from", 0) or 0
    with _opened(call, name) as record:
        notes = record.checkpoints()[::-1]
        shown = [_checkpoint(record, size, note) for size, note in notes[start : start + _SHOWN]]
        count = record.store.count(record.agent)
    more = start + _SHOWN if len(notes) > start + _SHOWN else None
    told = {"checkpoints": shown, "made": len(notes), "count": count, "next": more}
    return {**_named(name), **told}


def _checkpoint(record: Record, size: int, note: str) -> PageData:
    try:
        root = read_note(note).checkpoint.root
    except MentisError:
        root = ""  # `verify` says that it is none
    last = record.store.find(record.agent, size - 1) if size else None
    return {"size": size, "note": note, "root": root, "time": last.time if last else ""}


# One entry


async def entry_page(call: PageCall) -> PageData:
    """One entry in full: its hashes, what it binds, and whether it holds."""
    return await to_thread.run_sync(_entry, call, await _record_name(call))


def _entry(call: PageCall, name: str) -> PageData:
    index = call.number("entry", 0) or 0
    with _opened(call, name) as record:
        found = read_timeline(record, 1, before=index + 1)
        if not found.entries or found.entries[0].entry.index != index:
            raise RequestRefused(
                f"there is no entry {index} here",
                hint=f"there are {found.count}; what expired with its segment is gone",
                status=404,
            )
        seen = [(size, note) for size, note in record.checkpoints() if size > index]
        checkpoint = _checkpoint(record, *seen[0]) if seen else None
    one = found.entries[0]
    entry, (label, words) = one.entry, _kind(one.entry.kind)
    blamed = f"/studio/{'' if name.startswith(RECORDED) else 'blame/'}{name}/{index}"
    return {
        **_named(name),
        **{key: value for key, value in _row(one, name).items() if key != "path"},
        "words": words,
        "label": label,
        "prev": entry.prev,
        "ruleset": entry.ruleset,
        "recipe": entry.recipe,
        "delivery": entry.delivery,
        "count": found.count,
        "checkpoint": checkpoint,
        "bound": list(_bound(entry)),
        "fields": list(_fields(entry)),
        "blame": blamed if entry.kind in ("turn", "call") else "",
        "api": f"{_api(name)}/entries/{index}",
    }


def _bound(entry: Entry) -> Iterator[PageData]:
    """What stands elsewhere, and is tied to this entry by its digest."""
    named = json_object(entry.body.get("digests"))
    single = {key: entry.body[key] for key in ("inputs", "asked") if key in entry.body}
    listed = {
        f"{key} {number}": one
        for key in ("acted", "attachments")
        for number, one in enumerate(_texts(entry.body.get(key)), 1)
    }
    order = list(_BOUND)
    found = {**named, **single, **listed}
    for key, digest in sorted(found.items(), key=lambda one: _place(one[0], order)):
        word, _, number = key.partition(" ")
        told = _BOUND.get(word, word.replace("_", " ").capitalize())
        yield {"name": f"{told}{f' ({number})' if number else ''}", "digest": str(digest)[:200]}


def _place(key: str, order: Sequence[str]) -> tuple[int, str]:
    word = key.partition(" ")[0]
    return (order.index(word) if word in order else len(order), key)


def _texts(value: object) -> list[str]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [one for one in listed if isinstance(one, str)]


def _fields(entry: Entry) -> Iterator[PageData]:
    left = _WHOLE
    for name, commitment in entry.fields.items():
        told = {"name": name, "commitment": commitment, "erased": name not in entry.body}
        text = json.dumps(entry.body.get(name), ensure_ascii=False, indent=2)
        cut = min(_TEXT, left)
        left -= min(len(text), cut)
        yield {**told, "text": text[:cut], "left": max(0, len(text) - cut)}


# Which record


def _kind(kind: str) -> tuple[str, str]:
    return _KINDS.get(kind, (kind.replace("_", " ").capitalize(), ""))


def _api(name: str) -> str:
    """Where programs find the record."""
    return f"/mentis/v1/{'' if name.startswith(RECORDED) else 'personas/'}{name}"


def _named(name: str) -> PageData:
    return {
        "export": f"{_api(name)}/export",
        "name": name.removeprefix(RECORDED),
        "recorded": name.startswith(RECORDED),
        "path": f"/studio/proof/{name}",
    }


async def _record_name(call: PageCall) -> str:
    """What `open_record` knows it by; AccessDenied or 404 for whoever does not see it."""
    if recorded := call.recorded():
        chains = await to_thread.run_sync(
            partial(list_chains, call.served.pool.path, call.served.parts)
        )
        name, known = recorded, [one.persona for one in chains]
    else:
        name, known = call.path("persona"), list(await call.served.pool.personas(call.token))
    if name not in known:
        raise RequestRefused(f"there is no record of {name[:80]!r}", hint="see all", status=404)
    return name


def _opened(call: PageCall, name: str) -> Record:
    try:
        return open_record(call.served.pool.path, name, call.served.parts, readonly=True)
    except UsageError as error:
        raise with_status(error, 404) from error
