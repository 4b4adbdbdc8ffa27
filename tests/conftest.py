"""What every test gets: one event loop, steady examples, an environment without our variables."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "mentis",
    deadline=None,  # a busy machine is no failure
    max_examples=60,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mentis")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # used by pytest
    """Settings of the person who runs the tests must not decide how they end."""
    for name in [name for name in os.environ if name.startswith("MENTIS_")]:
        if name != "MENTIS_CACHE":  # where the weights are is a fact about the machine
            monkeypatch.delenv(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All model tests go to one worker, so that the weights are loaded once."""
    for item in items:
        if item.get_closest_marker("model"):
            item.add_marker(pytest.mark.xdist_group("model"))
