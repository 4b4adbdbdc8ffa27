"""What each wire gets for each mode. A change here is read by a person before it is kept.

`UPDATE_GOLDEN=1 pytest tests/render/test_golden.py` writes them anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mentis.codec.forms import to_object
from mentis.render.wires import render_for

from .conftest import CASES, NATIVE, ROUTES, requests_for
from .oracle import validate
from .rules import problems

GOLDEN = Path(__file__).parent / "golden"
TYPED_CASES = [(wire, name) for wire, name in CASES if wire != "text"]


@pytest.mark.parametrize(("wire", "name"), CASES)
def test_the_payload_is_the_reviewed_one(wire: str, name: str) -> None:
    rendering = render_for(wire, requests_for(wire)[name], ROUTES[wire])
    shown = {
        "payload": json.loads(rendering.body()),
        "losses": [f"{loss.code}: {loss.message}" for loss in rendering.losses],
        "names": dict(rendering.name_map),
        "plan": [to_object(boundary) for boundary in rendering.cache_plan.boundaries],
    }
    text = json.dumps(shown, ensure_ascii=False, indent=1) + "\n"
    file = GOLDEN / f"{wire}.{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("wire", "name"), TYPED_CASES)
def test_the_payload_fits_the_sdk_types_and_breaks_no_rule(wire: str, name: str) -> None:
    payload = json.loads(render_for(wire, requests_for(wire)[name], ROUTES[wire]).body())
    validate(wire, payload)
    if wire in NATIVE:
        assert problems(wire, payload) == []


@pytest.mark.parametrize("name", list(requests_for("text")))
def test_the_text_is_smaller_than_the_indented_json_of_the_request(name: str) -> None:
    request = requests_for("text")[name]
    indented = json.dumps(to_object(request), ensure_ascii=False, indent=2)
    rendering = render_for("text", request, ROUTES["text"])
    assert len(rendering.body()) < len(indented.encode())
