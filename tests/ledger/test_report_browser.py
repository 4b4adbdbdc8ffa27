"""The report in a real browser: green as it was made, red with any byte or word changed."""

from __future__ import annotations

import base64
import hashlib
import io
import random
import re
import zipfile
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.evidence_home import evidence_home
from tests.surfaces.studio.browser import PATIENCE, WIDTHS, StudioWindow, chromium, needs_browser

from mentis import export_record, open_record
from mentis.ledger import auditor
from mentis.ledger.report.page import ReportParts, write_report
from mentis.record.redaction import make_rules

from .agreeing import Handed, bend, bundled, everything, let_go_of, mended, places

pytestmark = [pytest.mark.slow, needs_browser]
_UNDONE = re.compile("unchecked|working")


@dataclass
class Reader:
    """Opens pages from the disk, and says what their box says then."""

    page: Page
    folder: Path
    faults: list[str] = field(default_factory=list[str])

    def open(self, content: bytes) -> None:
        path = self.folder / "report.html"
        path.write_bytes(content)
        self.page.goto(path.as_uri())

    def judge(self, content: bytes) -> tuple[str, str]:
        self.open(content)
        box = self.page.locator("#check")
        expect(box).not_to_have_class(_UNDONE)
        return box.get_attribute("class") or "", box.inner_text()


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Generator[Reader]:
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": 800})
    context.set_default_timeout(PATIENCE)
    try:
        made = Reader(context.new_page(), tmp_path)
        made.page.on("pageerror", lambda error: made.faults.append(str(error)))
        made.page.on("request", lambda one: made.faults.extend(_outside(one.url)))
        yield made
        assert made.faults == []
    finally:
        context.close()


def _outside(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:")) else [url]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of a home with everything; one word is left out of it."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENTIS_CONFIG", str(tmp_path_factory.mktemp("config")))
        with ThreadPoolExecutor(1) as aside:  # the browser's loop runs in this one
            home = aside.submit(evidence_home, folder / "home").result()
        with open_record(home) as record:
            rules = make_rules(["Berlin"])
            export_record(record, folder / "ada.zip", with_texts=True, rules=rules)
    with zipfile.ZipFile(folder / "ada.zip") as archive:
        return archive.read("report.html")


def test_a_page_as_it_was_made_is_green_fits_and_is_readable(reader: Reader, report: bytes) -> None:
    for theme in ("light", "dark"):
        reader.page.emulate_media(color_scheme=theme)  # pyright: ignore[reportArgumentType]
        for width in WIDTHS:
            reader.page.set_viewport_size({"width": width, "height": 800})
            kind, told = reader.judge(report)
            assert (kind, "Everything fits." in told) == ("holds", True), told
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
        assert StudioWindow(reader.page, "").accessibility() == [], theme


def test_without_scripts_it_can_be_read_and_says_that_nothing_was_checked(
    browser: Browser, report: bytes, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = Reader(context.new_page(), tmp_path)
    page.open(report)
    expect(page.page.locator("#check")).to_contain_text("Nothing was checked here.")
    expect(page.page.get_by_text("yes, that is our landlord").first).to_be_visible()
    context.close()


def test_the_verifier_is_saved_from_the_page_and_the_page_is_printed(
    reader: Reader, report: bytes
) -> None:
    reader.judge(report)
    with reader.page.expect_download() as saved:
        reader.page.get_by_role("link", name="Save verify.py").click()
    assert Path(saved.value.path()).read_bytes() == Path(auditor.__file__).read_bytes()
    reader.page.get_by_label("Show entry").fill("3")
    expect(reader.page.get_by_label("The entry")).to_contain_text('"index": 3')
    assert reader.page.pdf().startswith(b"%PDF")
    reader.page.emulate_media(media="print")
    expect(reader.page.get_by_label("Show entry")).to_be_hidden()
    expect(reader.page.get_by_role("heading", name="What happened")).to_be_visible()


@pytest.mark.parametrize("name", ["entries.jsonl", "texts.jsonl"])
def test_any_changed_byte_of_the_data_turns_it_red_and_names_the_entry(
    reader: Reader, report: bytes, name: str
) -> None:
    chance = random.Random(name)  # noqa: S311 - the same each time
    start = report.index(f'id="{name}">\n'.encode()) + len(name) + 6
    end = report.index(b"</script>", start)
    for _ in range(60):
        place = chance.randrange(start, end)
        byte = chance.choice([one for one in range(256) if one != report[place]])
        kind, told = reader.judge(report[:place] + bytes([byte]) + report[place + 1 :])
        line = report[report.rindex(b"\n", 0, place) + 1 : report.index(b"\n", place)]
        found = re.search(rb'"(?:index|entry)":(\d+),"(?:kind|place|left_out|text)', line)
        assert found is not None
        assert kind == "broken", (place, byte)
        assert f"entry {found[1].decode()}" in told, (place, byte, told)


def test_any_changed_word_that_is_shown_turns_it_red_and_names_the_entry(
    reader: Reader, report: bytes
) -> None:
    chance = random.Random("words")  # noqa: S311 - the same each time
    text = report.decode()
    begin, end = text.index("<main>"), text.index("</main>")
    shown = [
        n
        for found in re.finditer(r">([^<>]+)<", text[begin:end])
        for n in range(begin + found.start(1), begin + found.end(1))
        if text[n].isalnum() and "&" not in text[n - 8 : n]
    ]
    for place in chance.sample(shown, 60):
        other = "x" if text[place] != "x" else "y"
        kind, told = reader.judge(f"{text[:place]}{other}{text[place + 1 :]}".encode())
        rows = list(re.finditer(r'data-entry="(\d+)"', text[begin:place]))
        inside = rows and "</tr>" not in text[begin + rows[-1].end() : place]
        assert kind == "broken", text[place - 40 : place + 40]
        if inside:
            assert f"entry {rows[-1][1]}" in told, told


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("</main>", "<p>All is well.</p></main>", "the page"),
        ("</body>", "<p>All is well.</p></body>", "the frame of the page"),
        ("<title>Record of", "<title>Recording", "the title of the page"),
        ("Nothing was", "All was", "the box at the top"),
        ('<tr data-entry="3">', '<tr hidden data-entry="3">', "entry 3"),
        (r'<tr data-entry="3">.*?</tr>', "", "entry"),
        ("base64,", "base64,AAAA", "Check it yourself"),
        (r":root\{", ":root {", "the style of the page"),
        ("<style>", '<style media="speech">', "the head of the page"),
        ("default-src 'none'", "default-src *", "the head of the page"),
        (
            '<meta name="color-scheme"[^>]*>',
            '<meta http-equiv="refresh" content="9999;url=other.html">',
            "the head of the page",
        ),
        ("<title>", "<!-- all is well --><title>", "the head of the page"),
        ('lang="en"', 'lang="de"', "the frame of the page"),
        ("<!doctype html>", '<!doctype html PUBLIC "-//W3C//DTD HTML 3.2//EN">', "the frame"),
        ('<tbody>(<tr data-entry="0".*?</tr>)(<tr.*?</tr>)', r"<tbody>\2\1", "entry 0"),
    ],
)
def test_what_was_added_taken_away_or_hidden_is_named(
    reader: Reader, report: bytes, *, old: str, new: str, where: str
) -> None:
    changed, found = re.subn(old, new, report.decode(), count=1)
    assert found == 1
    kind, told = reader.judge(changed.encode())
    assert (kind, where in told) == ("broken", True), told


