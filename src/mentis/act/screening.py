"""Screening of results: what a tool says is looked at when it arrives. It fails closed.

What would be dropped is withheld: the whole is kept apart for the owner, and the model is told that
there is something, in words of ours alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from mentis.codec.document_text import with_document_text
from mentis.errors import MentisError
from mentis.ports.screener import Screener
from mentis.values.action import Outcome
from mentis.values.cognition import Screening
from mentis.values.digest import Digest
from mentis.values.trust import Trust

NOBODY = "nobody could look at it: there is no screener"
_LOOK = "mentis acts result "
_WITHHELD = re.compile(
    rf'^\{{"withheld": "screening".*"owner": "{_LOOK}(\S{{1,200}})"\}}\Z', re.MULTILINE
)


def is_outside(outcome: Outcome) -> bool:
    """Not from the owner, the harness or the agent itself; nothing to say needs no look."""
    said = outcome.text or outcome.reason or outcome.media
    return outcome.trust.rank > Trust.SELF.rank and bool(said)


def screen_outcome(screener: Screener | None, outcome: Outcome) -> Outcome:
    """With the verdict on its words, those of its documents too; as it is where nobody from outside
    has said any. It blocks.

    A verdict that it has already is that of a built-in act on what it found.
    """
    if outcome.media:
        outcome = replace(outcome, media=tuple(map(with_document_text, outcome.media)))
    if not is_outside(outcome) or outcome.screening is not None:
        return outcome
    words = "\n".join(filter(None, (outcome.reason, outcome.text, *_media_words(outcome))))
    return replace(outcome, screening=_look(screener, words, outcome.source))


def _media_words(outcome: Outcome) -> Iterator[str]:
    """What can be read of a picture or document without looking at it."""
    for part in outcome.media:
        yield part.name
        yield part.extracted


def withheld_text(outcome: Outcome, size: int, blob: Digest) -> str:
    """One line of JSON, which a model reads in any language; nothing in it is the tool's."""
    category = "" if outcome.screening is None else outcome.screening.category
    told: dict[str, object] = {"withheld": "screening", "category": category, "bytes": size}
    look = f"{_LOOK}{outcome.key}" if blob and outcome.key else ""
    return json.dumps({name: one for name, one in {**told, "owner": look}.items() if one != ""})


def withheld_key(text: str) -> str:
    """The key of the act whose result this text of ours stands for; nothing, if it does not."""
    found = _WITHHELD.search(text)
    return found[1] if found else ""


def is_withheld(outcome: Outcome) -> bool:
    return outcome.screening is not None and outcome.screening.outcome == "dropped"


def _look(screener: Screener | None, words: str, source: str) -> Screening:
    if screener is None:
        return Screening("dropped", NOBODY)
    try:
        said = screener.screen(words, source=source)
    except MentisError as error:
        return Screening("dropped", f"the screener failed: {error.message}")
    except Exception as error:  # noqa: BLE001  # whatever it is, it must not let the text through
        return Screening("dropped", f"the screener failed: {type(error).__name__}")
    # Scores depend on the machine they were worked out on: the record keeps what they came to.
    return Screening(said.outcome, said.reason, said.category, said.span, skipped=said.skipped)
