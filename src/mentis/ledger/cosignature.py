"""Cosignatures in the form of C2SP tlog-cosignature (Ed25519, `cosignature/v1`).

A witness says with one: at this time, the largest ledger of this log that I have seen is this
checkpoint, and it began with every other one that I have seen before.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from mentis.errors import UsageError
from mentis.ports.signer import Signer
from mentis.values.checkpoint import Cosignature, WitnessKey

from .checkpoint import COSIGNATURE, Signature, SignedNote, key_id, signature_line
from .signature import decode, verify_signature

_VERIFIER_KEY = re.compile(r"([^\s+\x00-\x1f\x7f#]{1,256})\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{1,64})")
_MOST_TIME = 2**63 - 1


def parse_witness_key(text: str) -> WitnessKey:
    """The key as `mentis witness key` and the tools of others print it: name, id and key."""
    found = _VERIFIER_KEY.fullmatch(text)
    raw = decode(found[3]) if found else None
    if found is None or raw is None or len(raw) != 33 or raw[:1] != COSIGNATURE:
        raise UsageError(
            f"{text!r} is no key of a witness",
            hint="it has the form NAME+ID+KEY, and its witness prints it; keys that sign"
            " otherwise than with Ed25519 are not known here",
        )
    key = WitnessKey(found[1], raw[1:])
    if _id_of(key).hex() != found[2]:
        raise UsageError(
            f"{text!r} is no key of a witness: its id is not that of name and key",
            hint="copy it again, whole",
        )
    return key


def witness_key_text(key: WitnessKey) -> str:
    """Name, id and key in one line, as other tools of C2SP take it."""
    encoded = base64.b64encode(COSIGNATURE + key.public).decode()
    return f"{key.name}+{_id_of(key).hex()}+{encoded}"


def cosign(note: SignedNote, name: str, signer: Signer, *, time: int) -> str:
    """The line to stand below the note, with its end. `time` is in seconds since 1970."""
    raw = time.to_bytes(8, "big") + signer.sign(_message(note, time))
    return signature_line(Signature(name, _id_of(WitnessKey(name, signer.public)), raw))


def cosignatures_in(note: SignedNote, witnesses: Iterable[WitnessKey]) -> tuple[Cosignature, ...]:
    """Who of these has cosigned it and when: the latest word of each."""
    found: dict[str, Cosignature] = {}
    for witness in witnesses:
        ours = (witness.name, _id_of(witness))
        times = [
            int.from_bytes(one.signature[:8], "big")
            for one in note.signatures
            if (one.name, one.key_id) == ours and _holds(note, one.signature, witness)
        ]
        if times:
            found[witness.name] = Cosignature(witness.name, max(times))
    return tuple(found.values())


def _holds(note: SignedNote, signature: bytes, witness: WitnessKey) -> bool:
    time = int.from_bytes(signature[:8], "big")
    if len(signature) != 72 or time > _MOST_TIME:
        return False
    return verify_signature(witness.public, _message(note, time), signature[8:])


def _message(note: SignedNote, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{note.text}".encode()


def _id_of(key: WitnessKey) -> bytes:
    return key_id(key.name, key.public, COSIGNATURE)
