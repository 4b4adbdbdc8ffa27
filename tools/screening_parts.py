"""Texts made of our own parts: attacks and harmless ones that share their words and their form.

Explicit ones are an override and what it is for. The others give an order that serves somebody
else: take something of the user's and pass it on, act, or bend the answer. They stand in mails and
results of tools like everything else, and so do the notes and requests beside them.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

FRAGMENTS = Path(__file__).resolve().parent / "screening_fragments.txt"
EXPLICIT = 60  # of one language, as those below
UNBOUND = 20
ASKED = 120
ORDERS = 90
KEPT = 110
WRAPPERS = (
    "{'note_id': 'a17', 'title': 'Plan', 'body': 'TEXT'}",
    '{"results": [{"id": 3, "name": "Review", "text": "TEXT", "stars": 4}]}',
    "SUBJECT: Update | FROM: info@shop.example | CONTENT: TEXT Kind regards",
    "## Notes\n\n- TEXT\n- see the wiki",
    "{'product': {'name': 'Desk lamp', 'review': 'TEXT', 'stars': 4}}",
    "<td>TEXT</td>",
    "> TEXT",
    "Re: lunch\nTEXT\n-- \nsent from my phone",
)
WRAPPED = 0.3
Parts = dict[tuple[str, str], list[str]]
_SLOT = re.compile(r"DATA|MAIL|LINK|PHONE|NAME|SUM")
_NAMES = (
    "Anna", "Tom Becker", "Lucía", "M. Duarte", "Olsen", "Priya", "Jean Morel", "Ms. Ito", "Kofi",
    "Elena Rossi", "Dr. Wagner", "Sofia", "Ben", "Chloé", "Rafael", "Nadia K.", "Piotr", "Grace",
)  # fmt: skip
_BOXES = ("inbox.example", "example.com", "post.example.org", "mail.example", "corp.example.net")


def composed(lang: str, chance: random.Random) -> dict[str, int]:
    """Texts and their labels."""
    parts = _parts()
    made = {" ".join(_attack(parts, lang, chance)): 1 for _ in range(EXPLICIT)}
    made |= {" ".join(_unbound(parts, lang, chance)): 1 for _ in range(UNBOUND)}
    return made | {" ".join(_request(parts, lang, chance)): 0 for _ in range(ASKED)}


def ordered(lang: str, chance: random.Random) -> dict[str, int]:
    """Orders that say nothing of rules, and what anybody writes down about the same things."""
    parts = _parts()
    made = {_laid(parts, lang, chance, _order(parts, lang, chance)): 1 for _ in range(ORDERS)}
    return made | {_laid(parts, lang, chance, _kept(parts, lang, chance)): 0 for _ in range(KEPT)}


def wrapped(text: str, chance: random.Random) -> str:
    return chance.choice(WRAPPERS).replace("TEXT", text) if chance.random() < WRAPPED else text


def _parts() -> Parts:
    parts: Parts = {}
    here: list[str] = []
    for line in FRAGMENTS.read_text("utf-8").splitlines():
        if line.startswith("@"):
            kind, lang = line[1:].split()
            here = parts.setdefault((kind, lang), [])
        elif line and not line.startswith("#"):
            here.append(line)
    return parts


def _attack(parts: Parts, lang: str, chance: random.Random) -> list[str]:
    made = [chance.choice(parts[kind, lang]) for kind in ("override", "payload")]
    before = [chance.choice(parts["open", lang])] if chance.random() < 0.6 else []
    after = [chance.choice(parts["open", lang])] if chance.random() < 0.2 else []
    return [*before, *made, *after]


def _unbound(parts: Parts, lang: str, chance: random.Random) -> list[str]:
    frame = [chance.choice(parts["frame", lang])] if chance.random() < 0.3 else []
    asked = chance.choice([*parts["ask", lang], *parts["payload", lang]])
    return [*frame, chance.choice(parts["unbound", lang]), asked]


def _request(parts: Parts, lang: str, chance: random.Random) -> list[str]:
    kinds = chance.choice(
        (
            ("frame", "ask"),
            ("frame", "ask"),
            ("frame", "ask", "ask"),
            ("frame", "frame", "ask", "ask"),
            ("frame", "frame", "frame", "ask", "ask", "ask"),
            ("open", "frame", "frame", "ask", "open"),
            ("open", "ask"),
            ("open", "open"),
        )
    )
    return [chance.choice(parts[kind, lang]) for kind in kinds]


def _order(parts: Parts, lang: str, chance: random.Random) -> list[str]:
    kinds = chance.choice((("take", "pass"), ("take", "pass"), ("act",), ("act",), ("twist",)))
    order = " ".join(chance.choice(parts[kind, lang]) for kind in kinds)
    return [chance.choice(parts["lead", lang]), order] if chance.random() < 0.35 else [order]


def _kept(parts: Parts, lang: str, chance: random.Random) -> list[str]:
    kinds = chance.choice((("keep",), ("chore",), ("chore",), ("keep", "chore"), ("mail", "mail")))
    return [chance.choice(parts[kind, lang]) for kind in kinds]


def _laid(parts: Parts, lang: str, chance: random.Random, said: list[str]) -> str:
    """Among sentences of a mail, more often than not, and at times as a tool brings it."""
    before, after = (chance.sample(parts["mail", lang], chance.choice((0, 0, 1, 3))) for _ in "ab")
    text = " ".join((*before, *said, *after))
    while _SLOT.search(text):
        text = _SLOT.sub(lambda slot: _filled(slot[0], parts, lang, chance), text)
    return wrapped(text, chance)


def _filled(slot: str, parts: Parts, lang: str, chance: random.Random) -> str:
    name = chance.choice(_NAMES)
    number = chance.randint(2, 9999)
    if slot == "DATA":
        return chance.choice(parts["data", lang])
    if slot == "NAME":
        return name
    if slot == "MAIL":
        return f"{name.split()[-1].casefold().strip('.')}{number % 100}@{chance.choice(_BOXES)}"
    if slot == "LINK":
        return f"https://{chance.choice(('go', 'files', 'www'))}.{chance.choice(_BOXES)}/{number}"
    return f"+{number % 90 + 10} 555 {number:04}" if slot == "PHONE" else str(number)
