"""A sense out of what somebody wrote down: JSON in a file, a line, an argument."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mentis.codec.forms import from_json
from mentis.errors import BadInput
from mentis.values.cognition import Sense
from mentis.values.trust import Trust

_HINT = 'for example {"text": "It rains."}'


def read_object(text: str | bytes) -> dict[str, object]:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"this is not JSON: {error}", hint=_HINT) from error
    if not isinstance(found, dict):
        raise BadInput("a sense is a JSON object", hint=_HINT)
    return cast("dict[str, object]", found)


def read_sense(given: Mapping[str, object], delivery: str, *, endpoint: str, trust: Trust) -> Sense:
    """With `kind` and `payload` it is a sense, else the payload of one. Who vouches for it, and
    what makes it the same one when it comes again, is not what it says itself.
    """
    if "trust" in given:
        raise BadInput(
            "a sense says itself whom it can be trusted by",
            hint="take `trust` out; --owner says that the senses are your own words",
        )
    if not {"kind", "payload"} <= given.keys():
        given = {"kind": "input", "payload": dict(given), "endpoint": endpoint}
    if "id" in given:
        raise BadInput("a sense that comes this way has no id of its own", hint="take `id` out")
    whole = {"endpoint": "", **given, "id": delivery, "trust": trust.value}
    try:
        written = json.dumps(whole)
    except RecursionError as error:
        raise BadInput("a sense is nested too deeply", hint="flatten the data") from error
    return from_json(Sense, written)
