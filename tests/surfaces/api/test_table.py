"""The table of operations: who may use each, what it answers, and which command it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click
import httpx2
import jsonschema_rs
import pytest
from tests.surfaces.api.api_home import PERSONA, ApiClient
from tests.surfaces.api.samples import body_of, in_order, path_of
from tests.surfaces.serve.served import make_home

from mentis import Parts
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.surfaces.api.openapi import DOCUMENT, answer_schema, openapi_document
from mentis.surfaces.api.operation import PREFIX, ApiOperation
from mentis.surfaces.api.table import NO_OPERATION, OPERATIONS
from mentis.surfaces.cli.main import cli
from mentis.surfaces.serve.served import ServedHome
from mentis.surfaces.serve.start import ServeOptions
from mentis.web.tokens import SCOPES, open_tokens

# What the home of these tests has nothing of: the answer is that there is none.
ABSENT = {
    "accept_in_state",
    "accept_memory_file",
    "approve_act",
    "audit_bundle",
    "calibrate_screening",
    "check_proof",
    "compare_answers",  # which asks for a yes to its price first
    "deny_act",
    "draft_persona_field",
    "drop_sense",
    "expire_segments",
    "explain_recorded_call",
    "find_cause",  # which asks for a yes to its price first
    "export_recorded",
    "give_sense_again",
    "restore_answer",  # the one that counts
    "choose_greeting",
    "export_lore",
    "import_home_file",
    "import_memories",
    "import_prompts",
    "import_windows",
    "list_recorded_calls",
    "list_recorded_sessions",
    "open_conversation",
    "plan_home_import",
    "plan_prompt_import",
    "promote_block",
    "promote_persona",
    "promote_memory",
    "read_recorded_body",
    "rebuild_vectors",
    "release_act_result",
    "release_memory",
    "remove_tool",
    "settle_conflict",
    "show_act",
    "show_act_result",
    "show_recorded_cost",
    "show_recorded_entry",
    "prove_recorded_entry",
    "show_sense_aside",
    "undo_home_import",
    "undo_prompts",
    "update_memory_files",
    "verify_recorded",
    "add_window",
}


async def test_an_operation_needs_a_token_of_its_scope_and_is_not_for_guests_unless_it_says_so(
    tmp_path: Path,
) -> None:
    home = find_home(make_home(tmp_path))
    tokens = open_tokens(home.path)
    own = {scope: tokens.new(f"own-{scope}", scope=scope) for scope in SCOPES}
    guest = tokens.new("guest", scope="admin", person="eve")
    settings = load_settings(home.path, {"MENTIS_WEB__BURST": "100000"})
    served = ServedHome.open(home, settings, ServeOptions(), Parts())
    wrong: list[str] = []
    transport = httpx2.ASGITransport(cast("Any", served.app))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:

        async def ask(operation: ApiOperation, token: str = "") -> int:
            given = {"authorization": f"Bearer {token}"} if token else {}
            path = f"{PREFIX}{path_of(operation)}"
            return (await http.request(operation.method, path, headers=given)).status_code

        for one in OPERATIONS:
            found = {"nobody": await ask(one)}
            lower = SCOPES[: SCOPES.index(one.scope)]
            found |= {scope: await ask(one, own[scope]) for scope in lower}
            found |= {} if one.guests else {"guest": await ask(one, guest)}
            wanted = {"nobody": 401, **dict.fromkeys(lower, 403)}
            wanted |= {} if one.guests else {"guest": 403}
            wrong += [] if found == wanted else [f"{one.id}: {found}"]
    await served.aclose()
    assert wrong == []


def test_what_is_for_guests_is_little_and_known() -> None:
    """Whatever is added here shows nobody else's words: see the tests of guests."""
    assert {one.id for one in OPERATIONS if one.guests} == {
        "list_personas",
        "list_sessions",
        "show_session",
        "list_messages",
        "set_title",
        "make_turn",
        "regenerate_answer",
        "edit_message",
        "interrupt_turn",
        "show_version",
    }


def test_reading_changes_nothing_and_changing_needs_more_than_reading() -> None:
    """Some POSTs only look: they take more than an address holds."""
    looking = [one for one in OPERATIONS if one.method == "GET" or one.scope == "read"]
    assert {one.method for one in looking} == {"GET", "POST"}
    assert [one.id for one in looking if one.edits is not None] == []


