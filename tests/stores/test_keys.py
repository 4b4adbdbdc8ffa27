"""The signing key: in a file of its owner alone, or in the keyring."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from mentis.errors import SigningKeyError
from mentis.ledger.signature import verify_signature
from mentis.ports.secrets import ListedSecrets
from mentis.ports.signer import SeededSigner
from mentis.stores.keys import create_key, key_from_secrets, load_key


def test_a_key_is_written_for_its_owner_alone_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "mentis" / "ledger.pem"
    made = create_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    read = load_key(path)
    assert read.public == made.public == base64.b64decode(made.public_text)
    assert verify_signature(made.public, b"message", read.sign(b"message"))


def test_a_key_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ledger.pem"
    made = create_key(path)
    with pytest.raises(SigningKeyError, match="there is a key already"):
        create_key(path)
    assert load_key(path).public == made.public


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "ledger.pem"
    create_key(path)
    path.chmod(mode)
    with pytest.raises(SigningKeyError, match="others can read or change"):
        load_key(path)


def test_links_pipes_and_missing_files_are_refused(tmp_path: Path) -> None:
    create_key(tmp_path / "real.pem")
    (tmp_path / "link.pem").symlink_to(tmp_path / "real.pem")
    os.mkfifo(tmp_path / "pipe.pem", 0o600)
    for name in ("link.pem", "pipe.pem", "missing.pem"):
        with pytest.raises(SigningKeyError):
            load_key(tmp_path / name)


def test_a_file_that_holds_no_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.pem"
    path.write_text("hello", "utf-8")
    path.chmod(0o600)
    with pytest.raises(SigningKeyError, match="not an Ed25519 private key"):
        load_key(path)


def test_the_keyring_may_hold_the_seed_or_the_whole_file(tmp_path: Path) -> None:
    create_key(tmp_path / "ledger.pem")
    pem = (tmp_path / "ledger.pem").read_text("utf-8")
    secrets = ListedSecrets(
        {"SEED": base64.b64encode(bytes(32)).decode(), "PEM": pem, "BAD": "???"}
    )
    seeded, whole = key_from_secrets(secrets, "SEED"), key_from_secrets(secrets, "PEM")
    assert seeded is not None
    assert seeded.public == SeededSigner().public
    assert whole is not None
    assert whole.public == load_key(tmp_path / "ledger.pem").public
    assert key_from_secrets(secrets, "NONE") is None
    with pytest.raises(SigningKeyError):
        key_from_secrets(secrets, "BAD")


def test_a_key_does_not_show_itself(tmp_path: Path) -> None:
    made = create_key(tmp_path / "ledger.pem")
    assert repr(made) == f"KeySigner({made.public_text})"
