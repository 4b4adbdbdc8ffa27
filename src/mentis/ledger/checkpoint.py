"""Checkpoints in the form of C2SP tlog-checkpoint and signed-note: any witness can read one.

origin            which log
42                how many entries
base64(root)      their Merkle root

— origin base64(key id (4 bytes), Ed25519 signature over the three lines)
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from mentis.errors import BadCheckpoint, SettingsError, UsageError
from mentis.ports.signer import Signer
from mentis.values.checkpoint import Checkpoint
from mentis.values.value import Value

from .signature import decode, verify_signature

MAX_NOTE = 16 * 1024
# The first byte of a key says what its signatures are over: a note, or a note and a time.
_ED25519 = b"\x01"
COSIGNATURE = b"\x04"
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,256}")
_SIZE = re.compile(r"0|[1-9][0-9]{0,15}")
_SIGNATURE = re.compile(r"— (\S+) (\S+)")


@dataclass(frozen=True, slots=True)
class Signature(Value):
    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignedNote(Value):
    """A checkpoint as it was read: what it says, the text that is signed, and by whom."""

    checkpoint: Checkpoint
    text: str
    signatures: tuple[Signature, ...]


def checkpoint_text(checkpoint: Checkpoint) -> str:
    root = base64.b64encode(bytes.fromhex(checkpoint.root)).decode()
    return f"{checkpoint.origin}\n{checkpoint.size}\n{root}\n"


def sign_checkpoint(checkpoint: Checkpoint, signer: Signer) -> str:
    """The whole note."""
    check_name(checkpoint.origin)
    text = checkpoint_text(checkpoint)
    identity = key_id(checkpoint.origin, signer.public)
    signed = Signature(checkpoint.origin, identity, signer.sign(text.encode()))
    return f"{text}\n{signature_line(signed)}"


def signature_line(signature: Signature) -> str:
    """As it stands below a note, with its end."""
    raw = base64.b64encode(signature.key_id + signature.signature).decode()
    return f"— {signature.name} {raw}\n"


def read_note(note: str) -> SignedNote:
    """Take a note apart; its signatures are not checked here."""
    text, gap, below = note.rpartition("\n\n")
    lines = text.split("\n")
    if not gap or len(note) > MAX_NOTE or not below.endswith("\n") or len(lines) < 3:
        raise _unreadable("it has no three lines, empty line and signatures")
    origin, size, root = lines[:3]
    raw = decode(root)
    if not _NAME.fullmatch(origin) or not _SIZE.fullmatch(size) or raw is None or len(raw) != 32:
        raise _unreadable("its first lines are not origin, size and root")
    checkpoint = Checkpoint(origin, int(size), raw.hex())
    return SignedNote(checkpoint, f"{text}\n", tuple(map(_signature, below[:-1].split("\n"))))


def note_signed_by(note: SignedNote, public: bytes) -> bool:
    """Whether the log's own key signed it, under the log's own name."""
    origin = note.checkpoint.origin
    ours = key_id(origin, public)
    return any(
        verify_signature(public, note.text.encode(), signature.signature)
        for signature in note.signatures
        if signature.name == origin and signature.key_id == ours
    )


def key_id(name: str, public: bytes, kind: bytes = _ED25519) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + kind + public).digest()[:4]


def verifier_key(name: str, public: bytes) -> str:
    """The key as other tools of C2SP take it: name, id and key in one line."""
    key = base64.b64encode(_ED25519 + public).decode()
    return f"{name}+{key_id(name, public).hex()}+{key}"


def check_name(origin: str) -> None:
    if not _NAME.fullmatch(origin):
        raise SettingsError(
            f"`ledger.origin`: {origin!r} cannot name a log",
            hint="use something like example.org/ada, without spaces and plus signs",
        )


def check_witness_name(name: str) -> None:
    if not _NAME.fullmatch(name) or "#" in name:
        raise UsageError(
            f"{name!r} cannot name a witness",
            hint="use something like witness.example/w1, without spaces, plus and hash signs",
        )


def split_notes(text: str) -> tuple[str, ...]:
    """The notes of a file that holds one after the other; each begins after signature lines."""
    notes: list[str] = []
    current: list[str] = []
    for line in text.splitlines():
        if current and current[-1].startswith("— ") and not line.startswith("— "):
            notes.append("\n".join(current) + "\n")
            current = []
        if line or current:
            current.append(line)
    return (*notes, "\n".join(current) + "\n") if current else tuple(notes)


@dataclass(frozen=True, slots=True)
class Policy(Value):
    """A checkpoint is due after so many entries or so many seconds, whichever comes first."""

    entries: int = 100
    seconds: float = 600.0


def due(policy: Policy, size: int, now: datetime, *, last: tuple[int, datetime] | None) -> bool:
    """Whether a ledger of `size` needs one now. `last` is size and time of the one before."""
    if last is None:
        return size > 0
    last_size, last_time = last
    grown = size - last_size
    return grown >= policy.entries or (
        grown > 0 and now - last_time >= timedelta(seconds=policy.seconds)
    )


def _signature(line: str) -> Signature:
    found = _SIGNATURE.fullmatch(line)
    raw = decode(found[2]) if found else None
    if found is None or raw is None or len(raw) < 5:
        raise _unreadable(f"{line[:60]!r} is no signature line")
    return Signature(found[1], raw[:4], raw[4:])


def _unreadable(reason: str) -> BadCheckpoint:
    return BadCheckpoint(
        f"this is not a checkpoint: {reason}",
        hint="it has the form of a C2SP signed note; copy the whole file, byte for byte",
        reason=reason,
    )
