"""Recipe `mentis-1`: how an entry commits to its body fields and to the entry before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter
from typing import TypeAlias

import orjson

from mentis.errors import BadInput, Defect
from mentis.ports.ledger_store import Stamp
from mentis.values.entry import LEDGER_FIELDS, Draft, Entry, Head, Uptime
from mentis.values.json import JsonObject

from .canon import canonical, canonical_fields, canonical_header

RECIPE = "mentis-1"
SALT_BYTES = 16
# What the hash covers besides the recipe: the first fields of an entry.
_Header: TypeAlias = tuple[str, int, str, str, str, str | None, str | None, Mapping[str, str]]
_header_of: Callable[[Entry], _Header] = attrgetter(
    "agent", "index", "time", "source", "kind", "ruleset", "prev", "fields"
)


def commit_field(name: str, value: object, salt: bytes) -> str:
    """The commitment to one top-level body field; without the salt nobody can guess it back."""
    return _commitment(salt, canonical([name, value]))


def commit_fields(body: JsonObject, salts: Mapping[str, bytes]) -> dict[str, str]:
    """The commitments to all fields of a body, in its order."""
    return {
        name: _commitment(salts[name], encoded) for name, encoded in canonical_fields(body).items()
    }


def hash_entry(entry: Entry) -> str:
    """The hash of an entry: over its header, which holds the commitments, not the body."""
    return _hash_header(entry.recipe, _header_of(entry))


def make_stamp(
    time: Callable[[], datetime],
    salt: Callable[[], bytes],
    uptime: Callable[[], Uptime] | None = None,
) -> Stamp:
    """A stamp that takes the times and one salt per body field from the given sources."""

    def stamp(agent: str, head: Head | None, draft: Draft) -> Entry:
        moment = read = format_time(time())
        index, prev = 0, None
        if head is not None:
            # The clock may go back, the record may not: it keeps the later time and says so.
            index, prev, moment = head.index + 1, head.hash, max(read, head.time)
        clock = _clock(uptime, read=None if moment == read else read)
        fields: dict[str, str] = {}
        body: dict[str, object] = {}
        salts: dict[str, str] = {}
        # Written once: what is hashed is also what the entry's own copy is read from.
        for name, encoded in canonical_fields(_body(draft, clock)).items():
            secret = _checked_salt(salt())
            fields[name] = _commitment(secret, encoded)
            body[name] = orjson.loads(encoded)[1]
            salts[name] = secret.hex()
        header = (agent, index, moment, draft.source, draft.kind, draft.ruleset, prev, fields)
        entry_hash = _hash_header(RECIPE, header)
        return Entry(*header, entry_hash, body, salts, RECIPE, draft.delivery)

    return stamp


def format_time(moment: datetime) -> str:
    """UTC with microseconds and `Z`, so that texts sort as times do."""
    if moment.tzinfo is None:
        raise Defect("the clock gave a time without a time zone", time=str(moment))
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:-6]}Z"


def _clock(uptime: Callable[[], Uptime] | None, *, read: str | None) -> JsonObject:
    """What is to be said about time beyond the time itself: mostly nothing, or the uptime."""
    clock: dict[str, object] = {}
    if uptime is not None:
        up = uptime()
        clock = {"boot": up.boot, "up": up.milliseconds}
    return clock if read is None else {"regressed": True, "read": read, **clock}


def _body(draft: Draft, clock: JsonObject) -> JsonObject:
    """The draft's body with what the ledger itself has to say."""
    body: dict[str, object] = dict(draft.body)
    if not body.keys().isdisjoint(LEDGER_FIELDS):
        forged = next(name for name in LEDGER_FIELDS if name in body)
        raise BadInput(
            f"a draft of kind `{draft.kind}` sets the body field `{forged}`,"
            " which only the ledger writes",
            hint="give that field another name",
            field=forged,
        )
    if draft.delivery is not None:
        body["delivery"] = draft.delivery
    if clock:
        body["clock"] = clock
    return body


def _checked_salt(salt: bytes) -> bytes:
    if len(salt) != SALT_BYTES:
        raise Defect(f"a salt has {len(salt)} bytes instead of {SALT_BYTES}")
    return salt


def _commitment(salt: bytes, encoded: bytes) -> str:
    return sha256(b"mentis-1/field\0" + salt + encoded).hexdigest()


def _hash_header(recipe: str, columns: _Header) -> str:
    agent, index, time, source, kind, ruleset, prev, fields = columns
    header: JsonObject = {
        "v": recipe,
        "agent": agent,
        "index": index,
        "time": time,
        "source": source,
        "kind": kind,
        "ruleset": ruleset,
        "prev": prev,
        "fields": fields,
    }
    return sha256(b"mentis-1/entry\0" + canonical_header(header, fields)).hexdigest()
