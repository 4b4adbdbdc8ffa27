"""A record handed over with its texts, field by field, and without what a rule finds."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evidence_home import ADDRESS, evidence_home

from mentis import Agent, export_record, open_record
from mentis.errors import BadInput, UsageError
from mentis.record.audit import audit_file
from mentis.record.bundle_file import view_bundle
from mentis.record.redaction import RedactionRule, make_rules, read_rules
from mentis.values.checkpoint import Pin

Members = dict[str, bytes]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("evidence")
        patch.setenv("MENTIS_CONFIG", str(folder / "config"))
        return evidence_home(folder / "home")


@pytest.fixture
def hand_over(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Members, dict[str, Any]]]:
    """What is in the export, and the auditor's verdict on it."""
    monkeypatch.setenv("MENTIS_CONFIG", str(home.parent / "config"))

    def export(**options: Any) -> tuple[Members, dict[str, Any]]:  # noqa: ANN401
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.zip"
        with open_record(home) as record:
            pin: Pin = export_record(record, path, **options).pin
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        return members, audit_file(path, pin)

    return export


def rows(members: Members) -> list[dict[str, Any]]:
    return [json.loads(line) for line in members["texts.jsonl"].splitlines()]


HandOver = Callable[..., tuple[Members, dict[str, Any]]]


def test_without_texts_an_export_holds_digests_only(hand_over: HandOver) -> None:
    plain, verdict = hand_over()
    assert verdict["verdict"] == "ok"
    assert "texts.jsonl" not in plain
    assert b"landlord that" not in plain["entries.jsonl"] + plain["report.html"]


def test_each_text_stands_beside_its_digest_and_fits(hand_over: HandOver, home: Path) -> None:
    members, verdict = hand_over(with_texts=True)
    plain, _ = hand_over()
    assert members["entries.jsonl"] == plain["entries.jsonl"]
    assert (verdict["verdict"], verdict["findings"]) == ("ok", [])
    told = {(row["entry"], row["place"]): row for row in rows(members)}
    assert verdict["texts"]["fitting"] == sum("text" in row for row in told.values())
    assert "Write to my landlord" in told[3, "/asked"]["text"]
    assert "on its way" in told[3, "/acted/0"]["text"]
    agent = Agent.open(home)
    try:
        assert told[3, "/digests/payload"]["text"].encode() == agent.replay(3).rendering.body()
        step = agent.replay(5, step=2).rendering.body()
    finally:
        agent.close()
    assert told[5, "/steps/1/payload"]["text"].encode() == step
    assert told[5, "/steps/0/payload"]["left_out"] == "the same text as /digests/payload"
    assert told[3, "/digests/reply"]["left_out"] == "not kept"


def test_what_a_pattern_finds_is_nowhere_in_the_export_and_named_with_its_rule(
    hand_over: HandOver,
) -> None:
    rule = RedactionRule("addresses", pattern=make_rules([r"[\w.]+@[\w.]+"])[0].pattern)
    members, verdict = hand_over(with_texts=True, rules=[rule])
    assert all(ADDRESS.encode() not in content for content in members.values())
    assert verdict["verdict"] == "ok"
    assert {"index": 4, "field": "payload", "reason": "rule addresses"} in verdict["withheld"]
    gone = {(row["entry"], row["place"]) for row in rows(members) if "rule" in str(row)}
    assert {(4, "/payload"), (5, "/asked"), (5, "/digests/payload")} <= gone
    assert b"rule addresses" in members["report.html"].partition(b"</main>")[0]


def test_a_field_or_a_kind_of_text_is_left_out_by_its_name(hand_over: HandOver) -> None:
    rules = make_rules(fields=["result", "*payload"])
    members, verdict = hand_over(with_texts=True, rules=rules)
    assert verdict["verdict"] == "ok"
    shown = [row["place"] for row in rows(members) if "text" in row]
    assert "/asked" in shown
    assert not any(place.endswith("payload") for place in shown)
    entries = [json.loads(line) for line in members["entries.jsonl"].splitlines()]
    assert not any({"result", "payload"} & entry["body"].keys() for entry in entries)
    assert any("result" in entry["fields"] for entry in entries)


def test_rules_reach_the_entries_also_without_texts(hand_over: HandOver) -> None:
    members, verdict = hand_over(rules=make_rules(["mallory"]))
    assert b"mallory" not in members["entries.jsonl"] + members["report.html"]
    assert verdict["verdict"] == "ok"
    assert verdict["texts"] == {"fitting": 0, "left_out": 0}


def test_a_rule_that_finds_what_no_export_can_do_without_is_refused(
    hand_over: HandOver, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="column `source` of entry 2, which cannot be left out"):
        hand_over(rules=make_rules(["^runtime$"]))
    assert list(tmp_path.iterdir()) == []


def test_rules_are_read_from_a_file_and_what_is_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\nname = "mail"\nfield = "asked"\npattern = "@"\n')
    (rule,) = read_rules(file)
    assert rule.fits("asked", ["a@b"])
    assert not rule.fits("asked", ["ab"])
    assert not rule.fits("acted/0", ["a@b"])
    for text in ("x", "[[rule]]\nname = 'a'\n", "[[rule]]\nfeld = 'a'\nname='b'\n", "rule = 1\n"):
        file.write_text(text)
        with pytest.raises(UsageError, match=r"rules.toml"):
            read_rules(file)
    with pytest.raises(UsageError, match="no pattern"):
        make_rules(["("])


def test_an_export_and_the_page_out_of_it_are_looked_at_like_a_home(
    hand_over: HandOver, tmp_path: Path
) -> None:
    members, _ = hand_over(with_texts=True, rules=make_rules(["Berlin"]))
    page = tmp_path / "report.html"
    page.write_bytes(members["report.html"])
    for path in (tmp_path / "0.zip", page):
        seen = view_bundle(path, None, last=2)
        assert [one.entry.index for one in seen.entries] == [11, 12]
        assert seen.verdict["verdict"] == "UNPINNED"
        (first,) = view_bundle(path, None, index=0).entries
        assert first.left_out == {"payload": "rule pattern 1"}
    with pytest.raises(UsageError, match="no entry 99"):
        view_bundle(page, None, index=99)
    page.write_text("<!doctype html><p>nothing")
    with pytest.raises(BadInput, match="does not hold"):
        view_bundle(page, None)