def test_answers_have_the_form_that_the_document_says(owner: ApiClient) -> None:
    """A few of each kind; all of them in the slow tests."""
    few = {
        *("list_personas", "show_persona", "list_memory_files", "list_sessions", "make_turn"),
        *("list_messages", "render_prompt", "list_blocks", "show_block", "edit_block"),
        *("add_memory", "search_memories", "show_state", "list_pending_acts", "list_tools"),
        *("list_entries", "show_entry", "explain_last_turn", "show_cost", "verify_record"),
        *("list_settings", "list_routes", "list_tokens", "show_version", "show_health"),
    }
    assert wrong_answers(owner, [one for one in OPERATIONS if one.id in few]) == []


@pytest.mark.slow
def test_every_answer_has_the_form_that_the_document_says(owner: ApiClient) -> None:
    assert wrong_answers(owner, OPERATIONS) == []


def wrong_answers(owner: ApiClient, operations: Sequence[ApiOperation]) -> list[str]:
    here = f"/personas/{PERSONA}"
    assert owner.post(f"{here}/sessions/main/turns", {"text": "Good morning!"}).is_success
    made = owner.post(f"{here}/memories", {"text": "Lena plays the cello."}).json()
    owner.call("PUT", f"{here}/people/Lena", {"summary": "Plays."}, tag="*")
    wrong: list[str] = []
    known = jsonschema_rs.Registry([(DOCUMENT, openapi_document())])
    for operation in in_order(operations):
        if operation.id in ("follow_events", "follow_persona_events"):
            continue
        path = path_of(operation, memory=made["memory"]["id"])
        tag = "*" if operation.edits else ""
        answer = owner.call(operation.method, path, body_of(operation), tag=tag)
        refused = answer.headers["content-type"] == "application/problem+json"
        if refused is not (operation.id in ABSENT):
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text[:200]}")
        elif not refused and not operation.media:
            check = jsonschema_rs.validator_for(answer_schema(operation), registry=known)
            wrong += [f"{operation.id}: {one}" for one in check.iter_errors(answer.json())]
    return wrong


def test_the_document_names_every_operation_once_and_leads_nowhere_else(
    owner: ApiClient,
) -> None:
    document = owner.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    found = {told["operationId"] for path in document["paths"].values() for told in path.values()}
    assert found == {one.id for one in OPERATIONS}
    assert len(OPERATIONS) == len(found)
    schemas = document["components"]["schemas"]
    for reference in references(document):
        kind, _, name = reference.removeprefix("#/components/").partition("/")
        assert name in document["components"][kind], reference
    for name, schema in schemas.items():
        assert jsonschema_rs.meta.is_valid(schema), name
    for path, told in document["paths"].items():
        for one in told.values():
            named = {p["name"] for p in one["parameters"] if p["in"] == "path"}
            assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def references(found: object) -> Iterator[str]:
    if isinstance(found, dict):
        for name, one in found.items():  # pyright: ignore[reportUnknownVariableType]  # JSON
            if name == "$ref" and isinstance(one, str):
                yield one
            yield from references(one)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(found, list):
        for one in found:  # pyright: ignore[reportUnknownVariableType]
            yield from references(one)  # pyright: ignore[reportUnknownArgumentType]


def test_every_command_has_an_operation_or_a_reason_why_not() -> None:
    commands = set(command_names(cli, click.Context(cli), ""))
    covered = {name for one in OPERATIONS for name in one.commands}
    assert covered - commands == set(), "operations name commands that are not there"
    assert set(NO_OPERATION) - commands == set(), "reasons are given for what is not there"
    assert covered & set(NO_OPERATION) == set()
    assert commands - covered - set(NO_OPERATION) == set()


def command_names(command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield name
        return
    if command.invoke_without_command:
        yield name
    for child in command.list_commands(context):
        found = command.get_command(context, child)
        assert found is not None
        yield from command_names(found, context, f"{name} {child}".strip())


def test_the_document_is_made_once() -> None:
    first: dict[str, Any] = openapi_document()
    assert first is openapi_document()
