"""A request for every operation of the table, against a home that holds a little of everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.surfaces.api.api_home import PERSONA

from mentis.surfaces.api.operation import Operation

NAMES = {
    "persona": PERSONA,
    "session": "main",
    "number": "0",
    "index": "0",
    "revision": "0",
    "block": "style",
    "key": "city",
    "file": "memory",
    "memory": "m1",
    "name": "remember",
    "rule": "S2-H-VERCONF",
    "person": "bob",
    "agent": "program",
}
# What stands in a path for one operation alone.
PATHS: dict[str, dict[str, str]] = {
    "show_setting": {"key": "routes.default.max_tokens"},
    "change_setting": {"key": "routes.default.max_tokens"},
    "unset_setting": {"key": "routes.default.max_tokens"},
    "show_route": {"name": "default"},
    "remove_route": {"name": "fast"},
    "show_token": {"name": "temporary"},
    "revoke_token": {"name": "temporary"},
    "show_person": {"name": "Lena"},
    "set_person_summary": {"name": "Lena"},
    "forget_person": {"name": "Lena"},
    "show_token_person": {"person": "owner"},
    "delete_block": {"block": "my_rule"},
    "move_block": {"block": "my_rule"},
    "undo_block": {"block": "my_rule"},
}
BODIES: dict[str, dict[str, Any]] = {
    "create_persona": {"id": "bob"},
    "draft_persona_field": {"kind": "core_trait", "wish": "stubborn"},
    "accept_persona_draft": {"draft": {"kind": "core_trait", "name": "stubborn"}},
    "write_memory_file": {"text": "- Likes tea."},
    "accept_memory_file": {"reason": "all true"},
    "set_title": {"title": "The garden"},
    "make_turn": {"text": "Good morning!"},
    "edit_message": {"text": "Good evening!"},
    "recall_for_task": {"task": "call my dentist"},
    "assemble_prompt": {"task": "call my dentist"},
    "send_call": {"message": "Hello"},
    "normalise_answer": {"answer": "Hello", "provider": "text"},
    "test_screening": {"text": "Hello", "text_only": True},
    "explain_screening": {"text": "Hello", "text_only": True},
    "edit_block": {"text": "Be brief."},
    "create_block": {"id": "my_rule", "text": "Be kind."},
    "copy_block": {"id": "my_style"},
    "move_block": {"file": "mine.json"},
    "toggle_block": {"enabled": True},
    "order_blocks": {"places": {"style": 1250}},
    "settle_conflict": {"field": "variants.default", "take": "ours"},
    "reset_prompts": {"scope": "system"},
    "undo_prompts": {"what": "reset"},
    "create_placeholder": {"key": "city", "default": "Bonn"},
    "add_memory": {"text": "Lena plays the cello."},
    "supersede_memory": {"memory": {"text": "Lena plays the viola now."}},
    "promote_memory": {"trust": "owner", "reason": "I checked it"},
    "release_memory": {"reason": "it is a quote"},
    "set_person_summary": {"summary": "Plays the cello."},
    "add_to_state": {"text": "Learn Polish", "goal": "polish"},
    "remove_from_state": {"name": "polish"},
    "accept_in_state": {"name": "polish", "reason": "mine"},
    "call_tool": {"arguments": {"text": "Tea at four."}},
    "make_tick": {"senses": [{"text": "It rains."}]},
    "add_sense": {"text": "It rains."},
    "erase_entry_fields": {"reason": "Art. 17"},
    "check_proof": {"proof": {}},
    "rotate_ledger": {"keep": 1},
    "fork_turn": {"blocks": {"style": "Be long."}},
    "add_window": {"draft": {}},
    "spool_window": {"draft": {"goal": "x"}},
    "check_window": {"draft": {}},
    "prove_profile": {"profile": "as-run"},
    "change_setting": {"value": 64},
    "create_route": {"name": "fast", "preset": "groq", "model": "openai/gpt-oss-20b"},
    "create_token": {"name": "temporary"},
    "set_token_person": {"name": "Bob"},
}
QUERIES = {
    "search_messages": "?query=morning",
    "search_blocks": "?text=honest",
    "preview_category": f"?category=persona&persona={PERSONA}",
    "preview_prompt": f"?persona={PERSONA}",
    "list_prompt_kinds": f"?persona={PERSONA}",
    "resolve_block": f"?persona={PERSONA}",
    "list_placeholders": f"?persona={PERSONA}&limit=5",
    "search_memories": "?query=cello&way=lexical",
    "explain_search": "?query=cello&way=lexical",
    "prove_growth": "?old=1",
}


def in_order(operations: Sequence[Operation]) -> list[Operation]:
    """What makes something, what looks, what changes, and last what takes away."""

    def place(one: Operation) -> int:
        if one.id in ("erase_entry_fields", "rotate_ledger", "reset_prompts"):
            return 3
        return 0 if one.status == 201 else {"GET": 1, "DELETE": 4}.get(one.method, 2)

    return sorted(operations, key=place)


def path_of(operation: Operation, **known: str) -> str:
    names = {**NAMES, **PATHS.get(operation.id, {}), **known}
    path = operation.path
    for name in operation.parameters:
        path = path.replace(f"{{{name}}}", names[name])
    return path + QUERIES.get(operation.id, "")


def body_of(operation: Operation) -> Any:  # noqa: ANN401  # JSON or bytes
    if operation.takes:
        return b"PK"
    return BODIES.get(operation.id, {}) if operation.body is not None else None
