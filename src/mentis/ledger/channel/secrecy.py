"""Keeps keys of the home out of the record, which stays: a draft that holds one is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mentis.errors import BadInput
from mentis.net.redact import redact
from mentis.values.entry import Draft

# A shorter one may be an ordinary word, such as the key of a server on one's own machine.
LEAST = 12


def refuse_keys(draft: Draft, keys: Mapping[str, str]) -> None:
    """BadInput when a draft, its source or its delivery holds one of the keys.

    They are given by what they are called: that is told, and never the key.
    """
    told = (json.dumps(draft.body, ensure_ascii=False), draft.source, draft.delivery or "")
    text = "\n".join(told) if keys else ""
    for name, key in keys.items():
        if len(key) >= LEAST and redact(text, [key]) != text:
            raise BadInput(
                f"the draft holds {name}, and what is recorded stays",
                hint="take it out; make a new key if others could read the draft",
                secret=name,
            )
