"""The report as one page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from mentis.doctor.diagnosis import diagnose
from mentis.doctor.page import report_page

from .logs import ClaudeSession, long_session


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names += [name for name, _ in attrs]
        if tag not in ("meta", "rect", "polygon"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def page_of(folder: Path) -> str:
    return report_page(diagnose([folder], what_if=("life=1h",)))


def test_it_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    long_session().write(tmp_path)
    told = page_of(tmp_path)
    read = Page()
    read.feed(told)
    assert not {"script", "link", "img", "iframe", "a"} & set(read.tags)
    assert not [name for name in read.names if name.startswith("on") or name in ("src", "href")]
    assert not re.search(r"https?://|url\(|@import", told)
    assert "default-src 'none'" in told
    assert {"svg", "polygon", "table"} <= set(read.tags)
    assert read.open == []
    assert "The growing context is read again in every call" in told


def test_names_from_a_log_are_text_and_nothing_else(tmp_path: Path) -> None:
    made = ClaudeSession("<script>alert(1)</script>", model='"><img src=x onerror=alert(1)>')
    made.answer(5000, tool=("t1", "<b onclick=x>"))
    made.result("t1", "x" * 90_000)
    made.answer(20_000)
    made.answer(100)
    made.lines.insert(0, {"type": "summary", "sessionId": "a", "uuid": "b", "summary": "</svg><i>"})
    for line in made.lines:
        line["cwd"] = "/srv/<u>"
    (tmp_path / "a.jsonl").write_text("")
    from .logs import write_lines

    write_lines(tmp_path / "a.jsonl", made.lines)
    read = Page()
    read.feed(page_of(tmp_path))
    assert not {"script", "img", "b", "u"} & set(read.tags)
    assert "onerror" not in read.names
