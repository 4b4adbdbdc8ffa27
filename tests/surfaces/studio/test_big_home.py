"""The pages of a home with very much of everything stay small."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from bench.studio_home import BIG, MOST_BYTES, PAGES, StudioPages, make_studio_home, studio_pages

pytestmark = pytest.mark.slow


@asynccontextmanager
async def big_home(folder: Path) -> AsyncGenerator[StudioPages]:
    home = await make_studio_home(folder, BIG)
    async with studio_pages(home) as pages:
        yield pages


async def test_no_page_of_a_big_home_has_more_than_300_kilobytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "config"))
    async with big_home(tmp_path / "home") as pages:
        for page in PAGES:
            await pages.get(page)
            await pages.get(page, json=True)
    assert {page: size for page, size in pages.sizes.items() if size > MOST_BYTES} == {}
