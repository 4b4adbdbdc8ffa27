"""One recorded exchange: the bytes that went out and came back, without secrets, as a file."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from mentis.errors import BadInput

FORMAT = 1
# Headers of an answer that a replay needs or a person looks for. No other one is kept.
_HEADERS = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-request-id", "request-id"}
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """`digest` is of the body as it was sent. `whole` tells whether the answer came to its end."""

    backend: str
    model: str
    url: str
    digest: str
    request: bytes
    status: int
    answer: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    whole: bool = True


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() in _HEADERS}


def to_file(exchange: Exchange) -> bytes:
    """The file of an exchange: JSON that a person can read and a diff can show."""
    form = {
        "format": FORMAT,
        "backend": exchange.backend,
        "model": exchange.model,
        "url": exchange.url,
        "digest": exchange.digest,
        "request": _text(exchange.request),
        "status": exchange.status,
        "headers": dict(exchange.headers),
        "answer": _text(exchange.answer),
        "whole": exchange.whole,
    }
    return (json.dumps(form, ensure_ascii=False, indent=1) + "\n").encode()


def from_file(data: bytes, name: str) -> Exchange:
    try:
        form = cast("dict[str, object]", json.loads(data))
        if form["format"] != FORMAT:
            raise BadInput(
                f"{name}: this recording has format {form['format']}, and {FORMAT} is known",
                hint="use the version of Mentis that made it",
            )
        return Exchange(
            backend=str(form["backend"]),
            model=str(form["model"]),
            url=str(form["url"]),
            digest=str(form["digest"]),
            request=_bytes(form["request"]),
            status=int(cast("int", form["status"])),
            answer=_bytes(form["answer"]),
            headers=cast("dict[str, str]", form["headers"]),
            whole=bool(form["whole"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(
            f"{name}: this is no recording of an exchange: {error!r}",
            hint="remove the file, or record it again",
            file=name,
        ) from error


def _text(data: bytes) -> object:
    """Text where it is text; what is not UTF-8 goes in as base64, so that no byte is lost."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(form: object) -> bytes:
    if isinstance(form, str):
        return form.encode()
    return base64.b64decode(cast("dict[str, str]", form)["base64"], validate=True)
