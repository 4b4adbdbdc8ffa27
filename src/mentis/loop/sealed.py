"""A sense that the program itself puts back into the folder of its agent: under the home's seal it
comes again as it was, with who vouched for it then. Nobody else can write such a file.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from mentis.codec.forms import from_json, to_json, to_object
from mentis.errors import BadInput
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject

SEAL = "seal"
_PURPOSE = b"mentis-sense-again"


@dataclass(frozen=True, slots=True)
class Seals:
    """Those of one agent; without a secret there are none."""

    agent: str
    secret: bytes

    def of(self, sense: Sense) -> str:
        """Of all it says; the id is the delivery, which is another one each time."""
        if not self.secret:
            return ""
        content = to_json(replace(sense, id=""))
        told = b"\0".join((_PURPOSE, self.agent.encode(), content))
        return hmac.new(self.secret, told, sha256).hexdigest()

    def holds(self, sense: Sense, seal: str) -> bool:
        ours = self.of(sense)
        return bool(ours) and hmac.compare_digest(ours.encode(), seal.encode(errors="replace"))

    def sealed_form(self, sense: Sense) -> JsonObject:
        """As it lies in the folder."""
        told = to_object(replace(sense, id=""))
        return {**{name: one for name, one in told.items() if name != "id"}, SEAL: self.of(sense)}

    def read(self, given: Mapping[str, object], delivery: str) -> Sense:
        """BadInput if it was not written like this by us."""
        told = {name: one for name, one in given.items() if name != SEAL}
        try:
            sense = from_json(Sense, json.dumps({**told, "id": ""}))
        except RecursionError as error:
            raise BadInput("a sense is nested too deeply", hint="flatten the data") from error
        if not self.holds(sense, str(given[SEAL])):
            raise BadInput("the seal on it is not this home's", hint="take `seal` and `trust` out")
        return replace(sense, id=delivery)
