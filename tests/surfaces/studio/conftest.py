from __future__ import annotations

from collections.abc import Generator

import pytest
from tests.surfaces.studio.studio_home import StudioHome, studio_home


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Generator[StudioHome]:
    """One server for the tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENTIS_CONFIG", str(tmp_path_factory.mktemp("config")))
        with studio_home(tmp_path_factory.mktemp("studio")) as home:
            yield home
