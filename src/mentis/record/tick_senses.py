"""The senses that one tick hands on to the next, each with who vouches for it.

They lie in files and rows meanwhile, so they are sealed with the home's secret: what does not come
with our seal may be anybody's, and nobody vouches for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mentis.codec.forms import from_json, to_json
from mentis.errors import BadInput, StoreDamaged
from mentis.home.identity import Identity
from mentis.ports.blob_store import BlobStore
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.trust import Trust

from .agent_record import AgentRecord
from .seals import is_ours, make_seal

LOST = "senses.lost"
_PURPOSE = b"mentis-senses"
_NEXT, _NEXT_KEY = "next", "senses"  # the mark of where they are kept for the next tick


def senses_left(record: AgentRecord, who: Identity, blobs: BlobStore) -> tuple[Sense, ...]:
    """The senses that the last tick left to the next one, trusted as they were. It blocks."""
    told = record.ledger.mark(record.agent, _NEXT, _NEXT_KEY)
    if told is None or told.value is None:
        return ()
    return kept_senses(who, blobs, told.value)


def senses_mark(who: Identity, blobs: BlobStore, senses: Sequence[Sense]) -> Mark:
    """Keep these for the next tick, and the mark that says where: of none, that there are none."""
    return Mark(_NEXT, _NEXT_KEY, keep_senses(who, blobs, senses) if senses else None)


def keep_senses(who: Identity, blobs: BlobStore, senses: Sequence[Sense]) -> dict[str, object]:
    """Apart from the record: it may be large, and it can be erased without a trace of it."""
    content = write_senses(senses)
    sealed = seal_senses(who, content)
    return {
        "blob": blobs.keep(content),
        "senses": len(senses),
        **({"seal": sealed} if sealed else {}),
    }


def kept_senses(who: Identity, blobs: BlobStore, told: JsonObject) -> tuple[Sense, ...]:
    """What `keep_senses` told of; one sense that says so, where it cannot be read any more."""
    name = str(told.get("blob", ""))
    try:
        content = blobs.read(name)
        return (
            (_lost(name),)
            if content is None
            else read_senses(who, content, str(told.get("seal", "")))
        )
    except (StoreDamaged, BadInput):
        return (_lost(name),)


def write_senses(senses: Sequence[Sense]) -> bytes:
    """A line each."""
    return b"\n".join(map(_line, senses))


def read_senses(who: Identity, content: bytes, sealed: str) -> tuple[Sense, ...]:
    """Trusted as they were under our seal, else not at all; BadInput if they cannot be read."""
    # Not by `splitlines`: a sense may hold what some take for the end of a line.
    senses = [from_json(Sense, one) for one in content.split(b"\n") if one]
    if is_ours(seal_senses(who, content), sealed):
        return tuple(senses)
    return tuple([replace(sense, trust=Trust.UNTRUSTED) for sense in senses])


def seal_senses(who: Identity, content: bytes) -> str:
    return make_seal(who.secret, _PURPOSE, who.agent, content)


def _line(sense: Sense) -> bytes:
    try:
        return to_json(sense)
    except BadInput as refusal:
        payload = {"kind": ascii(sense.kind), "reason": refusal.message}
        return to_json(Sense(f"{LOST}:{sense.id!a}", LOST, payload, Trust.UNTRUSTED))


def _lost(name: str) -> Sense:
    payload = {"blob": name, "reason": "what the last tick left here cannot be read any more"}
    return Sense(f"{LOST}:{name}", LOST, payload, Trust.RUNTIME)
