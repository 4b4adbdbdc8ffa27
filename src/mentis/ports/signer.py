"""Signs for the ledger. The private key stays behind this seam; only signatures come out."""

from __future__ import annotations

from typing import Protocol


class Signer(Protocol):
    @property
    def public(self) -> bytes:
        """The 32 bytes of the Ed25519 public key."""
        ...

    def sign(self, message: bytes) -> bytes: ...


class SeededSigner:
    """A signer for tests and replay: the same seed, the same key."""

    def __init__(self, seed: bytes = bytes(32)) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)
