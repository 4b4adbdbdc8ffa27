"""Which of the owner's keys an operation needs, and where each goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from mentis.errors import ActFailed
from mentis.ports.secrets import Secrets
from mentis.values.json import JsonObject

from .document import Document, Operation
from .plan import TOKEN
from .wire import OutgoingRequest

_NO_KEY: JsonObject = {}


@dataclass(frozen=True, slots=True)
class Key:
    """`secret` is the name it has with the owner; what it says never stands in a value."""

    secret: str
    place: Literal["header", "query", "cookie"]
    name: str
    prefix: str = ""


def keys_for(
    document: Document, operation: Operation, secrets: Mapping[str, str]
) -> tuple[Key, ...]:
    """`secrets` says, for a security scheme of the document, what the secret is called.

    Of several ways in, the first counts that all keys are there for.
    """
    wanted = operation.content.get("security", document.root.get("security"))
    listed = cast("list[object]", wanted) if isinstance(wanted, list) else []
    ways = [document.resolve(way) for way in listed] or [_NO_KEY]
    for way in ways:
        if all(name in secrets for name in way):
            return tuple(_key(document, name, secrets[name]) for name in way)
    needed = ", or ".join(" and ".join(way) for way in ways)
    raise document.refusal(
        f"operation {operation.id!r} needs a key for {needed}",
        "say which secret that is: keys = {SCHEME = NAME OF THE VARIABLE}",
    )


def fill_in(sent: OutgoingRequest, keys: tuple[Key, ...], secrets: Secrets) -> tuple[str, ...]:
    """Put the keys where they belong; what they are comes back, to keep it out of every text."""
    told: list[str] = []
    for key in keys:
        secret = (secrets.get(key.secret) or "").strip()
        if not secret or not secret.isascii() or not secret.isprintable():
            wrong = "holds characters that no key has" if secret else "is not set"
            raise ActFailed(f"the key in {key.secret} {wrong}", hint=f"export {key.secret}=...")
        told.append(secret)
        match key.place:
            case "header":
                sent.headers[key.name] = f"{key.prefix}{secret}"
            case "query":
                sent.query = [pair for pair in sent.query if pair[0] != key.name]
                sent.query.append((key.name, secret))
            case "cookie":
                sent.cookies[key.name] = secret
    return tuple(told)


def _key(document: Document, name: str, secret: str) -> Key:
    scheme = document.resolve(document.at(f"#/components/securitySchemes/{name}"))
    kind, place, field = scheme.get("type"), scheme.get("in"), scheme.get("name")
    if place in ("header", "cookie") and not TOKEN.fullmatch(str(field)):
        raise document.refusal(f"{field!r:.80} is no name of a {place}", "mend it")
    if kind == "apiKey" and place in ("header", "query", "cookie") and isinstance(field, str):
        return Key(secret, place, field)
    if kind == "http" and str(scheme.get("scheme")).lower() == "basic":
        return Key(secret, "header", "Authorization", "Basic ")
    if kind in ("http", "oauth2", "openIdConnect"):
        return Key(secret, "header", "Authorization", "Bearer ")
    raise document.refusal(f"security scheme {name!r} is of a kind that is not known", "mend it")
