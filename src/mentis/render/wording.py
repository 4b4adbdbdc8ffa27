"""Text and arguments as JSON can say them; what it cannot say is replaced and noted, or refused."""

from __future__ import annotations

import json
from typing import cast

from mentis.errors import RenderError
from mentis.values.json import JsonObject
from mentis.values.rendering import Loss


def clean(text: str, losses: list[Loss]) -> str:
    """Without halves of characters, which UTF-8 cannot say."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        losses.append(Loss("bad-text", "half a character was replaced by U+FFFD"))
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def sayable(arguments: JsonObject, name: str, losses: list[Loss]) -> tuple[JsonObject, str]:
    """The arguments as an object and as a text, both of which can be sent."""
    try:
        text = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise RenderError(
            f"the arguments of an earlier call of {name!r} cannot be written as JSON: {error}",
            hint="they are stored in the conversation: drop or correct that turn",
            tool=name,
        ) from error
    cleaned = clean(text, losses)
    if cleaned is text:
        return arguments, text
    return cast("JsonObject", json.loads(cleaned)), cleaned
