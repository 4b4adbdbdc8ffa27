from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from playwright.sync_api import Browser
from tests.surfaces.studio.browser import StudioWindow, chromium, window
from tests.surfaces.studio.studio_home import StudioHome, studio_home

MakeHome: TypeAlias = Callable[[Path], AbstractContextManager[StudioHome]]


@pytest.fixture(scope="module")
def studio(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[StudioHome]:
    """One server for the tests of a module, of the home that its `MAKE_HOME` makes."""
    module = cast("object", request.module)  # pyright: ignore[reportUnknownMemberType]  # untyped
    make: MakeHome = getattr(module, "MAKE_HOME", studio_home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENTIS_CONFIG", str(tmp_path_factory.mktemp("config")))
        with make(tmp_path_factory.mktemp("studio")) as home:
            yield home


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, studio: StudioHome) -> Generator[StudioWindow]:
    """The owner of the home, at their browser."""
    with window(browser, studio) as made:
        yield made
