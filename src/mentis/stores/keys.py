"""The signing key of a ledger: a file of its owner alone, outside the home, or the keyring."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import SigningKeyError
from mentis.ports.secrets import Secrets
from mentis.system.files import MAKE_NEW, READ, open_file
from mentis.system.users import others_can_touch, user_id

_MOST = 4096


class KeySigner:
    """Signs with a key that was read once; the key itself does not come out again."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"KeySigner({self.public_text})"

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    @property
    def public_text(self) -> str:
        """The form that `ledger.public_key` takes."""
        return base64.b64encode(self.public).decode()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


def create_key(path: Path) -> KeySigner:
    """A new key in a new file that only its owner can read; a file that is there stays."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = open_file(path, MAKE_NEW)
    except FileExistsError as error:
        raise SigningKeyError(
            f"{path}: there is a key already",
            hint="use it, or name another file for a new one",
            file=str(path),
        ) from error
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except OSError as error:
        # Half a key would stand in the way of the next one.
        with suppress(OSError):
            path.unlink()
        raise unwritable(path, error) from error
    return KeySigner(key)


def load_key(path: Path) -> KeySigner:
    """The key of this file, if nobody but its owner could have read or changed it."""
    try:
        descriptor = open_file(path, READ)
    except OSError as error:
        raise SigningKeyError(
            f"{path}: the signing key cannot be opened: {error.strerror}",
            hint="restore it from your backup; checkpoints made with it stay valid",
            file=str(path),
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        _check_private(path, os.fstat(file.fileno()))
        pem = file.read(_MOST)
    return KeySigner(_parsed(pem, str(path)))


def key_from_secrets(secrets: Secrets, name: str) -> KeySigner | None:
    """The key from the environment or the keyring: PEM, or the 32 bytes of the seed in base64."""
    text = secrets.get(name)
    if text is None:
        return None
    if "PRIVATE KEY" in text:
        return KeySigner(_parsed(text.encode(), name))
    try:
        return KeySigner(
            Ed25519PrivateKey.from_private_bytes(base64.b64decode(text, validate=True))
        )
    except (binascii.Error, ValueError) as error:
        raise _unreadable(name) from error


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SigningKeyError(f"{path}: this is not a plain file", file=str(path))
    if status.st_uid != user_id():
        raise SigningKeyError(
            f"{path}: the signing key belongs to another user",
            hint="make a key of your own",
            file=str(path),
        )
    if others_can_touch(status):
        raise SigningKeyError(
            f"{path}: others can read or change the signing key",
            hint=f"chmod 600 {path}; if others may have read it, make a new key",
            file=str(path),
        )


def _parsed(pem: bytes, place: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise _unreadable(place) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _unreadable(place)
    return key


def _unreadable(place: str) -> SigningKeyError:
    return SigningKeyError(
        f"{place}: this is not an Ed25519 private key",
        hint="it is a PEM file without password, as `mentis ledger checkpoint` makes it",
        file=place,
    )