INSTEAD = "<template {}>Everything was approved.</template>"


@pytest.mark.parametrize(
    "how",
    [
        'shadowrootmode="open"',
        'shadowrootmode="closed"',
        'shadowrootmode="closed" shadowrootclonable shadowrootserializable',
    ],
)
@pytest.mark.parametrize(
    ("before", "where"),
    [
        ('<section id="approved"><h2>', "section “Who approved what”"),
        ("<body>", "the page"),
        ('<tr data-entry="3">.*?<blockquote>', "entry 3"),
    ],
)
def test_what_a_browser_shows_instead_of_what_the_page_holds_is_named_and_taken_away(
    reader: Reader, report: bytes, before: str, where: str, *, how: str
) -> None:
    (place,) = [m.end() for m in [re.search(before, report.decode(), re.DOTALL)] if m]
    text = report.decode()
    kind, told = reader.judge(f"{text[:place]}{INSTEAD.format(how)}{text[place:]}".encode())
    assert (kind, f"{where}: what is shown is not what the page holds" in told) == ("broken", True)
    expect(reader.page.get_by_role("heading", name="Who approved what")).to_be_visible()


PAINTED = '<div id="check" role="status" class="holds"><p><b>Everything fits.</b></p></div>'
BOX = '<div id="check".*?</div>'


@pytest.mark.parametrize(
    "name",
    ["addEventListener", "getElementById", "createElement", "body", "title", "documentElement"],
)
def test_a_painted_box_does_not_stay_whatever_stands_before_the_names_of_the_document(
    reader: Reader, report: bytes, name: str
) -> None:
    text = re.sub(BOX, PAINTED, report.decode(), count=1)
    form = f'<form name="{name}"></form></main>'
    kind, told = reader.judge(text.replace("</main>", form, 1).encode())
    assert (kind, "the box at the top" in told) == ("broken", True), told


