"""Secrets from the environment."""

from __future__ import annotations

from mentis.ports.secrets import Secrets
from mentis.stores.environment import EnvironmentSecrets


def test_a_secret_is_the_value_of_its_variable() -> None:
    secrets: Secrets = EnvironmentSecrets({"KEY": "s3cret"})
    assert secrets.get("KEY") == "s3cret"
    assert secrets.get("OTHER") is None


def test_an_empty_variable_holds_no_secret() -> None:
    assert EnvironmentSecrets({"KEY": ""}).get("KEY") is None
