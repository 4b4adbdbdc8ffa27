"""Senses that no tick could take: set aside, with the reason, until somebody looks at them.

What it was is kept in a file of its own, that it was set aside is an entry of the record, and a
mark beside it lists it. Nothing goes unless somebody says so.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mentis.codec.forms import from_json, to_json
from mentis.errors import BadInput, StoreDamaged, UsageError
from mentis.home.database import open_database
from mentis.home.ledger import open_ledger
from mentis.home.parts import Parts
from mentis.home.server import open_blobs
from mentis.home.system import RandomIds, SystemClock
from mentis.ports.blob_store import BlobStore
from mentis.record.agent_record import AgentRecord
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.stores.files.secret import make_secret, read_secret
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.trust import Trust
from mentis.values.value import Value

from .sealed import SEAL, Seals

KIND = "sense"  # of its entries
_MARK = "aside"
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Aside(Value):
    """`failures` is how many ticks in a row failed with it, `reason` how the last one did."""

    id: str
    kind: str
    time: str
    failures: int
    reason: str
    blob: str


@dataclass(frozen=True, slots=True)
class Asides:
    """Those of one agent. Its methods block."""

    record: AgentRecord
    blobs: BlobStore
    seals: Seals

    def put(
        self, senses: Sequence[Sense], marks: Sequence[Mark], *, failures: int, reason: str
    ) -> Aside:
        """All that goes by one id; the marks go with the last of them, so that none is lost."""
        first, *others = senses
        for number, one in enumerate(others, 2):
            self.add(replace(one, id=f"{one.id}:{number}"), failures=failures, reason=reason)
        return self.add(first, failures=failures, reason=reason, marks=marks)

    def add(self, sense: Sense, *, failures: int, reason: str, marks: Sequence[Mark] = ()) -> Aside:
        """It is known from the moment it is recorded, and not taken again. What JSON cannot say
        of it is kept as it would be printed.
        """
        now = self.record.now().isoformat(timespec="seconds")
        sense = _kept(sense)
        blob = self.blobs.keep(to_json(sense))
        said = reason[:_LONGEST].encode(errors="backslashreplace").decode()
        made = Aside(sense.id, sense.kind, now, failures, said, blob)
        told: dict[str, object] = {
            "kind": made.kind,
            "time": now,
            "failures": failures,
            "reason": made.reason,
            "blob": blob,
            SEAL: self.seals.of(sense),
        }
        self._record("aside", made, Mark(_MARK, made.id, told), *marks)
        return made

    def all(self) -> tuple[Aside, ...]:
        """The oldest first."""
        found = (_read(mark) for mark in self._marks())
        return tuple(sorted(found, key=lambda one: (one.time, one.id)))

    def find(self, name: str) -> Aside:
        """By its id, or how that begins."""
        every = self.all()
        found = [one for one in every if one.id == name] or [
            one for one in every if name and one.id.startswith(name)
        ]
        if len(found) != 1:
            raise UsageError(
                f"{len(found) or 'no'} senses that were set aside are called {name!r}",
                hint="`mentis sense failed` lists them",
            )
        return found[0]

    def sense(self, aside: Aside) -> Sense:
        content = self.blobs.read(aside.blob)
        if content is None:
            raise StoreDamaged(
                f"what {aside.id} said is not there any more",
                hint=f"mentis sense drop {aside.id}",
            )
        return from_json(Sense, content)

    def again(self, aside: Aside) -> JsonObject:
        """As it is put into the agent's folder once more: vouched for as it was. Where the seal is
        not ours it comes like anything that somebody puts there, and nobody vouches for it.
        """
        sense = self.sense(aside)
        values = (mark.value or {} for mark in self._marks() if mark.key == aside.id)
        sealed = next((str(value.get(SEAL)) for value in values), "")
        if self.seals.holds(sense, sealed):
            return self.seals.sealed_form(sense)
        told = {"kind": sense.kind, "payload": dict(sense.payload), "trust": Trust.UNTRUSTED.value}
        return {**told, "endpoint": sense.endpoint} if sense.endpoint else told

    def remove(self, aside: Aside, state: Literal["again", "dropped"]) -> None:
        self._record(state, aside, Mark(_MARK, aside.id))
        self.blobs.forget(aside.blob)

    def _record(self, state: str, aside: Aside, *marks: Mark) -> None:
        told = {"id": aside.id, "kind": aside.kind, "state": state, "blob": aside.blob}
        why = {"failures": aside.failures, "reason": aside.reason} if state == "aside" else {}
        who = "runtime" if state == "aside" else "owner"
        self.record.append(KIND, {"sense": {**told, **why}}, source=who, marks=marks)

    def _marks(self) -> tuple[Mark, ...]:
        return self.record.ledger.marks(self.record.agent, _MARK)


@contextmanager
def open_asides(
    path: Path, *, persona: str | None = None, parts: Parts | None = None
) -> Generator[Asides]:
    parts = parts or Parts()
    home = find_home(path)
    settings = load_settings(home.path, parts.variables)
    chosen = home.pick_persona(persona, settings.model.persona)
    agent = f"{settings.model.name or home.name}/{chosen}"
    clock, ids = parts.clock or SystemClock(), parts.ids or RandomIds()
    with (
        closing(open_database(home, settings, parts.variables, salts=parts.salts)) as database,
        closing(open_ledger(settings, database, parts.variables)) as ledger,
    ):
        secret = parts.secret or read_secret(home) or make_secret(home, ids.salt)
        record = AgentRecord(agent, ledger, clock, ids)
        yield Asides(record, open_blobs(home, database), Seals(agent, secret))


def unsayable(sense: Sense) -> str:
    """Why no model could be told it, nor a record name it; nothing if both can be done."""
    said = sense.id, sense.kind, sense.endpoint, sense.payload
    try:
        json.dumps(said, ensure_ascii=False, default=str).encode()
    except (ValueError, TypeError, RecursionError):
        return "it cannot be written: it holds half a character or itself, or a key that is no text"
    return ""


def _kept(sense: Sense) -> Sense:
    try:
        to_json(sense)
    except BadInput:
        return _as_printed(sense)
    return sense


def _as_printed(sense: Sense) -> Sense:
    named = [ascii(one)[1:-1] for one in (sense.id, sense.kind, sense.endpoint)]
    text = ascii(dict(sense.payload))
    return Sense(named[0], named[1], {"text": text}, sense.trust, named[2])


def _read(mark: Mark) -> Aside:
    told = mark.value or {}
    failures = told.get("failures")
    words = (str(told.get(name, "")) for name in ("kind", "time", "reason", "blob"))
    kind, time, reason, blob = words
    return Aside(mark.key, kind, time, failures if isinstance(failures, int) else 0, reason, blob)
