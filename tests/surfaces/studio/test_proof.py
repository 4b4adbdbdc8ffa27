"""The screen Proof: entries with their verdicts, checkpoints, and exports that are checked."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect
from tests.rounds import calls, says
from tests.surfaces.studio.browser import StudioWindow, needs_browser
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

from mentis.record.record import open_record
from mentis.values.entry import Draft

API = f"/mentis/v1/personas/{PERSONA}"
PROOF = f"/studio/proof/{PERSONA}"


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    """More entries than fit on a page, the first of them about a script."""
    tab = studio.owner(writing=True)
    studio.provider.play(calls(("c1", "temperature", {"city": SCRIPT})), says(f"Mild. {SCRIPT}"))
    assert tab.post(f"{API}/sessions/one/turns", json={"text": SCRIPT}).status_code == 200
    with open_record(studio.served.home, PERSONA) as record:
        drafts = [Draft("note", SCRIPT, {"note": {"goal": SCRIPT}}) for _ in range(50)]
        record.store.append(record.agent, drafts, record.stamp())
    assert tab.post(f"{API}/sessions/one/turns", json={"text": "More"}).status_code == 200
    return tab


def timeline(tab: BrowserTab, query: str = "") -> dict[str, Any]:
    return tab.get(f"{PROOF}.json{query}").json()


def turn_entry(tab: BrowserTab) -> int:
    return next(row["index"] for row in timeline(tab)["rows"] if row["kind"] == "turn")


def test_a_record_comes_in_pages_with_a_verdict_on_each_entry(tab: BrowserTab) -> None:
    newest = timeline(tab)
    assert newest["newest"]
    assert newest["rows"][0]["index"] == newest["count"] - 1
    assert len(newest["rows"]) == 50
    assert newest["sound"]
    older = timeline(tab, f"?before={newest['older']}")
    assert [row["index"] for row in older["rows"]] == list(range(newest["older"] - 1, -1, -1))
    assert older["newer"] == newest["count"]
    assert len(tab.get(PROOF).content) < 100_000


def test_an_entry_tells_what_it_binds_and_leads_to_what_the_model_was_told(
    tab: BrowserTab,
) -> None:
    index = turn_entry(tab)
    found = tab.get(f"{PROOF}/{index}.json").json()
    assert "The bytes that were sent" in [one["name"] for one in found["bound"]]
    assert found["findings"] == []
    before = tab.get(f"{PROOF}/{index - 1}.json").json()
    assert found["prev"] == before["hash"]
    assert f'href="/studio/blame/{PERSONA}/{index}"' in tab.get(f"{PROOF}/{index}").text
    recorded = tab.get("/studio/proof/recorded/codex/0")
    assert 'href="/studio/recorded/codex/0"' in recorded.text
    assert 'href="/mentis/v1/recorded/codex/entries/0"' in recorded.text
    assert tab.get(f"{PROOF}/99999").status_code == 404


def test_the_record_of_a_program_is_exported_and_each_entry_of_it_proved(tab: BrowserTab) -> None:
    chains = {one["name"]: one for one in tab.get("/studio/proof.json").json()["chains"]}
    assert chains["codex"]["export"] == "/mentis/v1/recorded/codex/export"
    assert tab.get(chains["codex"]["export"]).content.startswith(b"PK")
    entry = tab.get("/studio/proof/recorded/codex/0.json").json()
    assert tab.get(entry["api"]).json()["hash"] == entry["hash"]
    assert tab.get(f"{entry['api']}/proof").json()["hash"] == entry["hash"]
    assert tab.get("/mentis/v1/recorded/codex/entries/999").status_code == 404
    assert tab.get("/mentis/v1/recorded/codex/entries/999/proof").status_code == 404
    assert tab.get("/mentis/v1/recorded/nobody/entries/0").status_code == 404


def test_stored_script_stays_text_on_every_page_of_proof(tab: BrowserTab) -> None:
    pages = ["/studio/proof?check=all", PROOF, f"{PROOF}/0", f"{PROOF}/checkpoints"]
    pages += ["/studio/proof/recorded/codex", "/studio/proof/%3Cscript%3E"]
    for page in pages:
        found = tab.get(page)
        assert "<script>" not in found.text, page
        assert " style=" not in found.text, page
        twin = tab.get(page.replace("?", ".json?") if "?" in page else f"{page}.json")
        assert twin.headers["content-type"].startswith("application/"), page


def test_everything_is_checked_and_a_changed_entry_is_named(
    studio: StudioHome, tab: BrowserTab
) -> None:
    assert tab.get("/studio/proof.json").json()["chains"][0]["verdict"] is None
    found = tab.get("/studio/proof.json?check=all").json()
    assert found["holds"]
    assert tab.get("/mentis/v1/verify").json()["intact"]
    with changed_source(studio.served.home, 1):
        found = tab.get("/studio/proof.json?check=all").json()
        own = next(one for one in found["chains"] if one["name"] == PERSONA)
        assert not found["holds"]
        assert 1 in [one["index"] for one in own["verdict"]["findings"]]
        assert not timeline(tab, "?before=3")["sound"]
        assert "does not hold" in tab.get(f"{PROOF}/1").text
    assert tab.get("/studio/proof.json?check=all").json()["holds"]


@contextmanager
def changed_source(home: Path, index: int) -> Generator[None]:
    """Somebody changed who wrote an entry, until the block ends."""

    def change(mark: str) -> None:
        with closing(sqlite3.connect(home / "mentis.db")) as database, database:
            words = (
                "UPDATE ledger SET source = rtrim(source, '!') || ? WHERE idx = ? AND agent LIKE ?"
            )
            database.execute(words, (mark, index, f"%/{PERSONA}"))

    change("!")
    try:
        yield
    finally:
        change("")


def test_a_viewer_checks_and_signs_nothing_and_one_persona_sees_its_own_record_alone(
    studio: StudioHome, tab: BrowserTab
) -> None:
    viewer = studio.tab()
    viewer.enter(studio.served.new_token("proof-viewer", scope="read"))
    assert "Sign a checkpoint now" not in viewer.get(f"{PROOF}/checkpoints").text
    assert "Sign a checkpoint now" in tab.get(f"{PROOF}/checkpoints").text
    assert viewer.post(f"{API}/checkpoints", json={}).status_code == 403
    assert viewer.get("/studio/proof.json?check=all").json()["holds"]
    one = studio.tab()
    one.enter(studio.served.new_token("proof-one", scope="read", agent=PERSONA))
    chains = one.get("/studio/proof.json?check=all").json()["chains"]
    assert [chain["name"] for chain in chains] == [PERSONA]
    assert one.get("/studio/proof/recorded/codex").status_code == 403
    guest = studio.tab()
    guest.enter(studio.served.new_token("proof-guest", scope="read", person="eve"))
    assert guest.get(PROOF).status_code == 403


def test_an_export_is_checked_by_the_server_and_a_changed_byte_names_its_entry(
    tab: BrowserTab,
) -> None:
    export = tab.get(f"{API}/export").content
    good = audit(tab, export)
    assert (good["verdict"], good["pinned"]) == ("ok", True)
    broken = bytearray(export)
    broken[1000] ^= 0x10  # of its entries, which come first
    found = audit(tab, bytes(broken))
    assert found["verdict"] == "BROKEN"
    assert 0 <= found["findings"][0]["index"] < good["entries"]
    strange = tab.send("POST", "/mentis/v1/audit", {"origin": tab.url}, form={"a": "b"})
    assert strange.status_code == 422
    assert audit(tab, export, "?key=x").get("status") == 422


def audit(tab: BrowserTab, content: bytes, query: str = "") -> dict[str, Any]:
    cookie = "; ".join(f"{name}={value}" for name, value in tab.cookies.items())
    given = {"origin": tab.url, "cookie": cookie, "content-type": "application/zip"}
    url = f"{tab.url}/mentis/v1/audit{query}"
    return httpx2.post(url, headers=given, content=content, timeout=30).json()


@needs_browser
@pytest.mark.slow
def test_a_person_checks_everything_an_export_and_a_broken_copy_of_it(
    tab: BrowserTab, visitor: StudioWindow, tmp_path: Path
) -> None:
    file = tmp_path / "ada.zip"
    file.write_bytes(tab.get(f"{API}/export").content)
    page = visitor.page
    visitor.click("Proof", role="link")
    visitor.click("Check everything", role="link")
    visitor.see("Everything holds.")
    visitor.page.wait_for_url("**/studio/proof?check=all")
    visitor.reload()
    visitor.see("Everything holds.")
    page.get_by_label("Choose an export").set_input_files(file)
    visitor.see("This export holds.")
    visitor.click("Change one byte and check again")
    visitor.see("This export was changed.")
    expect(page.locator("[data-result] li b").first).to_contain_text("Entry ")
    page.get_by_label("Choose an export").set_input_files(
        {"name": "x.zip", "mimeType": "application/zip", "buffer": b"nothing"}
    )
    visitor.see("this is no export that can be read")
    assert [fault for fault in visitor.faults if "422" not in fault] == []
    visitor.faults.clear()
    visitor.turn_on_writing()
    visitor.click(PERSONA, role="link")
    visitor.see("hold, signed" if page.get_by_text("hold, signed").count() else "on this page hold")
    visitor.click(str(turn_entry(tab)), role="link")
    visitor.see("This entry holds.")
    visitor.click("See what the model was told", role="link")
    visitor.see("Byte for byte what was sent")
    visitor.go(f"{PROOF}/checkpoints")
    visitor.click("Sign a checkpoint now")
    expect(page.locator("details.field").first).to_contain_text("entries")
    assert visitor.faults == []


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    ["/studio/proof?check=all", PROOF, f"{PROOF}/0", f"{PROOF}/checkpoints"],
)
def test_pages_of_proof_fit_are_readable_and_quiet(
    tab: BrowserTab, visitor: StudioWindow, path: str
) -> None:
    del tab
    visitor.check_page(path)


def test_a_record_is_handed_over_with_its_texts_and_without_what_a_pattern_finds(
    tab: BrowserTab,
) -> None:
    assert f'action="{API}/export"' in tab.get(PROOF).text
    sent = tab.get(f"{API}/export?with_texts=true&redact=Mild&leave_out=")
    with zipfile.ZipFile(io.BytesIO(sent.content)) as archive:
        texts, page = archive.read("texts.jsonl"), archive.read("report.html")
    assert b"rule pattern 1" in texts
    assert b"Mild" not in texts + page
    assert audit(tab, page)["verdict"] == audit(tab, sent.content)["verdict"] == "ok"
    assert tab.get(f"{API}/export?redact=(").status_code == 422
