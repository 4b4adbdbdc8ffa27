from __future__ import annotations

import pytest

from mentis.errors import StoreError
from mentis.stores.keyring import SystemSecrets


def test_the_environment_comes_first_and_the_keyring_fills_in() -> None:
    asked: list[tuple[str, str]] = []

    def lookup(service: str, name: str) -> str | None:
        asked.append((service, name))
        return "from the ring" if name == "B" else None

    secrets = SystemSecrets({"A": "from the environment", "B": ""}, lookup)
    assert [secrets.get(name) for name in "ABC"] == ["from the environment", "from the ring", None]
    assert asked == [("mentis", "B"), ("mentis", "C")]


def test_without_the_package_there_is_just_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    assert SystemSecrets({}).get("A") is None


def test_a_keyring_that_fails_is_named() -> None:
    def locked(service: str, name: str) -> str | None:
        raise OSError("it is locked")

    with pytest.raises(StoreError, match="A: it is locked"):
        SystemSecrets({}, locked).get("A")
