"""The page on the JSON form of a request tells the truth."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

from mentis.codec import from_json, to_json  # as the page says
from mentis.codec.forms import schema_of
from mentis.codec.request_check import check_request
from mentis.values.request import PromptRequest

DOCS = Path(__file__).resolve().parents[2] / "docs/reference"
PAGE = (DOCS / "request.md").read_text("utf-8")


def example() -> PromptRequest:
    found = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return from_json(PromptRequest, found[1])


def test_every_field_is_described_in_its_order() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert listed == [field.name for field in fields(PromptRequest)]


def test_the_example_is_a_request_that_can_be_sent_and_survives_a_round_trip() -> None:
    request = check_request(example())
    written = to_json(request)
    assert from_json(PromptRequest, written) == request
    assert to_json(from_json(PromptRequest, written)) == written


def test_the_schema_in_the_repository_is_the_one_of_the_code() -> None:
    kept = json.loads((DOCS / "schemas/PromptRequest.schema.json").read_text("utf-8"))
    assert kept == schema_of(PromptRequest)
