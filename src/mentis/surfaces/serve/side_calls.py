"""Recognises what front ends ask beside a conversation: titles, tags, questions to go on with."""

from __future__ import annotations

from mentis.facts.side_calls import SidePrompt
from mentis.facts.side_calls import side_kind as kind_of

from .requests import ClientRequest


def side_kind(request: ClientRequest) -> str:
    """The kind of a side call; "" for what belongs to a conversation. One that offers tools is a
    turn: here they are ours to run.
    """
    if request.tools or not request.turns:
        return ""
    words, instructions = (request.turns[-1].text,), (request.instructions,)
    limit = request.options.max_tokens
    return kind_of(SidePrompt(words, instructions, max_tokens=limit))
