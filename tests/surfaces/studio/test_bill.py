"""Bill: what it cost, where a cache was lost, and what would have helped."""

from __future__ import annotations

from decimal import Decimal

import pytest
from playwright.sync_api import Browser, expect
from tests.surfaces.serve.served import PERSONA
from tests.surfaces.studio.bill_home import BROKEN, bill_home
from tests.surfaces.studio.browser import needs_browser, window
from tests.surfaces.studio.studio_home import SCRIPT, BrowserTab, StudioHome, studio_home

from mentis.surfaces.studio.columns import HEIGHT, WIDTH, columns_of, round_up

TURN = f"/studio/bill/{PERSONA}/{BROKEN}"
MAKE_HOME = bill_home


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    return studio.owner()


def test_days_and_turns_are_drawn_and_told_and_come_to_the_same_sum(tab: BrowserTab) -> None:
    told = tab.get("/studio/bill.json").json()
    page = tab.get("/studio/bill").text
    days = [row for row in told["rows"] if row["calls"]]
    assert [row["name"] for row in days[:3]] == ["2026-11-10", "2026-11-11", "2026-11-13"]
    drawn = [row["name"] for row in told["rows"]]
    assert drawn[2] == "2026-11-12", "a day on which nobody asked leaves a gap"
    assert page.count("<tr>") == 1 + len(days) + 1 + len(told["predicted"]["off"])
    for by in ("turn", "session", "route", "model", "kind", "block"):
        other = tab.get(f"/studio/bill.json?by={by}").json()
        summed = sum(Decimal(row["usd"] or 0) for row in other["rows"])
        assert summed == Decimal(told["total"]["usd"]), by
    assert "2026-11-11" in page
    assert told["total"]["usd"] not in ("0", None)


def test_a_sum_of_the_newest_turns_says_so_and_leads_to_the_others(
    tab: BrowserTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tab.get("/studio/bill.json?since=all").json()["total"]["calls"]
    monkeypatch.setattr("mentis.surfaces.studio.bill._NEWEST", 3)
    page = tab.get(f"/studio/bill?agent={PERSONA}").text
    assert "Only the newest 3 turns are counted" in page
    assert f'<a href="/studio/bill?agent={PERSONA}&amp;since=all">Count everything</a>' in page
    assert tab.get("/studio/bill.json?since=all").json()["total"]["calls"] == whole
    assert "Only the newest" not in tab.get("/studio/bill?since=all").text
    turns = tab.get(f"/studio/bill?agent={PERSONA}&by=turn").text
    assert "Only the newest 3 turns are counted" in turns
    assert "Count older ones" in turns


def test_an_unknown_price_is_never_nothing(tab: BrowserTab) -> None:
    told = tab.get("/studio/bill.json?by=route").json()
    (row,) = [row for row in told["rows"] if row["name"] == "nobody"]
    assert (row["usd"], row["known"]) == (None, False)
    page = tab.get("/studio/bill?by=route").text
    assert "price unknown" in page
    assert "$0.00<" not in page
    assert "and 1 of unknown price" in page


def test_a_day_opens_its_turns_and_a_turn_the_first_changed_byte(tab: BrowserTab) -> None:
    (day,) = [r for r in tab.get("/studio/bill.json").json()["rows"] if r["name"] == "2026-11-11"]
    turns = tab.get(day["href"].replace("/studio/bill", "/studio/bill.json")).json()["rows"]
    assert len(turns) == day["calls"]
    assert TURN in [row["href"] for row in turns]
    assert [row["lost"] > 0 for row in turns if row["href"] == TURN] == [True]
    spikes = tab.get("/studio/bill.json").json()["spikes"]
    assert spikes[0]["href"] == TURN
    told = tab.get(f"{TURN}.json").json()
    assert told["changed"]["where"] == "block style"
    assert told["changed"]["byte"] > 0
    assert told["loss"]["tokens"] > 2000
    assert Decimal(told["loss"]["usd"]) > 1
    page = tab.get(TURN).text
    assert "<del>## Style" in page
    assert "<ins>Write short sentences." in page
    assert "mentis prompts history style" in page, "the cheapest fix"
    assert f"/studio/what-if?block=style&amp;persona={PERSONA}&amp;entry={BROKEN}" in page
    assert "less than foreseen" in page


def test_the_bill_of_a_recorded_program_names_the_part_that_changed(tab: BrowserTab) -> None:
    told = tab.get("/studio/bill.json?agent=recorded/codex&by=turn").json()
    assert {row["agent"] for row in told["rows"]} == {"recorded/codex"}
    assert told["lost"]["turns"] == 2
    page = tab.get(told["spikes"][0]["href"]).text
    assert "/system/1/text" in page
    assert "It is 12:0" in page
    assert "<del>0</del>" in page or "<del>1</del>" in page
    assert "what-if?" not in page, "its prompts are not made of blocks of ours"


def test_nothing_of_a_home_is_ever_markup(tab: BrowserTab) -> None:
    for path in ("/studio/bill?by=turn", TURN, "/studio/bill/recorded/codex/1"):
        assert SCRIPT not in tab.get(path).text, path
    odd = tab.get("/studio/bill?agent=%3Cscript%3E&by=turn")
    assert odd.status_code == 404
    assert "<script>&" not in odd.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/studio/bill?by=moon", 422),
        ("/studio/bill?since=soon", 422),
        ("/studio/bill/nobody/1", 404),
        ("/studio/bill/recorded/nobody/1", 404),
        (f"/studio/bill/{PERSONA}/9999", 404),
        ("/studio/bill?since=2031-01-01", 200),
    ],
)
def test_what_is_not_there_is_told_plainly(tab: BrowserTab, path: str, status: int) -> None:
    assert tab.get(path).status_code == status


