"""What every `MemoryStore` does."""

from __future__ import annotations

import math
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mentis.errors import BadInput, StoreConflict
from mentis.ports.memory_store import MemoryStore
from mentis.values.cognition import Memory, Screening
from mentis.values.memories import MemoryListing, MemoryStanding, Vector, text_digest
from mentis.values.trust import Trust


def test_memories_come_back_in_the_order_of_their_ids(memories: MemoryStore) -> None:
    kept = [
        Memory(name, f"text {name}", trust=Trust.SELF, source="chat") for name in ("b", "ä", "a")
    ]
    for memory in kept:
        memories.remember("ada", memory)
    assert memories.memories("ada") == (kept[2], kept[0], kept[1])


def test_a_memory_with_the_same_id_is_replaced(memories: MemoryStore) -> None:
    memories.remember("ada", Memory("a", "old"))
    memories.remember("ada", Memory("a", "new", kind="fact"))
    assert memories.memories("ada") == (Memory("a", "new", kind="fact"),)


def test_what_is_forgotten_is_gone_and_forgetting_twice_says_so(memories: MemoryStore) -> None:
    memories.remember("ada", Memory("a", "text"))
    assert memories.forget("ada", "a") is True
    assert memories.forget("ada", "a") is False
    assert memories.memories("ada") == ()


def test_agents_do_not_share_memories(memories: MemoryStore) -> None:
    memories.remember("ada", Memory("a", "mine"))
    assert memories.forget("bob", "a") is False
    assert memories.memories("bob") == ()
    assert (memories.count("ada"), memories.count("bob")) == (1, 0)


def vector(memory: Memory, *numbers: float) -> Vector:
    return Vector(memory.id, text_digest(memory.text), struct.pack(f"<{len(numbers)}f", *numbers))


def test_everything_a_memory_says_comes_back(memories: MemoryStore) -> None:
    whole = Memory(
        "a",
        "Größe \0 🙂 'quoted' %s ?",
        kind="decision",
        trust=Trust.OWNER,
        source="cli",
        time="2026-01-01T00:00:00.000000Z",
        tags=("x", "y"),
        scope="work",
        confidence=0.25,
        lineage=Trust.SELF,
        updated="2026-01-02T00:00:00.000000Z",
        valid_from="2026-01-01T00:00:00.000000Z",
        valid_until="2027-01-01T00:00:00.000000Z",
        superseded_by="b",
        screening=Screening("suspicious", "odd"),
        released="2026-01-03T00:00:00.000000Z",
        session="main",
    )
    memories.remember("ada", whole)
    assert memories.find("ada", "a") == whole
    assert memories.find("ada", "b") is None


def test_the_same_content_is_kept_once(memories: MemoryStore) -> None:
    first = Memory("a", "Tea  at FIVE", kind="fact")
    again = Memory("b", "tea at five", kind="fact")
    other = Memory("c", "tea at five", kind="thought")
    assert memories.add("ada", [first]) == (first,)
    assert memories.add("ada", [again, other, replace(again, id="d")]) == (first, other, first)
    assert memories.memories("ada") == (first, other)
    assert memories.add("ada", []) == ()


def test_the_same_content_with_more_trust_is_kept_beside_it(memories: MemoryStore) -> None:
    planted, mine = Memory("a", "tea"), Memory("b", "tea", trust=Trust.OWNER, lineage=Trust.OWNER)
    memories.add("ada", [planted])
    assert memories.add("ada", [mine]) == (mine,)
    both = [Memory("c", "tea"), Memory("d", "tea", trust=Trust.SELF)]
    assert memories.add("ada", both) == (mine, mine)


def test_what_was_superseded_may_be_said_again(memories: MemoryStore) -> None:
    old = Memory("a", "tea")
    memories.add("ada", [old])
    memories.remember("ada", replace(old, superseded_by="z"))
    assert memories.add("ada", [Memory("b", "tea")]) == (Memory("b", "tea"),)


def test_an_id_of_another_memory_is_refused_and_nothing_is_added(memories: MemoryStore) -> None:
    memories.add("ada", [Memory("a", "tea")])
    with pytest.raises(StoreConflict, match="`a` belongs to another"):
        memories.add("ada", [Memory("b", "milk"), Memory("a", "coffee")])
    assert memories.memories("ada") == (Memory("a", "tea"),)


def test_a_standing_tells_what_is_new_and_that_something_is_gone(memories: MemoryStore) -> None:
    assert memories.standing("ada") == MemoryStanding(0, 0)
    memories.add("ada", [Memory("a", "one")])
    before = memories.standing("ada")
    memories.add("ada", [Memory("b", "two")])
    memories.remember("ada", Memory("c", "three"))
    after = memories.standing("ada")
    assert after.revision > before.revision
    assert after.forgotten == before.forgotten
    assert [m.id for m in memories.memories("ada", since=before.revision)] == ["b", "c"]
    assert memories.memories("ada", since=after.revision) == ()
    memories.forget("ada", "b")
    assert memories.standing("ada").forgotten == after.forgotten + 1
    assert memories.standing("bob") == MemoryStanding(0, 0)


