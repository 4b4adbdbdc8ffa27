"""Ed25519: base64 keys, verification, and statements signed inside an entry.

A statement is signed over a prefix with a null byte, which no checkpoint text can begin with, so
that one signature never passes for the other.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import cast

from mentis.codec.canon import canonical
from mentis.errors import NotCanonical, SigningKeyError
from mentis.ports.signer import Signer
from mentis.values.json import JsonObject

_STATEMENT = b"mentis-1/statement\0"


def verify_signature(public: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def sign_statement(statement: JsonObject, *signers: Signer) -> JsonObject:
    """The statement with the signature of each signer over it."""
    message = _STATEMENT + canonical(statement)
    signatures = {encode_key(signer.public): _encode(signer.sign(message)) for signer in signers}
    return {"statement": statement, "signatures": signatures}


def statement_of(signed: object) -> JsonObject:
    """What a body field says that was made by `sign_statement`; empty if it was not."""
    return as_object(as_object(signed).get("statement"))


def signed_by(signed: object, public: bytes) -> bool:
    """Whether the statement carries a valid signature of this key."""
    statement = as_object(signed).get("statement")
    signature = as_object(as_object(signed).get("signatures")).get(encode_key(public))
    raw = decode(signature) if isinstance(signature, str) else None
    if raw is None:
        return False
    try:
        message = _STATEMENT + canonical(statement)
    except NotCanonical:
        return False
    return verify_signature(public, message, raw)


def encode_key(public: bytes) -> str:
    return _encode(public)


def decode_key(text: str) -> bytes:
    """The 32 bytes of a pinned public key."""
    raw = decode(text)
    if raw is None or len(raw) != 32:
        raise SigningKeyError(
            f"{text!r} is not an Ed25519 public key in base64",
            hint="`ledger.public_key` is printed by `mentis ledger checkpoint`",
        )
    return raw


def decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def as_object(value: object) -> JsonObject:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
