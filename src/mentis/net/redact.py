"""Keeps secrets out of everything that is shown or stored."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

MARK = "[redacted]"
_SHORTEST = 6  # anything shorter would also strike out ordinary words
# What keys look like, of providers and of what agents meet beside them, wherever they turn up in a
# recording: also our own tokens. How each begins, and what follows.
_KEYS = {
    "sk-": r"[A-Za-z0-9_-]{16,}",
    "AIza": r"[0-9A-Za-z_-]{30,}",
    "ya29.": r"[A-Za-z0-9_-]{20,}",
    "gsk_": r"[A-Za-z0-9]{30,}",
    "hf_": r"[A-Za-z0-9]{30,}",
    "xai-": r"[A-Za-z0-9]{30,}",
    "pplx-": r"[A-Za-z0-9]{30,}",
    **{f"gh{kind}_": r"[A-Za-z0-9]{30,}" for kind in "pousr"},
    "github_pat_": r"[A-Za-z0-9_]{30,}",
    "glpat-": r"[A-Za-z0-9_-]{20,}",
    "npm_": r"[A-Za-z0-9]{36}",
    "xox": r"[abeprs]-[A-Za-z0-9-]{16,}",
    "AKIA": r"[0-9A-Z]{16}\b",
    "ASIA": r"[0-9A-Z]{16}\b",
    "mts_": r"[a-z0-9_-]{1,64}_[A-Za-z0-9_-]{43}",
}
# After a word that says so, and private keys as files hold them.
_TOLD = {
    "earer ": r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}",
    "PRIVATE KEY-----": r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]{0,20000}",
}
_SHAPES = re.compile(
    "|".join((*(rf"\b{re.escape(sign)}{rest}" for sign, rest in _KEYS.items()), *_TOLD.values()))
)
# None of these, no key: to look for them takes a fraction of the time.
_SIGNS = (*_KEYS, *_TOLD)


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret replaced; the longest first, so that none shows in part."""
    return _without(text, secret_forms(secrets))


def secret_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """All that is replaced, the longest first; worked out once where much is looked through."""
    forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
    return tuple(sorted(forms, key=len, reverse=True))


def _without(text: str, forms: Iterable[str]) -> str:
    for form in forms:
        text = text.replace(form, MARK)
    return text


def _forms(secret: str) -> Iterator[str]:
    """As it is, and as it stands in an address, in JSON, and in basic authentication."""
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret)[1:-1].replace("/", r"\/")
    yield base64.b64encode(secret.encode()).decode()


def redact_bytes(data: bytes, secrets: Iterable[str]) -> bytes:
    """The same for what is stored: known secrets, and everything shaped like a key."""
    return redact_forms(data, secret_forms(secrets))


def is_plain(text: str, forms: Iterable[str]) -> bool:
    """Whether nothing in a text, or in any that says the same words between quotes, is a secret or
    looks like one. False also where that cannot be told by parts of it.
    """
    return not any('"' in form or not form.isascii() or form in text for form in forms) and not any(
        sign in text for sign in _SIGNS
    )


def redact_forms(data: bytes, forms: Iterable[str]) -> bytes:
    """As `redact_bytes` does it, with `secret_forms`."""
    # Latin-1 carries every byte through unchanged, valid UTF-8 or not; keys are ASCII.
    text = _without(data.decode("latin-1"), forms)
    if any(sign in text for sign in _SIGNS):
        text = _SHAPES.sub(MARK, text)
    return text.encode("latin-1")
