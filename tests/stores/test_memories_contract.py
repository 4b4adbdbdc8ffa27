"""What every `MemoryStore` does."""

from __future__ import annotations

from mentis.ports.memory_store import MemoryStore
from mentis.values.cognition import Memory
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
    assert len(memories.memories("ada")) == 1
