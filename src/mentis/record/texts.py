"""Texts behind the digests of entries: conversations, prompts, results, bodies of recorded calls.

An entry binds them and does not hold them. Whatever stands somewhere else than it was bound is
found by its digest alone, so a text that was changed is not found at all.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import orjson

from mentis.errors import MentisError
from mentis.home.older_turns import StoredTurns
from mentis.ports.blob_store import BlobStore
from mentis.values.digest import Digest, digest
from mentis.values.entry import Entry
from mentis.values.json import json_object

from .call_bodies import BODIES, read_body
from .claims import session_of
from .redaction import RedactionRule, find_rule, withhold
from .stored_turns import turn_form

# The bytes that were sent in a step of a turn, put together again; MentisError where they cannot.
PromptReader: TypeAlias = Callable[[int, int], bytes]
MAX_TEXT = 4 * 1024 * 1024
_NOT_KEPT = "not kept"
_ELSEWHERE: Mapping[str, str] = {
    "request": "not kept: the payload was made from it",
    "acts": "not kept as one text: the entries of the acts say it",
}
_STEP = ("acts", "payload", "reply", "request")
_SESSIONS = 8


@dataclass(frozen=True, slots=True)
class BoundText:
    """The text that an entry binds at a place of its body, or why it is not here."""

    place: str
    digest: Digest
    content: bytes | None = None
    left_out: str = ""


@dataclass(slots=True)
class RecordTexts:
    """Finds the texts of one agent's entries. Without `prompts`, those are not put together."""

    agent: str
    talk: StoredTurns
    blobs: BlobStore
    prompts: PromptReader | None = None
    _sessions: dict[str, Mapping[Digest, bytes]] = field(
        default_factory=dict[str, Mapping[Digest, bytes]]
    )

    def of(self, entry: Entry) -> Iterator[BoundText]:
        """Each once: a turn of several steps binds its first prompt twice."""
        told: dict[Digest, str] = {}
        for place, bound in text_places(entry.body):
            if bound in told:
                yield BoundText(place, bound, left_out=f"the same text as {told[bound]}")
                continue
            told[bound] = place
            try:
                content = self._read(entry, place, bound)
            except MentisError as refusal:
                yield BoundText(place, bound, left_out=f"{_NOT_KEPT}: {refusal.message}"[:500])
                continue
            if content is None or digest(content) != bound:
                why = _ELSEWHERE.get(place.rpartition("/")[2], _NOT_KEPT)
                yield BoundText(place, bound, left_out=why)
            elif len(content) > MAX_TEXT:
                yield BoundText(place, bound, left_out=f"too long: {len(content)} bytes")
            else:
                yield BoundText(place, bound, content)

    def _read(self, entry: Entry, place: str, bound: Digest) -> bytes | None:
        top, _, rest = place[1:].partition("/")
        if top == "result":
            return self.blobs.read(bound)
        if top in BODIES:
            listing = json_object(entry.body.get(top)).get("body")
            return read_body(self.blobs, listing) if isinstance(listing, str) else None
        if rest.endswith("payload"):
            step = int(rest.split("/")[0]) + 1 if top == "steps" else 1
            told = entry.kind == "turn" and "turn" in entry.body and self.prompts
            return self.prompts(entry.index, step) if told and self.prompts else None
        if bound == digest(b""):
            return b""
        session = session_of(entry) if entry.kind == "turn" else None
        return None if session is None else self._said(session).get(bound)

    def _said(self, session: str) -> Mapping[Digest, bytes]:
        """Every turn of a session as it is bound, and every text alone."""
        found = self._sessions.get(session)
        if found is None:
            turns = self.talk.turns(self.agent, session)
            forms = [one for turn in turns for one in (turn_form(turn), turn.text.encode())]
            found = {digest(form): form for form in forms}
            if len(self._sessions) >= _SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[session] = found
        return found


def text_places(body: Mapping[str, object]) -> list[tuple[str, Digest]]:
    """Where a body binds a text, and by which digest. A revision of the library is no text."""
    found: list[tuple[str, object]] = [("/asked", body.get("asked"))]
    found += [(f"/acted/{n}", one) for n, one in enumerate(_listed(body.get("acted")))]
    digests = json_object(body.get("digests"))
    found += [(f"/digests/{name}", digests[name]) for name in sorted(digests) if name != "library"]
    for number, step in enumerate(_listed(body.get("steps"))):
        told = json_object(step)
        found += [(f"/steps/{number}/{name}", told.get(name)) for name in _STEP]
    found += [("/result/blob", json_object(body.get("result")).get("blob"))]
    found += [(f"/{name}/digest", json_object(body.get(name)).get("digest")) for name in BODIES]
    return [(at, one) for at, one in found if isinstance(one, str) and one.startswith("sha256:")]


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What an export says beyond its digests: with `texts` those as well, and what `rules` find is
    left out.
    """

    texts: RecordTexts | None = None
    rules: Sequence[RedactionRule] = ()

    def of(self, entry: Entry) -> tuple[Entry, list[bytes]]:
        """The entry as it is shown, and the lines of `texts.jsonl` that go with it."""
        shown, gone = withhold(entry, self.rules)
        rows: list[dict[str, object]] = [
            {"entry": entry.index, "place": f"/{one.name}", "left_out": f"rule {one.rule}"}
            for one in gone
        ]
        found = () if self.texts is None else self.texts.of(shown)
        rows.extend({"entry": entry.index, **_row(one, self.rules)} for one in found)
        return shown, [orjson.dumps(row, option=orjson.OPT_SORT_KEYS) + b"\n" for row in rows]


def _row(one: BoundText, rules: Sequence[RedactionRule]) -> dict[str, object]:
    told: dict[str, object] = {"place": one.place, "digest": one.digest}
    if one.content is None:
        return {**told, "left_out": one.left_out}
    if rule := find_rule(rules, one.place[1:], _readable(one.content)):
        return {**told, "left_out": f"rule {rule}"}
    try:
        return {**told, "text": one.content.decode()}
    except UnicodeDecodeError:
        return {**told, "base64": base64.b64encode(one.content).decode()}


def _readable(content: bytes) -> object:
    """As it is written, and as it reads: in JSON a quotation mark has a stroke before it."""
    text = content.decode(errors="replace")
    try:
        return [text, json.loads(text)]
    except (ValueError, RecursionError):
        return text
