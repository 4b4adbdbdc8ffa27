"""Posts requests of spans to an OTLP/HTTP receiver, one after the other. It blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote, urlsplit, urlunsplit

from mentis.errors import SettingsError, StoreError
from mentis.net.client import open_blocking_client
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.values.json import json_object

# The variables of OpenTelemetry's own exporters; the second counts more.
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
_TRACES = "/v1/traces"
_SECONDS = 30.0
_GOOD = 300
_MOST_SAID = 200  # characters of a refusal


@dataclass(frozen=True, slots=True)
class PostedSpans:
    """`rejected` spans were not taken by the receiver; `why` is in its words."""

    requests: int
    rejected: int = 0
    why: str = ""


def traces_address(url: str) -> str:
    """The address itself, or, where it is a bare server, its usual path for spans."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=_TRACES)) if parts.path in ("", "/") else url


def headers_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Those that OpenTelemetry's variables give: `name=value,name=value`, percent-encoded."""
    found: dict[str, str] = {}
    for variable in HEADERS:
        for one in filter(None, map(str.strip, environ.get(variable, "").split(","))):
            name, equals, value = one.partition("=")
            text = unquote(value).strip()
            if not equals or not name.strip() or not f"{name}{text}".isascii():
                raise SettingsError(
                    f"{variable} is not written as name=value,name=value",
                    hint="percent-encode what stands in it: authorization=Bearer%20...",
                )
            found[name.strip().lower()] = text
    return found


def post_spans(url: str, requests: Iterable[bytes], headers: Mapping[str, str]) -> PostedSpans:
    """RouteError for an address that must not be called, StoreError where it does not take them:
    what came before that is there, and sending it again changes nothing.
    """
    import httpx2

    address = traces_address(url)
    check_target(address, with_key=bool(headers))
    outside, sent, rejected, why = not is_loopback(host_of(address)), 0, 0, ""
    plain = {**headers, "content-type": "application/json"}
    with open_blocking_client(seconds=_SECONDS, through_proxy=outside) as client:
        for body in requests:
            try:
                answer = client.post(address, content=body, headers=plain)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise _not_taken(address, f"does not answer: {error}", sent) from error
            if answer.status_code >= _GOOD:
                said = answer.text[:_MOST_SAID].strip()
                raise _not_taken(address, f"answered {answer.status_code} {said}".strip(), sent)
            count, words = _partial(answer.content)
            sent, rejected, why = sent + 1, rejected + count, words or why
    return PostedSpans(sent, rejected, why)


def _partial(content: bytes) -> tuple[int, str]:
    """What a receiver says that it did not take; one that says nothing took everything."""
    try:
        told = json_object(json_object(json.loads(content)).get("partialSuccess"))
        count = int(cast("int", told.get("rejectedSpans", 0)))  # a number of 64 bits may be a text
    except (ValueError, TypeError):
        return 0, ""
    return count, str(told.get("errorMessage", ""))[:_MOST_SAID]


def _not_taken(address: str, what: str, sent: int) -> StoreError:
    return StoreError(
        f"{address} {what}",
        hint=f"{sent} requests were taken before; the same spans sent again are the same spans",
        sent=sent,
    )