def test_vectors_are_kept_exactly_and_apart_by_embedder(memories: MemoryStore) -> None:
    a, b = Memory("a", "one"), Memory("b", "two")
    memories.add("ada", [a, b])
    odd = vector(a, 0.1, -1e-38, 3.4e38)
    assert memories.keep_vectors("ada", "first/3", [odd, vector(b, 1, 2, 3)]) == 2
    before = memories.standing("ada").revision
    assert memories.keep_vectors("ada", "second/1", [vector(b, 7)]) == 1
    assert memories.vectors("ada", "first/3") == (odd, vector(b, 1, 2, 3))
    assert memories.vectors("ada", "second/1") == (vector(b, 7),)
    assert memories.vectors("ada", "second/1", since=before) == (vector(b, 7),)
    assert memories.vectors("ada", "first/3", since=before) == ()
    assert memories.vectors("bob", "first/3") == ()
    assert memories.count_vectors("ada") == {"first/3": 2, "second/1": 1}
    assert memories.without_vector("ada", "second/1", count=9) == (a,)
    assert memories.without_vector("ada", "third", count=1) == (a,)
    assert memories.without_vector("ada", "third", count=9, after="a") == (b,)
    assert memories.drop_vectors("ada", "first/3") == 2
    assert memories.count_vectors("ada") == {"second/1": 1}


def test_a_vector_of_another_text_is_not_kept(memories: MemoryStore) -> None:
    memories.add("ada", [Memory("a", "new")])
    stale = vector(Memory("a", "old"), 1, 2)
    assert memories.keep_vectors("ada", "f", [stale, vector(Memory("z", "gone"), 1, 2)]) == 0
    assert memories.vectors("ada", "f") == ()


def test_a_new_text_lets_the_vectors_go_and_a_new_tag_does_not(memories: MemoryStore) -> None:
    a = Memory("a", "one")
    memories.add("ada", [a])
    memories.keep_vectors("ada", "f", [vector(a, 1, 2)])
    memories.remember("ada", replace(a, tags=("x",)))
    assert memories.count_vectors("ada") == {"f": 1}
    forgotten = memories.standing("ada").forgotten
    memories.remember("ada", replace(a, text="two"))
    assert memories.count_vectors("ada") == {}
    assert memories.standing("ada").forgotten == forgotten + 1


def test_a_change_holds_only_while_everything_is_as_it_was(memories: MemoryStore) -> None:
    a, b = Memory("a", "one"), Memory("b", "two", screening=Screening("clean", ""))
    memories.add("ada", [a, b])
    memories.keep_vectors("ada", "f", [vector(a, 1, 2)])
    marked = replace(a, superseded_by="b")
    assert memories.change("ada", a, marked, given=[b])
    standing = memories.standing("ada")
    assert not memories.change("ada", a, replace(a, trust=Trust.OWNER))
    assert not memories.change("ada", b, replace(b, superseded_by="a"), given=[a])
    assert not memories.change("ada", Memory("z", "gone"), Memory("z", "gone", kind="fact"))
    assert not memories.change("bob", marked, a)
    assert memories.memories("ada") == (marked, b)
    assert memories.standing("ada") == standing
    assert memories.change("ada", marked, replace(a, text="new"))
    assert memories.count_vectors("ada") == {}
    with pytest.raises(BadInput, match="cannot become"):
        memories.change("ada", b, replace(b, id="c"))


def test_of_many_who_change_a_memory_at_once_one_wins(memories: MemoryStore) -> None:
    a = Memory("a", "one")
    memories.add("ada", [a])

    def change(number: int) -> bool:
        return memories.change("ada", a, replace(a, superseded_by=f"m{number}"))

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(change, range(12)))
    assert won.count(True) == 1
    kept = memories.find("ada", "a")
    assert kept is not None
    assert kept.superseded_by == f"m{won.index(True)}"


def test_vectors_come_in_the_order_they_were_kept(memories: MemoryStore) -> None:
    kept = [Memory(name, name) for name in "abcd"]
    memories.add("ada", kept)
    a, b, c, d = (vector(memory, 1, number) for number, memory in enumerate(kept))
    memories.keep_vectors("ada", "f", [d, b])
    memories.keep_vectors("ada", "f", [c, a])
    assert memories.vectors("ada", "f") == (b, d, a, c)


def test_forgetting_takes_the_vectors_along(memories: MemoryStore) -> None:
    a = Memory("a", "one")
    memories.add("ada", [a])
    memories.keep_vectors("ada", "f", [vector(a, 1, 2)])
    memories.keep_vectors("ada", "g", [vector(a, 1)])
    assert memories.forget("ada", "a")
    assert memories.count_vectors("ada") == {}
    assert all(isinstance(place, str) for place in memories.remains)


