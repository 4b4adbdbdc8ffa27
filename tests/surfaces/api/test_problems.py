"""What is wrong with a request is said in one form, and names the field."""

from __future__ import annotations

import pytest
from tests.surfaces.api.api_home import PERSONA, ApiClient, ApiHome

TURNS = f"/personas/{PERSONA}/sessions/main/turns"


def test_a_wrong_token_and_none_are_told_apart_from_a_path_that_is_not_there(
    api: ApiHome, owner: ApiClient
) -> None:
    wrong = ApiClient(api.served.url, "mts_nobody_x")
    assert wrong.get("/personas").json()["code"] == "access-denied"
    assert api.nobody().get("/nowhere").status_code == 401
    found = owner.get("/nowhere")
    assert (found.status_code, found.headers["content-type"]) == (404, "application/problem+json")
    assert owner.get("/personas/nobody").status_code == 404


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "TRACE"])
def test_a_method_that_a_path_has_not_is_refused_with_those_it_has(
    owner: ApiClient, method: str
) -> None:
    found = owner.call(method, "/personas")
    assert (found.status_code, found.headers["allow"]) == (405, "GET, POST")
    assert found.json()["code"] == "request-refused"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 400, ""),
        (b"[]", 422, ""),
        (b"\xff", 400, ""),
        (b'{"text": "a", "text": "b"}', 400, ""),
        (b'{"text": "\\ud800"}', 400, ""),
        (b'{"text": 1}', 422, "text"),
        (b'{"txt": "Hello"}', 422, "txt"),
        (b'{"text": "a", "attachments": [{"data": "!"}]}', 422, "attachments[0]"),
        (b'{"text": "a", "route": "nowhere"}', 422, "route"),
        (b"{}", 422, "text"),
    ],
)
def test_a_body_that_cannot_be_taken_is_refused_with_the_field(
    owner: ApiClient, body: bytes, status: int, field: str
) -> None:
    found = owner.call("POST", TURNS, body, content_type="application/json")
    assert found.status_code == status, found.text
    problem = found.json()
    assert problem["status"] == status
    assert problem["facts"].get("field", "") == field
    assert problem["hint"]


def test_a_body_of_another_type_is_not_read(owner: ApiClient) -> None:
    assert owner.call("POST", TURNS, b"text=Hi", content_type="text/plain").status_code == 415


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "lmit=1", "cursor=x"]
)
def test_a_parameter_that_cannot_be_taken_is_refused_with_its_name(
    owner: ApiClient, query: str
) -> None:
    found = owner.get(f"/prompts/blocks?{query}")
    assert found.status_code == 422
    assert found.json()["facts"]["field"] == query.split("=", maxsplit=1)[0]


def test_secrets_are_no_settings(owner: ApiClient) -> None:
    path = "/settings/profile.name"
    secret = {"value": "sk-ant-api03-" + "a1B2c3D4" * 12}
    found = owner.call("PUT", path, secret, tag="*")
    assert found.status_code == 400
    assert "secret" in found.json()["detail"]


def test_a_setting_counts_from_the_next_request_on(owner: ApiClient) -> None:
    path = "/settings/routes.default.max_tokens"
    made = owner.call("PUT", path, {"value": 77}, tag=owner.tag(path))
    assert made.status_code == 200, made.text
    assert owner.get(path).json()["value"] == 77
    here = f"/personas/{PERSONA}/sessions/main/render"
    assert "77" in str(owner.post(here).json()["payload"])
    assert owner.call("PUT", path, {"value": -1}, tag="*").status_code == 422


def test_a_setting_is_found_by_an_older_name_and_written_by_the_one_of_now(
    owner: ApiClient,
) -> None:
    old, now = "/settings/features.experimentalMode", "/settings/features.experimental_variant"
    made = owner.call("PUT", old, {"value": False}, tag=owner.tag(old))
    assert made.json()["key"] == "features.experimental_variant"
    assert owner.get(old).json() == owner.get(now).json()
    assert owner.get("/setting-notices").json() == []
    refused = owner.call("PUT", "/settings/run.poll", {"value": 5}, tag="*")
    assert (refused.status_code, "no setting any more" in refused.json()["detail"]) == (422, True)
