"""Lorebooks of several programs are read as entries of one kind."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput
from mentis.exchange.lorebooks import LoreEntry, lorebook_dialect, read_lorebook
from mentis.values.json import JsonObject

TAVERN: JsonObject = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["glade", " forest "],
            "keysecondary": ["night"],
            "selective": True,
            "selectiveLogic": 2,
            "comment": "The glade",
            "content": "Green.",
            "order": 50,
            "position": 4,
            "depth": 2,
            "probability": 40,
            "useProbability": True,
            "sticky": 3,
            "cooldown": 2,
            "delay": 1,
            "scanDepth": 6,
            "caseSensitive": True,
            "matchWholeWords": False,
            "excludeRecursion": True,
            "preventRecursion": True,
            "vectorized": True,
            "characterFilter": {"isExclude": False, "names": [], "tags": []},
        }
    }
}
CARD_BOOK: JsonObject = {
    "name": "World",
    "scan_depth": 5,
    "token_budget": 300,
    "recursive_scanning": False,
    "extensions": {},
    "entries": [
        {
            "keys": ["inn"],
            "content": "Shut.",
            "enabled": True,
            "insertion_order": 7,
            "priority": 3,
            "secondary_keys": ["ignored"],
            "selective": False,
            "position": "after_char",
            "extensions": {"probability": 30, "useProbability": True, "match_whole_words": False},
        }
    ],
}
OTHERS: dict[str, JsonObject] = {
    "NovelAI": {
        "lorebookVersion": 5,
        "entries": [
            {
                "text": "Shut.",
                "displayName": "Inn",
                "keys": ["inn"],
                "enabled": True,
                "forceActivation": False,
                "contextConfig": {"budgetPriority": 400},
            }
        ],
    },
    "Agnai": {
        "kind": "memory",
        "name": "World",
        "entries": [
            {"name": "Inn", "entry": "Shut.", "keywords": ["inn"], "weight": 4, "enabled": True}
        ],
    },
    "Risu": {
        "type": "risu",
        "ver": 1,
        "data": [
            {
                "key": "inn, tavern",
                "secondkey": "night",
                "insertorder": 9,
                "comment": "Inn",
                "content": "Shut.",
                "alwaysActive": False,
                "selective": True,
            }
        ],
    },
}


def _only(document: JsonObject) -> LoreEntry:
    (entry,) = read_lorebook(document, "file").entries
    return entry


def test_every_field_of_sillytavern_has_a_place_or_is_named() -> None:
    entry = _only(TAVERN)
    words = entry.keywords
    assert (words.keys, words.secondary, words.logic) == (("glade", "forest"), ("night",), "none")
    assert (words.sticky, words.cooldown, words.delay, words.probability) == (3, 2, 1, 40)
    assert (words.scan_depth, words.depth, words.case_sensitive) == (6, 2, True)
    assert (words.whole_words, words.wakes, words.woken) == (False, False, False)
    assert [one.partition(":")[0] for one in entry.losses] == ["vectorized", "position"]


def test_a_book_of_a_card_gives_its_entries_what_it_says_of_all() -> None:
    book = read_lorebook({"spec": "lorebook_v3", "data": CARD_BOOK})
    assert (book.dialect, book.name) == ("lorebook V3", "World")
    for entry in (book.entries[0], _only(CARD_BOOK)):
        words = entry.keywords
        assert (words.scan_depth, words.budget, words.wakes, words.book) == (5, 300, False, "World")
        assert (words.secondary, words.probability, words.whole_words) == ((), 30, False)
        assert (entry.order, entry.priority, entry.before) == (7, 3, False)


@pytest.mark.parametrize("dialect", OTHERS)
def test_books_of_other_programs_are_recognised(dialect: str) -> None:
    book = read_lorebook(OTHERS[dialect], "file")
    (entry,) = book.entries
    assert book.dialect == dialect
    assert (entry.name, entry.content, entry.enabled) == ("Inn", "Shut.", True)
    assert entry.keywords.keys[0] == "inn"
    assert entry.keywords.secondary == (("night",) if dialect == "Risu" else ())


def test_keys_that_are_patterns_are_never_run() -> None:
    row = {"content": "x", "key": ["/(a+)+$/i", "inn"], "comment": "Two"}
    entry = _only({"entries": {"0": row}})
    assert entry.keywords.keys == ("inn",)
    assert entry.enabled
    alone = _only({"entries": {"0": {**row, "key": ["/(a+)+$/i"]}}})
    assert (alone.enabled, len(alone.losses)) == (False, 1)
    regex = _only({"entries": [{"keys": ["a.*"], "content": "x", "use_regex": True}]})
    assert not regex.enabled


def test_decorators_are_done_or_named_and_never_told() -> None:
    content = "@@depth 2\n@@scan_depth 7\n@@future 1\n@@@exclude_keys night\nIt is shut."
    entry = _only({"entries": [{"keys": ["inn"], "content": content}]})
    assert entry.content == "It is shut."
    assert (entry.keywords.depth, entry.keywords.scan_depth) == (2, 7)
    assert (entry.keywords.secondary, entry.keywords.logic) == (("night",), "none")
    assert entry.losses == ("@@future: not known here",)


@given(
    st.dictionaries(
        st.sampled_from(["entries", "data", "type", "kind", "spec", "lorebookVersion", "name"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.floats()
            | st.sampled_from(["risu", "memory", "@@depth"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["key", "keys", "content", "depth", "probability", "extensions"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        ),
    )
)
def test_no_document_does_anything_but_a_refusal(document: object) -> None:
    if lorebook_dialect(document) is None:
        return
    with suppress(BadInput):
        read_lorebook(cast("JsonObject", document))
