"""Character cards as files, made by hand here: the same bytes on every machine."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping

CARD: dict[str, object] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Seraphina",
        "description": "{{char}} guards the glade and calls {{user}} traveller.",
        "personality": "kind, {{random:calm,quiet}}",
        "scenario": "<USER> wakes in her glade.",
        "first_mes": "*She smiles at {{user}}.*",
        "mes_example": "<START>\n{{user}}: Who are you?\n{{char}}: The guardian.\nOf this glade.\n",
        "creator_notes": "Made for a test.",
        "system_prompt": "{{original}} Write as {{char}}. {{// a remark}}{{whatever}}",
        "post_history_instructions": "It is {{time}}: stay in the scene.",
        "alternate_greetings": ["Rain falls on {{user}}."],
        "tags": ["forest"],
        "creator": "somebody",
        "character_version": "1",
        "extensions": {
            "fav": True,
            "regex_scripts": [
                {"scriptName": "Bold", "findRegex": "/x/g", "replaceString": "**x**"}
            ],
        },
    },
    "of_another_program": {"kept": 1},
}


def chunk(kind: bytes, body: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + check


def png(*texts: bytes) -> bytes:
    """A picture of one pixel, with these chunks in it."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\x10\x20\x30")
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", pixel), *texts, chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def card_png(card: Mapping[str, object] = CARD, keyword: bytes = b"chara") -> bytes:
    packed = base64.b64encode(json.dumps(card).encode())
    return png(chunk(b"tEXt", keyword + b"\x00" + packed))


def charx(card: Mapping[str, object] = CARD, members: Mapping[str, bytes] | None = None) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", json.dumps(card))
        for name, data in (members or {}).items():
            archive.writestr(name, data)
    return held.getvalue()
