"""Messages between a log and its witness: `add-checkpoint` of C2SP tlog-witness.

old 12                    the size that the witness has seen last
base64(hash)              that the new tree begins with the old one, a line for each hash

origin                    the checkpoint, signed by the log
...
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mentis.errors import BadCheckpoint
from mentis.values.value import Value

from .checkpoint import MAX_NOTE, SignedNote, note_signed_by, read_note
from .merkle import Hashes, verify_consistency
from .signature import decode

SIZE_TYPE = "text/x.tlog.size"
MOST_HASHES = 63
MAX_REQUEST = MAX_NOTE + (MOST_HASHES + 2) * 64
_OLD = re.compile(r"old (0|[1-9][0-9]{0,15})")
_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class WitnessRequest(Value):
    """A checkpoint, and that it begins with the one of size `old`."""

    old: int
    proof: Hashes
    note: SignedNote


@dataclass(frozen=True, slots=True)
class WitnessRefusal(Value):
    """Why a checkpoint is not cosigned; `size` is what the witness has, if it goes by that."""

    status: int
    reason: str
    size: int | None = None


def write_request(old: int, proof: Iterable[bytes], note: str) -> bytes:
    hashes = "".join(f"{base64.b64encode(one).decode()}\n" for one in proof)
    return f"old {old}\n{hashes}\n{note}".encode()


def read_request(body: bytes) -> WitnessRequest:
    """BadCheckpoint for a body that is not one."""
    try:
        head, gap, note = body.decode().partition("\n\n")
    except UnicodeDecodeError as error:
        raise _malformed("it is not UTF-8") from error
    first, *lines = head.split("\n")
    old = _OLD.fullmatch(first)
    if not gap or old is None:
        raise _malformed("it does not begin with `old`, a size and a proof")
    proof = tuple(decode(line) or b"" for line in lines)
    if len(proof) > MOST_HASHES or any(len(one) != _HASH_BYTES for one in proof):
        raise _malformed("its proof is not up to 63 hashes in base64")
    return WitnessRequest(int(old[1]), proof, read_note(note))


def refuse_request(
    request: WitnessRequest, keys: Iterable[bytes], known: SignedNote | None
) -> WitnessRefusal | None:
    """None where it may be cosigned: a key of the log has signed it, and it goes on from what is
    known.
    """
    says = request.note.checkpoint
    if not any(note_signed_by(request.note, key) for key in keys):
        return WitnessRefusal(403, f"no key that is trusted for {says.origin} has signed it")
    if request.old > says.size:
        return WitnessRefusal(400, f"its old size {request.old} is beyond its size {says.size}")
    size = known.checkpoint.size if known else 0
    if request.old != size:
        return WitnessRefusal(409, f"the checkpoint seen last has size {size}", size)
    if known is None or size == 0:
        fits = not request.proof
    elif size == says.size and known.checkpoint.root != says.root:
        return WitnessRefusal(409, f"another ledger of size {size} was seen before", size)
    else:
        old_root, root = bytes.fromhex(known.checkpoint.root), bytes.fromhex(says.root)
        fits = verify_consistency((size, old_root), (says.size, root), request.proof)
    if not fits:
        return WitnessRefusal(422, f"nothing proves that it begins with the {size} entries before")
    return None


def _malformed(reason: str) -> BadCheckpoint:
    return BadCheckpoint(
        f"this is not what a witness is asked: {reason}",
        hint="see c2sp.org/tlog-witness",
        reason=reason,
    )