def test_who_sees_which_bill(studio: StudioHome, tab: BrowserTab) -> None:
    one = studio.tab()
    one.enter(studio.served.new_token("one", scope="read", agent=PERSONA))
    told = one.get("/studio/bill.json").json()
    assert [choice["value"] for choice in told["agent_choices"]] == [PERSONA]
    assert told["total"]["calls"] < tab.get("/studio/bill.json").json()["total"]["calls"]
    assert one.get("/studio/bill?agent=recorded/codex").status_code == 404
    assert one.get("/studio/bill/recorded/codex/1").status_code == 403
    guest = studio.tab()
    guest.enter(studio.served.new_token("guest", scope="edit", person="eve"))
    assert guest.get("/studio/bill").status_code == 403
    assert studio.tab().get("/studio/bill").status_code == 401


def test_a_home_without_a_bill_says_what_to_do(tmp_path_factory: pytest.TempPathFactory) -> None:
    with studio_home(tmp_path_factory.mktemp("empty")) as home:
        page = home.owner().get(f"/studio/bill?agent={PERSONA}").text
    assert "No model was asked by them" in page


def test_columns_fit_their_chart_and_what_is_not_known_is_marked() -> None:
    columns, top = columns_of([0.034, None, 0.0, 0.0071], [0.02, 0.0, 0.0, 0.5])
    assert top == 0.04
    assert [one.known for one in columns] == [True, False, True, True]
    assert columns[0].height == round(HEIGHT * 0.034 / 0.04, 2)
    assert columns[2].height == 0
    for one in columns:
        assert one.x >= 0
        assert one.x + one.width <= WIDTH
        assert one.lost <= one.height <= HEIGHT
    assert columns_of([], []) == ((), 0.0)
    assert [round_up(n) for n in (0.0, 1.0, 1.01, 9.0, 1234.0)] == [0.0, 1.0, 1.5, 10.0, 1500.0]


@needs_browser
@pytest.mark.slow
def test_a_person_follows_a_spike_to_its_byte_and_its_fix(
    studio: StudioHome, browser: Browser
) -> None:
    with window(browser, studio) as visitor:
        page = visitor.page
        visitor.click("Bill", role="link")
        visitor.see("What it cost")
        page.get_by_label("Whose").select_option(PERSONA)
        visitor.click("Show")
        expect(page.get_by_label("Whose")).to_have_value(PERSONA)
        visitor.click("2026-11-11", role="link")
        visitor.see("Each column is a turn")
        visitor.press(page.get_by_text("The same as a table"))
        visitor.click("2026-11-11 09:04", role="link")
        visitor.see("First changed byte")
        visitor.see("block style")
        visitor.see("The cheapest fix:")
        visitor.click("See the whole request", role="link")
        visitor.see("Byte for byte what was sent")
        assert visitor.faults == []
        for path in ("/studio/bill", "/studio/bill?by=turn", "/studio/bill?by=block", TURN):
            visitor.check_page(path)
        visitor.check_page("/studio/bill/recorded/codex/1")
