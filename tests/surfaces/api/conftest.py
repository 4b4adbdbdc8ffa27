from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.surfaces.api.api_home import ApiClient, ApiHome, api_home


@pytest.fixture(scope="module")
def api(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Generator[ApiHome]:
    """One server for the tests of a module."""
    folder: Path = tmp_path_factory.mktemp("api")
    config = tmp_path_factory.mktemp("config")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENTIS_CONFIG", str(config))
        with api_home(folder) as home:
            yield home


@pytest.fixture(scope="module")
def owner(api: ApiHome) -> ApiClient:
    return api.client("all")