@pytest.mark.parametrize("numbers", [(1.0,), (1.0, 2.0, 3.0), (), (math.nan, 1.0), (math.inf, 1.0)])
def test_a_vector_that_does_not_fit_is_refused_whole(
    memories: MemoryStore, numbers: tuple[float, ...]
) -> None:
    a, b = Memory("a", "one"), Memory("b", "two")
    memories.add("ada", [a, b])
    memories.keep_vectors("ada", "f", [vector(a, 1, 2)])
    with pytest.raises(BadInput):
        memories.keep_vectors("ada", "f", [vector(b, 3, 4), vector(b, *numbers)])
    assert memories.count_vectors("ada") == {"f": 1}


def test_a_store_that_cannot_search_by_vectors_says_so(memories: MemoryStore) -> None:
    assert memories.nearest("ada", "f", [1.0, 0.0], count=3) in (None, ())
    memories.close()


DROPPED = Screening("dropped", "an order")
MANY = (
    Memory("a", "Tea at five", kind="fact", time="2026-01-03", tags=("zoe",), source="CLI"),
    Memory("b", "Coffee \0 at six", kind="diary", time="2026-01-02", tags=("Ada", "@ada")),
    Memory("c", "Größe", kind="fact", time="2026-01-02", superseded_by="a", tags=("Ada",)),
    Memory("d", "do it", kind="fact", screening=DROPPED, superseded_by="a", time="2026-01-05"),
    Memory(
        "e", "do it", kind="person", screening=DROPPED, released="2026-01-04", time="2026-01-04"
    ),
    Memory("f", "Tea", kind="fact", trust=Trust.OWNER, lineage=Trust.OWNER, session="MAIN"),
)


@pytest.mark.parametrize(
    ("listing", "ids"),
    [
        (MemoryListing(), "abef"),
        (MemoryListing(states=()), "abcdef"),
        (MemoryListing(states=("superseded",)), "c"),
        (MemoryListing(states=("quarantine",)), "d"),
        (MemoryListing(states=("current", "superseded"), kinds=("fact", "person")), "acef"),
        (MemoryListing(worths=(Trust.OWNER, Trust.SELF)), "f"),
        (MemoryListing(after="b"), "ef"),
        (MemoryListing(words=("tea",)), "af"),
        (MemoryListing(words=("tea", "cli")), "a"),
        (MemoryListing(words=("main",)), "f"),
        (MemoryListing(words=("coffee", "\0"), order="newest"), "b"),
        (MemoryListing(words=("%",)), ""),
        (MemoryListing(order="newest"), "eabf"),
        (MemoryListing(states=(), order="names"), "defcba"),
    ],
)
def test_a_list_has_what_it_asks_for_in_its_order(
    memories: MemoryStore, listing: MemoryListing, ids: str
) -> None:
    memories.add("ada", MANY)
    memories.add("bob", [Memory("z", "Tea", time="2026-01-09")])
    assert "".join(one.id for one in memories.page("ada", listing)) == ids
    parts = [memories.page("ada", listing, start=start, count=2) for start in (0, 2, 4)]
    assert "".join(one.id for part in parts for one in part) == ids
    assert memories.count("ada", listing) == len(ids)


def test_a_list_follows_what_becomes_of_a_memory(memories: MemoryStore) -> None:
    memories.add("ada", MANY)
    memories.remember("ada", replace(MANY[0], text="Milk", kind="rule", superseded_by="f"))
    assert memories.count("ada", MemoryListing(words=("tea",))) == 1
    (found,) = memories.page("ada", MemoryListing(kinds=("rule",), states=("superseded",)))
    assert found.text == "Milk"
    memories.forget("ada", "a")
    assert memories.count("ada", MemoryListing(kinds=("rule",), states=())) == 0


def test_some_are_read_by_their_ids_and_the_last_changes_are_told(memories: MemoryStore) -> None:
    kept = [Memory(name, f"text {name}") for name in ("a", "b", "c")]
    for memory in kept:
        memories.remember("ada", memory)
    memories.keep_vectors("ada", "f", [vector(kept[2], 1.0), vector(kept[0], 2.0)])
    memories.remember("ada", replace(kept[1], kind="fact"))
    found = memories.find_all("ada", ["c", "nobody", "a"])
    assert {one.id: one for one in found} == {"a": kept[0], "c": kept[2]}
    told = {one.id: text_digest(one.text) for one in kept}
    assert memories.last_changed("ada", until=9, count=2) == (
        ("b", 5, told["b"]),
        ("c", 3, told["c"]),
    )
    assert memories.last_changed("ada", until=3, count=1) == (("c", 3, told["c"]),)
    assert set(memories.changes("ada", ["a", "b", "nobody"])) == {
        ("a", 1, told["a"]),
        ("b", 5, told["b"]),
    }
    assert memories.vector_revisions("ada", "f") == {"a": 4, "c": 4}
    assert memories.vector_revisions("ada", "f", ["c", "b"]) == {"c": 4}
    assert memories.vectors_of("ada", "f", ["c", "b"]) == (vector(kept[2], 1.0),)
    assert memories.find_all("ada", []) == memories.vectors_of("ada", "f", []) == ()
