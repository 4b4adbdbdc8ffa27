"""Operations are called as the document says, where the owner says, and with the owner's keys."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import anyio
import pytest

from mentis.act.openapi.acts import OpenApi, OpenApiSource
from mentis.act.openapi.document import Document, read_document
from mentis.act.payloads import fault_in
from mentis.act.registry import Registry
from mentis.errors import BadInput, RouteError
from mentis.ports.secrets import ListedSecrets
from mentis.values.act import ActCall
from mentis.values.action import Action, Outcome
from mentis.values.trust import Trust

from .conftest import Server

pytestmark = pytest.mark.anyio
SECRET = "s3cret-value/1"  # noqa: S105
SECRETS = ListedSecrets({"PET_KEY": SECRET, "ODD_KEY": "a\nb"})


def parameter(name: str, place: str, schema: object = None, **more: object) -> dict[str, object]:
    return {"name": name, "in": place, "schema": schema or {"type": "string"}, **more}


OBJECT = {"type": "object", "additionalProperties": {"type": "string"}}
LIST = {"type": "array", "items": {"type": "string"}}
PATHS: dict[str, Any] = {
    "/pets/{id}": {
        "get": {
            "operationId": "getPet",
            "description": "Read a pet.",
            "parameters": [
                parameter("id", "path", required=True),
                parameter("tags", "query", LIST),
                parameter("names", "query", LIST, explode=False),
                parameter("piped", "query", LIST, explode=False, style="pipeDelimited"),
                parameter("filter", "query", OBJECT, style="deepObject"),
                parameter("free", "query", OBJECT),
                parameter("X-Trace", "header"),
                parameter("mood", "cookie"),
                parameter("deep", "query", {"type": "integer"}),
            ],
        },
        "put": {
            "operationId": "putPet",
            "parameters": [parameter("id", "path", required=True)],
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        },
        "delete": {"operationId": "dropPet", "parameters": [parameter("id", "path")]},
        "head": {"operationId": "seePet", "parameters": [parameter("id", "path")]},
    },
    "/pets": {
        "post": {"operationId": "newPet", "security": [{"token": []}]},
        "get": {"operationId": "listPets", "security": [{"query": [], "cookie": []}, {"gone": []}]},
    },
    "/open": {"get": {"operationId": "open", "security": [{"token": []}, {}]}},
}
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
}


def document(**more: object) -> Document:
    form = {"openapi": "3.1.0", "paths": PATHS, "components": {"securitySchemes": SCHEMES}, **more}
    return read_document(json.dumps(form).encode())


def source(server: Server, *operations: str, **more: Any) -> OpenApiSource:  # noqa: ANN401  # fields
    return OpenApiSource(name="pets", operations=operations, url=server.url, **more)


async def done(
    server: Server, operation: str, payload: dict[str, object], **more: object
) -> Outcome:
    api = OpenApi(source(server, operation, **more), document(), SECRETS)
    (handler,) = api.handlers
    assert fault_in(payload, handler.spec.declaration) == ""
    try:
        with anyio.fail_after(30):
            return await handler.handle(ActCall(Action(operation, payload), "key-7"))
    finally:
        await api.aclose()


async def test_every_parameter_goes_where_it_belongs(server: Server) -> None:
    server.body = b'{"name": "Rex"}'
    outcome = await done(
        server,
        "getPet",
        {
            "id": "a/../b c?",
            "tags": ["x", "y&z"],
            "names": ["m", "n"],
            "piped": ["p", "q"],
            "filter": {"age": "3"},
            "free": {"w": "1"},
            "X-Trace": "t",
            "mood": "so so",
            "deep": 4,
        },
    )
    assert outcome == Outcome(
        outcome.action, "done", '{"name": "Rex"}', key="key-7", source="openapi:pets"
    )
    (asked,) = server.asked
    assert asked.path == (
        "/api/pets/a%2F..%2Fb%20c%3F?tags=x&tags=y%26z&names=m%2Cn&piped=p%7Cq"
        "&filter%5Bage%5D=3&w=1&deep=4"
    )
    assert asked.headers["x-trace"] == "t"
    assert asked.headers["cookie"] == "mood=so%20so"
    assert "idempotency-key" not in asked.headers


@pytest.mark.parametrize(
    ("declared", "value", "path", "header"),
    [
        (
            parameter("a", "query", LIST, explode=False, style="spaceDelimited"),
            ["x", "y"],
            "?a=x%20y",
            "",
        ),
        (parameter("a", "query", OBJECT, explode=False), {"k": "v"}, "?a=k%2Cv", ""),
        (parameter("a", "query", {}), None, "?a=", ""),
        (parameter("a", "query", {}), True, "?a=true", ""),
        ({"name": "a", "in": "query", "content": {"application/json": {}}}, "s", "?a=%22s%22", ""),
        (parameter("a", "header", LIST), ["x", "y"], "", "x,y"),
        (parameter("a", "header", OBJECT), {"k": "v", "l": "w"}, "", "k,v,l,w"),
        (parameter("a", "header", OBJECT, explode=True), {"k": "v", "l": "w"}, "", "k=v,l=w"),
    ],
)
async def test_lists_and_objects_are_written_in_the_style_of_their_parameter(
    server: Server, declared: dict[str, object], value: object, *, path: str, header: str
) -> None:
    styled = {"operationId": "styled", "parameters": [declared]}
    found = document(paths={"/s": {"get": styled}})
    api = OpenApi(source(server, "styled"), found, SECRETS)
    outcome = await api.handlers[0].handle(ActCall(Action("styled", {"a": value}), "k"))
    assert outcome.state == "done"
    assert server.asked[0].path == f"/api/s{path}"
    assert server.asked[0].headers.get("a", "") == header
    await api.aclose()
    await api.aclose()


async def test_a_json_body_is_sent_with_the_key_of_the_call(server: Server) -> None:
    server.status, server.body = 204, b""
    outcome = await done(server, "putPet", {"id": "1", "body": {"name": "Größe"}})
    assert (outcome.state, outcome.text) == ("done", '{"status": 204, "content-length": "0"}')
    (asked,) = server.asked
    assert asked.method == "PUT"
    assert json.loads(asked.body) == {"name": "Größe"}
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["idempotency-key"] == "key-7"


async def test_what_is_declared_follows_from_the_method_unless_the_owner_says_more() -> None:
    names = ("getPet", "putPet", "dropPet", "seePet", "newPet", "open")
    here = Server(url="http://127.0.0.1:1")
    chosen = source(here, *names, prefix="pets_", effects=("open",), keys={"token": "PET_KEY"})
    api = OpenApi(chosen, document(), SECRETS)
    registry = Registry()
    registry.put_source("openapi:pets", api.handlers)
    assert {
        spec.name: (spec.declaration.external_effects, spec.declaration.idempotent)
        for spec in registry.specs()
    } == {
        "pets_getPet": (False, True),
        "pets_putPet": (True, True),
        "pets_dropPet": (True, True),
        "pets_seePet": (False, True),
        "pets_newPet": (True, False),
        "pets_open": (True, True),
    }
    assert {spec.scope for spec in registry.specs()} == {"agent"}
    descriptions = {spec.name: spec.declaration.description for spec in registry.specs()}
    assert descriptions["pets_getPet"] == "Read a pet."
    assert descriptions["pets_newPet"] == "POST /pets"


def test_what_of_a_document_is_not_used_or_told_is_among_the_problems() -> None:
    long = {"operationId": "long", "summary": "S" * 10, "description": "d" * 5000}
    paths = {"/long": {"get": long}, "/broken": 3}
    text = json.dumps({"openapi": "3.1.0", "paths": paths}).encode()
    chosen = OpenApiSource(name="x", operations=("long",), url="http://127.0.0.1:1", prefix="x_")
    api = OpenApi(chosen, read_document(text), SECRETS)
    assert [(one.place, one.reason) for one in api.problems] == [
        ("/broken", "3 stands where an object is needed"),
        ("x_long", "its description has 5012 characters; the first 4096 are told"),
    ]
    told = api.handlers[0].spec.declaration.description
    assert told == f"{'S' * 10}\n\n{'d' * 4084}"


async def test_keys_are_sent_and_never_told(server: Server) -> None:
    server.body = json.dumps({"echo": f"Bearer {SECRET}"}).encode()
    outcome = await done(server, "newPet", {}, keys={"token": "PET_KEY"})
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert outcome.text == '{"echo": "Bearer [redacted]"}'
    server.status = 403
    outcome = await done(server, "newPet", {}, keys={"token": "PET_KEY"})
    assert outcome.state == "refused"
    assert SECRET not in repr(outcome)
    await done(server, "listPets", {}, keys={"query": "PET_KEY", "cookie": "PET_KEY"})
    assert server.asked[2].path == "/api/pets?key=s3cret-value%2F1"
    assert server.asked[2].headers["cookie"] == f"sid={SECRET}"
    await done(server, "open", {})
    assert "authorization" not in server.asked[3].headers


@pytest.mark.parametrize(("name", "why"), [("NONE", "is not set"), ("ODD_KEY", "no key has")])
async def test_without_its_key_an_act_is_unavailable_and_nothing_is_sent(
    server: Server, name: str, why: str
) -> None:
    outcome = await done(server, "newPet", {}, keys={"token": name})
    assert outcome.state == "unavailable"
    assert f"the key in {name}" in outcome.reason
    assert why in outcome.reason
    assert server.asked == []


async def test_basic_keys_go_as_they_are_and_unknown_kinds_are_refused(server: Server) -> None:
    schemes = {"basic": {"type": "http", "scheme": "Basic"}, "odd": {"type": "mutualTLS"}}
    ways: list[dict[str, list[str]]] = [{"basic": []}]
    odd: list[dict[str, list[str]]] = [{"odd": []}]
    paths = {
        "/a": {"get": {"operationId": "a", "security": ways}},
        "/b": {"get": {"operationId": "b", "security": odd}},
    }
    found = document(paths=paths, components={"securitySchemes": schemes})
    api = OpenApi(source(server, "a", keys={"basic": "PET_KEY"}), found, SECRETS)
    await api.handlers[0].handle(ActCall(Action("a", {}), "k"))
    assert server.asked[0].headers["authorization"] == f"Basic {SECRET}"
    await api.aclose()
    with pytest.raises(BadInput, match="of a kind that is not known"):
        OpenApi(source(server, "b", keys={"odd": "PET_KEY"}), found, SECRETS)


def test_a_needed_key_that_nobody_named_is_refused_at_once() -> None:
    here = Server(url="http://127.0.0.1:1")
    with pytest.raises(BadInput, match="needs a key for token"):
        OpenApi(source(here, "newPet"), document(), SECRETS)
    with pytest.raises(BadInput, match="needs a key for query and cookie, or gone"):
        OpenApi(source(here, "listPets", keys={"query": "PET_KEY"}), document(), SECRETS)


def test_only_the_owner_says_where_to_connect() -> None:
    odd: list[object] = [[{"url": "https://evil.test/v1"}], [{"url": "/v1"}], [], "x", [{}]]
    odd.append([{"url": "http://[::1"}])
    for servers in odd:
        chosen = OpenApiSource(name="pets", operations=("open",), hosts=("good.test",))
        with pytest.raises(BadInput, match="nobody allowed that"):
            OpenApi(chosen, document(servers=servers), SECRETS)
    chosen = OpenApiSource(name="pets", operations=("open",), hosts=("good.test",))
    api = OpenApi(chosen, document(servers=[{"url": "https://good.test/v1/"}]), SECRETS)
    assert api.url == "https://good.test/v1"


@pytest.mark.parametrize(
    "url",
    ["http://pets.test", "http://169.254.169.254", "ftp://pets.test", "https://a:b@pets.test"],
)
def test_an_address_no_key_may_go_to_is_refused(url: str) -> None:
    chosen = OpenApiSource(name="pets", operations=("newPet",), url=url, keys={"token": "PET_KEY"})
    with pytest.raises(RouteError):
        OpenApi(chosen, document(), SECRETS)


@pytest.mark.parametrize(
    ("status", "get", "post"),
    [
        (302, "unavailable", "unavailable"),
        (400, "invalid", "invalid"),
        (404, "refused", "refused"),
        (422, "invalid", "invalid"),
        (429, "unavailable", "unavailable"),
        (500, "unavailable", "unknown"),
        (504, "unavailable", "unknown"),
    ],
)
async def test_an_answer_that_is_none_is_typed(
    server: Server, status: int, get: str, post: str
) -> None:
    server.status, server.body = status, "Größe\n fehlt".encode()
    server.headers = {"location": "http://elsewhere.test/", "retry-after": "7"}
    outcome = await done(server, "open", {})
    said = "redirects are not followed" if status == 302 else "Größe fehlt"
    assert (outcome.state, outcome.text) == (get, "")
    assert outcome.reason == f"HTTP {status}, try again after 7: {said}"
    assert (await done(server, "newPet", {}, keys={"token": "PET_KEY"})).state == post
    assert len(server.asked) == 2


async def test_a_connection_that_breaks_or_never_comes_is_typed(server: Server) -> None:
    server.cuts = True
    assert (await done(server, "open", {})).state == "unavailable"
    broken = await done(server, "newPet", {}, keys={"token": "PET_KEY"})
    assert broken.state == "unknown"
    assert "how far it came is not known" in broken.reason
    nowhere = Server(url="http://127.0.0.1:1")
    unreached = await done(nowhere, "newPet", {}, keys={"token": "PET_KEY"})
    assert unreached.state == "unavailable"


async def test_a_server_that_never_answers_is_cut_off(server: Server) -> None:
    server.hangs = True
    keys = {"token": "PET_KEY"}
    assert (await done(server, "open", {}, timeout_seconds=0.05)).state == "timeout"
    outcome = await done(server, "newPet", {}, timeout_seconds=0.05, keys=keys)
    assert outcome.state == "unknown"


async def test_a_flood_is_cut_and_said_to_be(server: Server) -> None:
    server.body = "ä".encode() * 5_000
    outcome = await done(server, "open", {}, max_bytes=1001)
    assert outcome.state == "done"
    assert outcome.text == f'{"ä" * 500}\n{{"cut": true, "bytes_read": 1001}}'
    assert outcome.reason == "the answer was cut at 1001 bytes"


async def test_packed_bytes_that_nobody_asked_for_are_not_unpacked(server: Server) -> None:
    server.body, server.headers = gzip.compress(bytes(10_000)), {"content-encoding": "gzip"}
    outcome = await done(server, "open", {})
    assert outcome.state == "unavailable"
    assert "packed" in outcome.reason
    assert server.asked[0].headers["accept-encoding"] == "identity"


async def test_bytes_that_are_no_text_and_a_head_without_a_body(server: Server) -> None:
    server.body = b"\xff\xd8\xff"
    assert (await done(server, "open", {})).text == '{"bytes": 3, "base64": "/9j/"}'
    server.headers = {"etag": "abc"}
    outcome = await done(server, "seePet", {"id": "1"})
    assert json.loads(outcome.text) == {"status": 200, "content-length": "3", "etag": "abc"}


@pytest.mark.parametrize(
    "payload",
    [{"id": ".."}, {"id": ""}, {"id": "."}, {"id": "a", "X-Trace": "a\r\nHost: b"}],
)
async def test_a_value_that_would_lead_elsewhere_is_invalid(
    server: Server, payload: dict[str, object]
) -> None:
    outcome = await done(server, "getPet", payload)
    assert outcome.state == "invalid"
    assert server.asked == []


async def test_an_object_in_the_query_cannot_bring_a_key_of_its_own(server: Server) -> None:
    free = {"operationId": "free", "parameters": [parameter("free", "query", OBJECT)]}
    wanted: list[dict[str, list[str]]] = [{"query": []}]
    found = document(paths={"/free": {"get": free}}, security=wanted)
    api = OpenApi(source(server, "free", keys={"query": "PET_KEY"}), found, SECRETS)
    call = ActCall(Action("free", {"free": {"key": "mine"}}), "k")
    outcome = await api.handlers[0].handle(call)
    assert (outcome.state, outcome.reason) == ("invalid", "key is not for a payload to say")
    await api.aclose()


async def test_a_secret_is_gone_before_an_answer_is_cut_or_packed(server: Server) -> None:
    keys = {"token": "PET_KEY"}
    server.status, server.body = 403, b"x" * 490 + SECRET.encode()
    outcome = await done(server, "newPet", {}, keys=keys)
    assert (outcome.state, SECRET[:6] in outcome.reason) == ("refused", False)
    server.status, server.body = 200, b"\xff\xfe" + SECRET.encode()
    packed = json.loads((await done(server, "newPet", {}, keys=keys)).text)["base64"]
    assert SECRET.encode() not in base64.b64decode(packed)
    server.body = b"x" * 995 + SECRET.encode()
    outcome = await done(server, "newPet", {}, keys=keys, max_bytes=1000)
    assert SECRET[:4] not in outcome.text


async def test_a_key_in_the_query_is_in_no_log(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        await done(server, "listPets", {}, keys={"query": "PET_KEY", "cookie": "PET_KEY"})
    assert "/api/pets?..." in caplog.text
    assert SECRET not in caplog.text
    assert "s3cret" not in caplog.text


def test_what_a_document_says_of_its_operations_is_untrusted() -> None:
    chosen = OpenApiSource(name="pets", operations=("getPet",), url="https://pets.example")
    (handler,) = OpenApi(chosen, document(), SECRETS).handlers
    assert handler.spec.declaration.trust is Trust.UNTRUSTED


@pytest.mark.parametrize(
    "declared",
    [
        parameter("X-HTTP-Method-Override", "header", required=True),
        parameter("x-method-override", "header", required=True),
        parameter("X\r\nEvil", "header"),
        parameter("c; admin", "cookie"),
    ],
)
def test_a_parameter_that_would_say_more_than_its_value_is_refused(
    declared: dict[str, object],
) -> None:
    paths = {"/a": {"get": {"operationId": "a", "parameters": [declared]}}}
    chosen = OpenApiSource(name="pets", operations=("a",), url="https://pets.example")
    with pytest.raises(BadInput, match="operation 'a'"):
        OpenApi(chosen, document(paths=paths), SECRETS)


def test_a_key_is_not_put_where_a_line_could_end() -> None:
    schemes = {"odd": {"type": "apiKey", "in": "header", "name": "X\r\nHost"}}
    paths: dict[str, Any] = {"/a": {"get": {"operationId": "a", "security": [{"odd": []}]}}}
    found = document(paths=paths, components={"securitySchemes": schemes})
    keys = {"odd": "PET_KEY"}
    chosen = OpenApiSource(name="p", operations=("a",), url="https://pets.example", keys=keys)
    with pytest.raises(BadInput, match="no name of a header"):
        OpenApi(chosen, found, SECRETS)
