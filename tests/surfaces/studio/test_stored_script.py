"""Scripts that were stored in a home are shown as text on every screen, and never run."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import partial

import anyio
import pytest
from playwright.sync_api import expect
from tests.rounds import calls, says, temperature
from tests.surfaces.api.api_home import Obliging
from tests.surfaces.serve.served import make_home, serving
from tests.surfaces.studio.browser import StudioWindow, needs_browser
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

from mentis.memories.memories import open_memories
from mentis.values.memories import MemoryDraft
from mentis.values.trust import Trust

pytestmark = [needs_browser, pytest.mark.slow]
API = f"/mentis/v1/personas/{PERSONA}"
TALK = f"/studio/talk/{PERSONA}"
# A script that is put in as markup does not run; a picture that cannot be loaded does something.
STORED = f"{SCRIPT}<img src=x onerror=alert('stored')>"
LIMITS = {"web__requests_per_minute": "100000", "web__burst": "10000"}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Generator[StudioHome]:
    """Its persona is named with a script, and remembers one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENTIS_CONFIG", str(tmp_path_factory.mktemp("config")))
        home, provider = make_home(tmp_path_factory.mktemp("script")), Obliging()
        card = home / "personas" / PERSONA / "persona.toml"
        named, text = f'name = "{STORED}"', card.read_text("utf-8")
        card.write_text(re.sub(r'^name = ".*"$', named, text, flags=re.MULTILINE), "utf-8")
        with open_memories(home, PERSONA) as memories:
            draft = MemoryDraft(f"Herons {STORED}", "fact", Trust.OWNER, STORED)
            anyio.run(partial(memories.remember, draft))
        with serving(home, provider, (temperature,), embedder=None, **LIMITS) as served:
            yield StudioHome(served, provider)


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    """A block, a file's name, an argument, the result of a tool and an answer are scripts, too."""
    tab = studio.owner(writing=True)
    block = {"id": "odd", "name": STORED, "text": f"Be kind. {STORED}", "words": STORED}
    assert tab.post("/mentis/v1/prompts/blocks", json=block).status_code == 201
    studio.provider.play(calls(("c", "temperature", {"city": STORED})), says(f"Mild. {STORED}"))
    file = {"name": f"{STORED}.txt", "data": "aGVsbG8="}
    said = {"text": f"Herons? {STORED}", "attachments": [file]}
    done = tab.post(f"{API}/sessions/one/turns", json=said)
    assert done.status_code == 200, done.text
    return tab


def test_stored_script_is_text_in_a_talk_and_while_it_is_made(
    studio: StudioHome, tab: BrowserTab, visitor: StudioWindow
) -> None:
    del tab
    page = visitor.page
    visitor.turn_on_writing()
    visitor.go(f"{TALK}/one")
    expect(page.get_by_role("main")).to_contain_text(f"Mild. {STORED}")
    expect(page.get_by_text(f"{STORED}.txt").first).to_be_visible()
    page.get_by_text("came back from").first.click()
    visitor.see(f"17 degrees in {STORED}")
    studio.provider.play(calls(("d", "temperature", {"city": STORED})), says(f"Warm. {STORED}"))
    page.get_by_label("Message to").fill(f"And now? {STORED}")
    visitor.click("Send")
    visitor.see(f"Warm. {STORED}")
    expect(page.get_by_role("link", name="Why this answer?")).to_have_count(2)
    assert visitor.faults == []


def test_stored_script_is_text_on_every_screen(tab: BrowserTab, visitor: StudioWindow) -> None:
    entry = tab.get(f"{TALK}/one.json").json()["exchanges"][0]["entry"]
    act = tab.get(f"/studio/done/{PERSONA}.json").json()["personas"][0]["rows"][0]["acts"][0]
    seen = {
        "/studio/talk": STORED,
        f"/studio/blame/{PERSONA}/{entry}": f"Be kind. {STORED}",
        f"/studio/blame/{PERSONA}/{entry}?step=2": f"17 degrees in {STORED}",
        "/studio/search?q=Herons": SCRIPT,
        "/studio/bill?by=block": "What it cost",
        "/studio/prompts?q=odd": STORED,
        "/studio/prompts/odd": f"Be kind. {STORED}",
        "/studio/prompts/odd/history": STORED,
        "/studio/what-if?block=odd": "For each persona",
        f"/studio/proof/{PERSONA}/{entry}": "This entry holds.",
        f"/studio/done/{PERSONA}": "temperature",
        act["path"]: STORED,
        "/studio/mind": STORED,
        f"/studio/mind/{PERSONA}/memories": f"Herons {STORED}",
        "/studio/jump?q=script": STORED,
    }
    visitor.turn_on_writing()
    for path, words in seen.items():
        visitor.go(path)
        expect(visitor.page.get_by_role("main")).to_contain_text(words)
        visitor.page.wait_for_load_state("networkidle")
        assert visitor.faults == [], path
    visitor.go(f"/studio/mind/{PERSONA}/recall?q=herons")
    visitor.click("What comes to mind?")
    expect(visitor.page.get_by_role("main")).to_contain_text(f"Herons {STORED}")
    assert visitor.faults == []
