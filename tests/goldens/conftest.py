"""Salts of the goldens: what is kept beside the record must come out the same again, too."""

from __future__ import annotations

import pytest

from mentis.record import home_files
from mentis.stores import sql_inventory

from .stage import steady_digest, steady_salt


@pytest.fixture(autouse=True)
def _steady_salts(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # used by pytest
    monkeypatch.setattr(sql_inventory, "random_salt", steady_salt)
    monkeypatch.setattr(home_files, "digest_file", steady_digest)
