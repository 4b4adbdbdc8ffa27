"""`mentis prompts what-if`: what another text of a block would do, before anybody saves it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from mentis.values.reply import Usage

from .conftest import Mentis
from .paid import Paid, make_home, open_paid, say_all

pytestmark = pytest.mark.anyio
UNPRICED = '[routes.small]\nreplies = ["Yes."]\nvariant = "compact"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home", more=UNPRICED)


def prints(folder: Path) -> dict[str, str]:
    files = (one for one in sorted((folder / "prompts").rglob("*")) if one.is_file())
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


async def test_a_trial_tells_tokens_price_and_kept_prefix_and_writes_nothing(
    mentis: Mentis, home: Path
) -> None:
    used = Usage(3000, 10, cache_write=2000)
    async with open_paid(home, Paid(("Yes.", used), ("No.", used))) as agent:
        await say_all(agent, ("Hi", "Is it warm?"))
        before, entries = prints(home), len(agent.entries())
        trial = agent.what_if("style", "## Style\n\nBe brief.", whole="default")
        assert (prints(home), len(agent.entries())) == (before, entries)
    assert trial.entry == 1, "the newest turn is told anew"
    there = {one.route: one for one in trial.effects}
    told = there["default"]
    assert told.changed
    assert told.now.total.tokens < told.was.total.tokens
    assert told.was.cost.usd is not None
    assert told.now.cost.usd is not None
    assert told.now.cost.usd < told.was.cost.usd
    assert 0 < told.kept.bytes < told.kept.of_bytes
    assert told.forecast.broken is not None
    assert told.forecast.broken.span is not None
    assert told.forecast.broken.span.block == "style"
    lost = told.forecast.broken.tokens.tokens
    assert told.kept.tokens.tokens + lost == told.kept.planned.tokens
    assert "+Be brief." in told.differences[0].diff
    assert "Be brief." in told.prompt
    assert "Is it warm?" in told.prompt
    printed = mentis("prompts", "what-if", "style", "--text", "Be brief.", "--home", home)
    assert printed.code == 0
    assert "default" in printed.out
    assert prints(home) == before


async def test_the_owners_wording_is_told_before_a_shipped_one_also_in_a_trial(
    mentis: Mentis, home: Path
) -> None:
    def tried(variant: str) -> dict[str, dict[str, object]]:
        asked = ("prompts", "what-if", "style", "--text", "Be brief.", "--variant", variant)
        told: Any = mentis(*asked, "--json", "--home", home).json()
        (found,) = told["personas"].values()
        return {one["route"]: one for one in found["effects"]}

    longer = tried("default")
    assert (longer["small"]["wording"], longer["small"]["changed"]) == ("default", True)
    short = tried("compact")
    assert (short["small"]["wording"], short["small"]["changed"]) == ("compact", True)
    assert (short["default"]["changed"], short["default"]["usd"] is None) == (False, False)
    assert short["default"]["reason"] == "its wording default is told here"
    missing = mentis("prompts", "what-if", "stile", "--text", "x", "--home", home)
    assert missing.code != 0
    assert "style" in missing.err
