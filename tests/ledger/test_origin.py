"""Histories of the origin system: its recipe, its files, and their place in our chain."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mentis.errors import HistoryBroken, NotCanonical
from mentis.ledger import keeping
from mentis.ledger.origin import (
    OriginHistory,
    fresh_drafts,
    hash_window,
    import_history,
    window_of,
    window_text,
)
from mentis.values.entry import Draft

from .conftest import Ledger, rechained, verify_store

TIME = "2026-01-01T00:00:00+00:00"
SALT = "0" * 32


def history(count: int, *, first_prev: str | None = None) -> dict[str, Any]:
    """Written as the origin writes it, in its own few lines."""
    entries: list[dict[str, Any]] = []
    prev = first_prev
    for n in range(count):
        time = f"2026-01-01T00:00:{n:02d}.000001+00:00"
        window: dict[str, Any] = {
            "goal": f"Größe prüfen {n}",
            "confidence": 1.0,
            "inputs": {"tiny": 1e-07, "list": [1, 1.0, "\u2028"]},
            "prev_window_hash": prev,
        }
        salt = f"{n:032x}"
        prev = hash_window(window_text(window), time, salt)
        window["window_hash"] = prev
        entries.append(
            {
                "entry_index": n + 1,
                "timestamp": time,
                "salt": salt,
                "source": "manual",
                "window_hash": prev,
                "status_window": window,
                "hash_algo": "sha256(canonical_without_window_hash|timestamp|salt)",
                "metadata": {},
            }
        )
    return {"version": "1.0", "created_at": TIME, "total_entries": count, "entries": entries}


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()


def test_the_golden_vectors_of_the_origin() -> None:
    assert (
        hash_window(window_text({}), TIME, SALT)
        == "0629dd01c4904c4e2dccf8ec8bdecb3ef4515d4368f56579e5b811e10df4e411"
    )
    window = {
        "goal": "Größe prüfen",
        "confidence": 0.9,
        "inputs": {"z": 1, "a": {"k": True}},
        "actions": ["b", "a"],
        "prev_window_hash": None,
        "window_hash": "PLACEHOLDER_BACKEND",
    }
    assert (
        window_text(window) == '{"actions":["b","a"],"confidence":0.9,"goal":"Größe prüfen",'
        '"inputs":{"a":{"k":true},"z":1},"prev_window_hash":null}'
    )
    assert (
        hash_window(window_text(window), TIME, SALT)
        == "f21c935e15411830aa2296e376c9e9c2f0c878f9847d842300d08c7e51540fa9"
    )


@pytest.mark.parametrize("bare", [False, True])
def test_a_history_is_taken_over_and_stays_verifiable_bit_for_bit(
    ledger: Ledger, *, bare: bool
) -> None:
    whole = history(4)
    taken = import_history(encoded(whole["entries"] if bare else whole))
    ledger.fill(2)
    ledger.add(*taken.drafts)
    assert ledger.verify().findings == ()
    entry = ledger.entries[3]
    original = whole["entries"][1]
    assert (entry.kind, entry.recipe) == ("import", "mentis-1")
    assert entry.body["link"] == {
        "recipe": "s2-v4",
        "index": 2,
        "timestamp": original["timestamp"],
        "source": "manual",
        "prev": whole["entries"][0]["window_hash"],
        "hash": original["window_hash"],
        "begins": False,
    }
    again = window_of(entry)
    assert again is not None
    assert again == original["status_window"]
    assert repr(again["confidence"]) == "1.0"  # the number as the origin hashed it
    assert taken.head == whole["entries"][-1]["window_hash"]


def test_the_same_history_imported_twice_adds_only_what_is_new(ledger: Ledger) -> None:
    def known(delivery: str) -> bool:
        return ledger.store.find_delivery("ada", delivery) is not None

    ledger.add(*fresh_drafts(import_history(encoded(history(2))), known))
    ledger.add(*fresh_drafts(import_history(encoded(history(1, first_prev="e" * 64))), known))
    ledger.add(*fresh_drafts(import_history(encoded(history(4))), known))
    assert len(ledger.entries) == 5
    assert ledger.verify().findings == ()
    assert fresh_drafts(import_history(encoded(history(4))), known) == ()


def test_a_rotated_history_says_what_it_begins_after() -> None:
    taken = import_history(encoded(history(2, first_prev="a" * 64)))
    assert taken.begins_after == "a" * 64


def test_an_empty_history_is_no_drafts() -> None:
    assert import_history(b'{"entries": []}') == OriginHistory((), None, None)


Bend = Callable[[dict[str, Any]], None]


def _set(name: str, value: object) -> Bend:
    return lambda entry: entry.update({name: value})


def _tell(name: str, value: object) -> Bend:
    return lambda entry: entry["status_window"].update({name: value})


@pytest.mark.parametrize(
    ("bend", "column"),
    [
        (_set("timestamp", "2026-01-01T00:00:01.000002+00:00"), "window_hash"),
        (_set("salt", "f" * 32), "window_hash"),
        (_set("salt", None), "salt"),
        (_set("window_hash", "0" * 64), "window_hash"),
        (_set("hash_algo", "md5"), "hash_algo"),
        (_set("status_window", None), "status_window"),
        (_tell("goal", "other"), "window_hash"),
        (_tell("confidence", 1), "window_hash"),
        (_tell("window_hash", "0" * 64), "status_window"),
        (_tell("prev_window_hash", None), "prev_window_hash"),
    ],
)
def test_a_history_that_does_not_verify_is_refused_with_entry_and_column(
    bend: Bend, column: str
) -> None:
    whole = history(4)
    bend(whole["entries"][2])
    with pytest.raises(HistoryBroken) as caught:
        import_history(encoded(whole))
    assert (caught.value.facts["index"], caught.value.facts["column"]) == (2, column)


@pytest.mark.parametrize("data", [b"{}", b'"text"', b"[1]"])
def test_what_is_no_history_is_refused(data: bytes) -> None:
    with pytest.raises(HistoryBroken):
        import_history(data)


def test_a_history_with_a_key_twice_is_refused() -> None:
    with pytest.raises(NotCanonical, match="twice"):
        import_history(b'{"entries": [], "entries": []}')


def test_an_imported_text_changed_under_new_hashes_of_ours_breaks_the_recipe_of_the_origin(
    ledger: Ledger,
) -> None:
    ledger.add(*import_history(encoded(history(3))).drafts)
    chain = ledger.entries
    original: Any = chain[1].body["original"]
    chain[1].body["original"] = {**original, "text": original["text"].replace("1.0", "1.5")}  # pyright: ignore[reportIndexIssue]  # on purpose
    (finding,) = ledger.verify(rechained(chain, 1)).findings
    assert (finding.index, finding.column) == (1, "original")
    assert "the origin's hash" in finding.message


def test_an_imported_link_changed_under_new_hashes_of_ours_is_found(ledger: Ledger) -> None:
    ledger.add(*import_history(encoded(history(3))).drafts)
    chain = rechained([ledger.entries[0], ledger.entries[2]], 1)
    (finding,) = ledger.verify(chain).findings
    assert "the origin's chain breaks" in finding.message


def test_an_entry_without_a_window_has_none(ledger: Ledger) -> None:
    (entry, windowed) = ledger.add(
        Draft("note", "test", {}), Draft("window", "test", {"window": {"goal": "x"}})
    )
    assert window_of(entry) is None
    assert window_of(windowed) == {"goal": "x"}


def test_each_run_of_fresh_entries_says_that_it_begins(ledger: Ledger) -> None:
    whole = import_history(encoded(history(7)))
    known = [whole.drafts[place] for place in (0, 2, 3, 5)]
    for draft in known:
        ledger.add(*fresh_drafts(replace(whole, drafts=(draft,)), lambda _: False))
    names = {draft.delivery for draft in known}
    fresh = fresh_drafts(whole, lambda name: name in names)
    ledger.add(*fresh)
    assert [draft.delivery for draft in fresh] == [whole.drafts[n].delivery for n in (1, 4, 6)]
    assert ledger.verify().findings == ()


def test_an_erased_import_leaves_the_next_one_standing(ledger: Ledger) -> None:
    ledger.add(*import_history(encoded(history(3))).drafts)
    keeping.erase(ledger.keeping, 1, reason="asked", signer=ledger.signer, stamp=ledger.stamp)
    assert verify_store(ledger.keeping).findings == ()
    assert window_of(ledger.entries[1]) is None


def test_a_text_that_is_no_window_is_a_finding_and_not_an_accident(ledger: Ledger) -> None:
    link = {"recipe": "s2-v4", "timestamp": TIME, "prev": None, "begins": True}
    for text in ("nonsense", "[]", "[" * 100_000):
        body = {
            "link": {**link, "hash": hash_window(text, TIME, SALT)},
            "original": {"text": text, "salt": SALT},
        }
        (entry,) = ledger.add(Draft("import", "import", body))
        assert window_of(entry) is None
    messages = {finding.message for finding in ledger.verify().findings}
    assert messages == {"the origin's text is not a JSON object"}
