"""Recipe `mentis-1`: how an entry commits to its body fields and to the entry before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from mentis.errors import BadInput, Defect
from mentis.ports.ledger_store import Stamp
from mentis.values.entry import LEDGER_FIELDS, Draft, Entry, Head
from mentis.values.json import JsonObject

from .canon import canonical

RECIPE = "mentis-1"
SALT_BYTES = 16


def commit_field(name: str, value: object, salt: bytes) -> str:
    """The commitment to one top-level body field; without the salt nobody can guess it back."""
    return _sha256(b"mentis-1/field\0" + salt + canonical([name, value]))


def hash_entry(entry: Entry) -> str:
    """The hash of an entry: over its header, which holds the commitments, not the body."""
    return _sha256(b"mentis-1/entry\0" + canonical(header_of(entry)))


def header_of(entry: Entry) -> JsonObject:
    return {
        "v": entry.recipe,
        "agent": entry.agent,
        "index": entry.index,
        "time": entry.time,
        "source": entry.source,
        "kind": entry.kind,
        "ruleset": entry.ruleset,
        "prev": entry.prev,
        "fields": entry.fields,
    }


def make_stamp(time: Callable[[], datetime], salt: Callable[[], bytes]) -> Stamp:
    """A stamp that takes the time and one salt per body field from the given sources."""

    def stamp(agent: str, head: Head | None, draft: Draft) -> Entry:
        read = format_time(time())
        # The clock may go back, the record may not: it keeps the later time and says so.
        regressed = head is not None and read < head.time
        body = _body(draft, read=read if regressed else None)
        salts = {name: _checked_salt(salt()) for name in body}
        entry = Entry(
            agent=agent,
            index=0 if head is None else head.index + 1,
            time=head.time if head is not None and regressed else read,
            source=draft.source,
            kind=draft.kind,
            ruleset=draft.ruleset,
            prev=None if head is None else head.hash,
            fields={name: commit_field(name, body[name], salts[name]) for name in body},
            hash="",
            body=body,
            salts={name: value.hex() for name, value in salts.items()},
            recipe=RECIPE,
            delivery=draft.delivery,
        )
        return replace(entry, hash=hash_entry(entry))

    return stamp


def format_time(moment: datetime) -> str:
    """UTC with microseconds and `Z`, so that texts sort as times do."""
    if moment.tzinfo is None:
        raise Defect("the clock gave a time without a time zone", time=str(moment))
    naive = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{naive.isoformat(timespec='microseconds')}Z"


def _body(draft: Draft, *, read: str | None) -> JsonObject:
    """The draft's body, detached from it, with what the ledger itself has to say."""
    forged = [name for name in LEDGER_FIELDS if name in draft.body]
    if forged:
        raise BadInput(
            f"a draft of kind `{draft.kind}` sets the body field `{forged[0]}`,"
            " which only the ledger writes",
            hint="give that field another name",
            field=forged[0],
        )
    body: dict[str, object] = dict(draft.body)
    if draft.delivery is not None:
        body["delivery"] = draft.delivery
    if read is not None:
        body["clock"] = {"regressed": True, "read": read}
    plain: Mapping[str, object] = json.loads(canonical(body))
    # The order of the draft: it decides which field gets which salt.
    return {name: plain[name] for name in body}


def _checked_salt(salt: bytes) -> bytes:
    if len(salt) != SALT_BYTES:
        raise Defect(f"a salt has {len(salt)} bytes instead of {SALT_BYTES}")
    return salt


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