def test_a_box_under_another_name_is_told_from_the_one_of_the_page(
    reader: Reader, report: bytes
) -> None:
    other = PAINTED.replace('id="check"', 'id="checked"')
    kind, _ = reader.judge(re.sub(BOX, other, report.decode(), count=1).encode())
    assert kind == "broken"


def test_another_verifier_is_named_even_with_its_own_hash_beside_it(
    reader: Reader, report: bytes
) -> None:
    (packed,) = re.findall(r'href="data:text/x-python;base64,([^"]*)', report.decode())
    known = base64.b64decode(packed)
    own = known.replace(b'"BROKEN"', b'"ok"')
    text = report.decode().replace(packed, base64.b64encode(own).decode())
    text = text.replace(hashlib.sha256(known).hexdigest(), hashlib.sha256(own).hexdigest())
    kind, told = reader.judge(text.encode())
    assert (kind, "this verifier is not the one" in told) == ("broken", True), told


def test_the_rows_of_an_entry_that_does_not_hold_are_marked_and_led_to(
    reader: Reader, report: bytes
) -> None:
    changed = report.decode().replace("The letter is on its way", "The letter was sent", 1)
    assert reader.judge(changed.encode())[0] == "broken"
    marked = reader.page.locator("tr.changed")
    assert {row.get_attribute("data-entry") for row in marked.all()} == {"3"}
    expect(reader.page.locator("#check li a")).to_have_attribute("href", "#entry-3")


def test_a_script_that_was_changed_does_not_run_and_nothing_turns_green(
    reader: Reader, report: bytes
) -> None:
    reader.open(report.replace(b'"Everything fits."', b'"All fits, truly."'))
    expect(reader.page.locator("#check")).to_contain_text("Nothing was checked here.")


def test_without_signatures_in_the_browser_it_says_what_was_not_checked(
    reader: Reader, report: bytes
) -> None:
    reader.page.add_init_script(
        "const known = crypto.subtle.importKey.bind(crypto.subtle);"
        "crypto.subtle.importKey = (form, key, name, ...rest) =>"
        " name === 'Ed25519' ? Promise.reject(new Error('no')) : known(form, key, name, ...rest)"
    )
    kind, told = reader.judge(report)
    assert (kind, "signatures were not checked" in told) == ("partly", True), told


# The same verdict as the auditor's, also of records that were bent and signed anew


def _page(handed: Handed) -> tuple[bytes, dict[str, Any]] | None:
    """Of records that no store would give out, too, as far as their lines can be read."""
    with zipfile.ZipFile(bundled(handed)) as archive:
        about, notes = archive.read("ledger.json"), handed.notes
    made = io.BytesIO()
    parts = ReportParts(about, notes, lambda: handed.lines, handed.dropped)
    try:
        write_report(made, parts)
        told = auditor.audit_lines(
            about,
            notes.splitlines(),
            handed.lines,
            dropped=[f"{one}\n".encode() for one in handed.dropped],
        )
    except Exception:  # noqa: BLE001 - hostile lines; only the auditor is made for these
        return None
    return (made.getvalue(), told) if all(f["column"] != "line" for f in told["findings"]) else None


@pytest.mark.parametrize("base", [everything, let_go_of])
def test_the_page_comes_to_the_verdict_of_the_auditor(
    reader: Reader, base: Callable[[], Handed]
) -> None:
    chance, handed, compared = random.Random(base.__name__), base(), 0  # noqa: S311
    values: list[Any] = [
        ...,
        None,
        True,
        0,
        5,
        99,
        "",
        "x",
        "key",
        "ab" * 32,
        [],
        {},
        ["text"],
        "0" * 32,
    ]
    whole = _page(handed)
    assert whole is not None
    assert reader.judge(whole[0])[0] == "holds"
    while compared < 60:
        rows = handed.rows
        place = chance.randrange(len(rows))
        rows[place] = bend(
            rows[place], chance.choice([*places(rows[place])]), chance.choice(values)
        )
        bent = mended(handed, place, rows) if chance.random() < 0.5 else handed.with_rows(rows)
        if (made := _page(bent)) is None:
            continue
        content, told = made
        wanted = {f"entry {one['index']}: {one['column']}" for one in told["findings"]}
        kind, words = reader.judge(content)
        found = set(re.findall(r"^entry \d+: \w+$", words, re.MULTILINE))
        assert (kind == "broken") == bool(wanted), (wanted, words)
        assert found == wanted or len(wanted) > 20, (wanted, words)
        assert "what is shown" not in words, (wanted, words)
        compared += 1
