"""A request for every operation of the table, against a home that holds a little of everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from tests.surfaces.api.api_home import PERSONA

from mentis.surfaces.api.openapi import PATH_PARAMETERS
from mentis.surfaces.api.operation import ApiOperation

NAMES = {name: one.example for name, one in PATH_PARAMETERS.items()}
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
# Several personas are there.
QUERIES = dict.fromkeys(
    ("preview_category", "preview_prompt", "list_prompt_kinds", "resolve_block"),
    f"persona={PERSONA}",
) | {"list_placeholders": f"persona={PERSONA}&limit=5"}

BODIES: dict[str, dict[str, Any]] = {"resolve_draft": {"persona": PERSONA}}


def in_order(operations: Sequence[ApiOperation]) -> list[ApiOperation]:
    """What makes something, what looks, what changes, and last what takes away."""

    def place(one: ApiOperation) -> int:
        if one.id in ("erase_entry_fields", "rotate_ledger", "reset_prompts", "undo_exchange"):
            return 3
        return 0 if one.status == 201 else {"GET": 1, "DELETE": 4}.get(one.method, 2)

    return sorted(operations, key=place)


def path_of(operation: ApiOperation, **known: str) -> str:
    names = {**NAMES, **PATHS.get(operation.id, {}), **known}
    path = operation.path
    for name in operation.parameters:
        path = path.replace(f"{{{name}}}", names[name])
    query = [urlencode(operation.query.example), QUERIES.get(operation.id, "")]
    return "?".join(filter(None, (path, "&".join(filter(None, query)))))


def body_of(operation: ApiOperation) -> Any:  # noqa: ANN401  # JSON or bytes
    if operation.takes:
        return b"PK"
    if operation.body is None:
        return None
    return {**operation.body.example, **BODIES.get(operation.id, {})}
