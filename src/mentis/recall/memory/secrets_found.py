"""Looks for what should not be in a memory at all: keys, tokens, passwords."""

from __future__ import annotations

import re

# Name: what it looks like. Only what can hardly be anything else. No pattern may be tried at many
# places of a word with the whole rest of it before each: a long text has to take its length.
_PATTERNS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_\w{22,}\b"),
    "a provider's API key": re.compile(r"\bsk-[A-Za-z0-9_-]{20,}\b|\bAIza[0-9A-Za-z_-]{35}\b"),
    "a chat service's token": re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{10,}\b"),
    "a signed token": re.compile(
        r"(?<![\w-])(?:(?!\beyJ)[\w-])*+eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8}"
    ),
    "a password in an address": re.compile(r"(?<=[a-z0-9+.-])://[^\s/:@]++:[^\s/@]{3,}+@"),
    "a password": re.compile(
        r"\b(?:password|passwd|passwort|contraseña|senha|mot de passe|api[_ -]?key|secret|token)"
        r"\s*(?:is|ist|es|est|é|[:=])\s*[\"']?(?=\S{0,128}?\d)\S{8}",
        re.IGNORECASE,
    ),
}
_CARD = re.compile(r"(?<![\d.])(?:\d[ -]?){13,19}(?![\d.])")


def secrets_in(text: str) -> tuple[str, ...]:
    """What they are, never what they say."""
    found = [name for name, pattern in _PATTERNS.items() if pattern.search(text)]
    if any(_is_card(match[0]) for match in _CARD.finditer(text)):
        found.append("a card number")
    return tuple(found)


def _is_card(text: str) -> bool:
    digits = [int(sign) for sign in text if sign.isdigit()]
    if len(set(digits)) < 2 or not 13 <= len(digits) <= 19:
        return False
    doubled = (digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
