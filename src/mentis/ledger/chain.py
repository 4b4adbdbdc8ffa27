"""Recipe `mentis-1`: how an entry commits to its body fields and to the entry before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256

import orjson

from mentis.codec.canon import canonical, canonical_fields, canonical_header
from mentis.errors import BadInput, Defect
from mentis.ports.entries import Stamp
from mentis.values.entry import LEDGER_FIELDS, Before, Draft, Entry, Uptime, written_entry
from mentis.values.json import JsonObject

RECIPE = "mentis-1"
SALT_BYTES = 16
_FIELD, _ENTRY = b"mentis-1/field\0", b"mentis-1/entry\0"


def commit_field(name: str, value: object, salt: bytes) -> str:
    """The commitment to one top-level body field; without the salt nobody can guess it back."""
    return sha256(_FIELD + salt + canonical([name, value])).hexdigest()


def derives(body: JsonObject, salts: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    """Whether all fields of a body, with their salts as they are written, give the commitments.

    KeyError or ValueError where a salt or a commitment is missing or cannot be read.
    """
    for name, key, value in canonical_fields(body):
        salt = bytes.fromhex(salts[name])
        # There is one way to write a salt: `fromhex` reads others too.
        if len(salt) != SALT_BYTES or salt.hex() != salts[name]:
            return False
        if _commitment(salt, key, value) != fields[name]:
            return False
    return True


def hash_entry(entry: Entry) -> str:
    """The hash of an entry: over its header, which holds the commitments, not the body."""
    return _hash_header(
        {
            "agent": entry.agent, "fields": entry.fields, "index": entry.index, "kind": entry.kind,
            "prev": entry.prev, "ruleset": entry.ruleset, "source": entry.source,
            "time": entry.time, "v": entry.recipe,
        }
    )  # fmt: skip


def make_stamp(
    time: Callable[[], datetime],
    salt: Callable[[], bytes],
    uptime: Callable[[], Uptime] | None = None,
) -> Stamp:
    """A stamp that takes the times and one salt per body field from the given sources."""

    def stamp(agent: str, head: Before | None, draft: Draft) -> Entry:
        moment = read = format_time(time())
        index, prev = 0, None
        if head is not None:
            # The clock may go back, the record may not: it keeps the later time and says so.
            index, prev = head.index + 1, head.hash
            moment = max(read, head.time)
        body = _body(draft)
        if uptime is not None or moment != read:
            body["clock"] = _clock(uptime, read=None if moment == read else read)
        commitments, fields, written, salts = _commit(body, salt)
        source, kind, ruleset = draft.source, draft.kind, draft.ruleset
        digest = _hash_header(
            {
                "agent": agent, "fields": commitments, "index": index, "kind": kind, "prev": prev,
                "ruleset": ruleset, "source": source, "time": moment, "v": RECIPE,
            }
        )  # fmt: skip
        return written_entry(
            (
                agent, index, moment, source, kind, ruleset, prev,
                fields, digest, written, salts, RECIPE, draft.delivery,
            )
        )  # fmt: skip

    return stamp


def format_time(moment: datetime) -> str:
    """UTC with microseconds and `Z`, so that texts sort as times do."""
    if moment.tzinfo is None:
        raise Defect("the clock gave a time without a time zone", time=str(moment))
    there = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    # Four times as fast as `isoformat`, and there is one time in every entry.
    written = orjson.dumps(there, option=orjson.OPT_UTC_Z).decode()
    return written[1:-1] if there.microsecond else f"{written[1:-2]}.000000Z"


def _clock(uptime: Callable[[], Uptime] | None, *, read: str | None) -> JsonObject:
    """What is to be said about time beyond the time itself: mostly nothing, or the uptime."""
    clock: dict[str, object] = {}
    if uptime is not None:
        up = uptime()
        clock = {"boot": up.boot, "up": up.milliseconds}
        if up.counts_sleep:
            clock["sleep"] = True
    return clock if read is None else {"regressed": True, "read": read, **clock}


def _body(draft: Draft) -> dict[str, object]:
    """The body of a draft that can be recorded, with the identity of the delivery."""
    body: dict[str, object] = dict(draft.body)
    if not LEDGER_FIELDS.isdisjoint(body):
        forged = next(name for name in sorted(LEDGER_FIELDS) if name in body)
        raise BadInput(
            f"a draft of kind `{draft.kind}` sets the body field `{forged}`,"
            " which only the ledger writes",
            hint="give that field another name",
            field=forged,
        )
    if "\0" in f"{draft.kind}{draft.source}{draft.ruleset}{draft.delivery}":
        raise BadInput(
            "a draft holds a null character in its kind, source, rules or delivery,"
            " which not every store can keep",
            hint="leave the null character out",
        )
    if draft.delivery is not None:
        body["delivery"] = draft.delivery
    return body


def _commit(body: JsonObject, salt: Callable[[], bytes]) -> tuple[dict[str, str], str, str, str]:
    """The commitments to all fields; and as JSON: they, the body, the salts.

    Each field is written once: what is hashed is also what is kept.
    """
    commitments: dict[str, str] = {}
    salts: dict[str, str] = {}
    written: list[bytes] = []
    for name, key, value in canonical_fields(body):
        secret = salt()
        if len(secret) != SALT_BYTES:
            raise Defect(f"a salt has {len(secret)} bytes instead of {SALT_BYTES}")
        commitments[name] = _commitment(secret, key, value)
        salts[name] = secret.hex()
        written += (b",", key, b":", value)
    return (
        commitments,
        orjson.dumps(commitments).decode(),
        f"{{{b''.join(written[1:]).decode()}}}",
        orjson.dumps(salts).decode(),
    )


def _commitment(salt: bytes, key: bytes, value: bytes) -> str:
    """The same as `commit_field`, of a field that is written already."""
    return sha256(b"".join((_FIELD, salt, b"[", key, b",", value, b"]"))).hexdigest()


def _hash_header(header: JsonObject) -> str:
    return sha256(_ENTRY + canonical_header(header)).hexdigest()
