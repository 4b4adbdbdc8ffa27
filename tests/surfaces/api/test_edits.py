"""Edits over HTTP: whoever knows an older state is refused, and told what to do."""

from __future__ import annotations

from tests.surfaces.api.api_home import ApiClient

BLOCK = "/prompts/blocks/style"


def test_the_slower_of_two_writers_is_refused_and_nothing_of_theirs_is_written(
    owner: ApiClient,
) -> None:
    tag = owner.tag(BLOCK)
    first = owner.call("PATCH", BLOCK, {"text": "Be brief."}, tag=tag)
    assert first.status_code == 200, first.text
    second = owner.call("PATCH", BLOCK, {"text": "Be long."}, tag=tag)
    assert second.status_code == 412
    problem = second.json()
    assert (problem["code"], problem["status"]) == ("request-refused", 412)
    assert "GET it again" in problem["hint"]
    now = owner.get(BLOCK)
    assert now.json()["variants"]["default"]["content"] == "Be brief."
    assert now.headers["etag"] == first.headers["etag"] == problem["facts"]["current"]


def test_an_edit_that_does_not_say_what_it_knows_is_refused(owner: ApiClient) -> None:
    made = owner.call("PATCH", BLOCK, {"text": "Be brief."})
    assert made.status_code == 428
    assert "If-Match" in made.json()["detail"]


def test_what_has_not_changed_is_not_sent_again(owner: ApiClient) -> None:
    tag = owner.tag(BLOCK)
    assert owner.get(BLOCK, if_none_match=tag).status_code == 304
