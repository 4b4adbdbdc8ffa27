"""Approvals in the owner's private room: what is shown of an act, and what the owner says to it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mentis.values.act import WaitingAct
from mentis.values.channel import RoomButton

from .notices import notice

_YES, _NO = ("yes", "ja", "oui", "sim", "sí", "si"), ("no", "nein", "non", "não", "nao")
_SHORTEST, _MOST_SHOWN = 4, 3000
_SAID = "|".join((*_YES, *_NO))
_WORDS = re.compile(rf"\s*({_SAID})\s+([0-9a-f]{{{_SHORTEST},64}})\s*", re.IGNORECASE)
_BUTTON = re.compile(r"(yes|no):([0-9a-f]{4,58})")


@dataclass(frozen=True, slots=True)
class OwnerDecision:
    """A yes or no, to the act whose key begins like this."""

    key: str
    yes: bool


def read_words(text: str) -> OwnerDecision | None:
    """`yes 3fa0` or `no 3fa0`, in any of the languages; None for everything else."""
    found = _WORDS.fullmatch(text)
    return OwnerDecision(found[2].lower(), found[1].lower() in _YES) if found else None


def read_button(data: str) -> OwnerDecision | None:
    found = _BUTTON.fullmatch(data)
    return OwnerDecision(found[2], found[1] == "yes") if found else None


def short_key(key: str, others: Sequence[str]) -> str:
    """As much of a key as tells it apart from the others that wait."""
    for length in range(_SHORTEST, len(key)):
        if sum(one.startswith(key[:length]) for one in others) <= 1:
            return key[:length]
    return key


def shown_act(act: WaitingAct) -> str:
    """Everything a yes is to: name, place, values, and why it is asked. A longer one is not cut
    silently: `mentis acts show` has it whole.
    """
    payload = json.dumps(dict(act.call.action.payload), ensure_ascii=False, indent=1)
    lines = [act.call.action.type + (f" ({act.where})" if act.where else ""), payload]
    lines += [act.decision.reason] if act.decision.reason else []
    text = "\n".join(lines)
    if len(text) <= _MOST_SHOWN:
        return text
    return f"{text[:_MOST_SHOWN]} [...]\nmentis acts show {act.call.key}"


def offer_text(act: WaitingAct, language: str, short: str) -> str:
    return notice(language, "offer", act=shown_act(act), key=short)


def offer_buttons(act: WaitingAct, language: str) -> tuple[RoomButton, RoomButton]:
    key = act.call.key
    return (
        RoomButton(notice(language, "yes"), f"yes:{key}"),
        RoomButton(notice(language, "no"), f"no:{key}"),
    )
