"""The answer of an HTTP server as an outcome: which state, and which text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mentis.act.returned import text_of_bytes
from mentis.net.redact import redact
from mentis.values.action import OutcomeState

_TOLD = ("content-type", "content-length", "last-modified", "etag", "location")
_MOST_SAID = 500


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """`whole` is False when there was more than may be read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


async def read_answer(pieces: AsyncIterator[bytes], most: int) -> tuple[bytes, bool]:
    """At most so many bytes, and whether that was all."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > most:
            return bytes(body[:most]), False
    return bytes(body), True


def without(answer: ApiAnswer, secrets: Sequence[str]) -> ApiAnswer:
    """Before anything is cut or packed: a part of a secret is not known as one."""
    # Latin-1 carries every byte through unchanged; secrets are ASCII.
    body = redact(answer.body.decode("latin-1"), secrets).encode("latin-1")
    if not answer.whole and secrets:  # what was cut off may have been the rest of one
        body = body[: -6 * max(map(len, secrets))]
    headers = {name: redact(value, secrets) for name, value in answer.headers.items()}
    return replace(answer, headers=headers, body=body)


def state_of(status: int, *, repeatable: bool) -> OutcomeState:
    """`repeatable`: doing it again would do no harm, so that a failure leaves nothing open."""
    if 200 <= status < 300:
        return "done"
    if status in (400, 422):
        return "invalid"
    if status in (408, 425, 429) or status < 400:
        return "unavailable"
    if status < 500:
        return "refused"
    return "unavailable" if repeatable else "unknown"


def text_in(answer: ApiAnswer, method: str) -> str:
    """The body; where there is none, what the answer says about itself, as JSON."""
    text = text_of_bytes(answer.body if answer.whole else _at_a_letter(answer.body))
    if not answer.whole:
        return f"{text}\n{json.dumps({'cut': True, 'bytes_read': len(answer.body)})}"
    if text and method != "head":
        return text
    told = {name: answer.headers[name] for name in _TOLD if name in answer.headers}
    return json.dumps({"status": answer.status, **told})


def reason_in(answer: ApiAnswer) -> str:
    """Why it was not done, with the server's own words as far as they can be read."""
    said = " ".join(text_of_bytes(_at_a_letter(answer.body[:_MOST_SAID])).split())
    later = answer.headers.get("retry-after", "")
    told = f"HTTP {answer.status}{f', try again after {later[:40]}' if later else ''}"
    if 300 <= answer.status < 400:
        return f"{told}: redirects are not followed"
    return f"{told}: {said}" if said else told


def _at_a_letter(content: bytes) -> bytes:
    """Cut where a letter ends, if it is UTF-8 at all."""
    for end in range(len(content), max(len(content) - 4, 0), -1):
        try:
            content[:end].decode()
        except UnicodeDecodeError:
            continue
        return content[:end]
    return content
