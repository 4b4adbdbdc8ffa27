"""Attachments by ability: sent as they are, as the text in them, or as a true word about them."""

from __future__ import annotations

from base64 import b64encode

from mentis.errors import RenderError
from mentis.facts.ability import Abilities
from mentis.values.part import MediaPart
from mentis.values.rendering import Loss
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

from .draft import Media, Text
from .notices import closes_document, label, not_sent, notice, opens_document
from .wording import clean

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"\xff\xfb", "audio/mpeg"),
)
_ALIASES = {"audio/x-wav": "audio/wav", "audio/mp3": "audio/mpeg", "image/jpg": "image/jpeg"}


def lay_media(
    part: MediaPart, able: Abilities, stability: Stability, losses: list[Loss]
) -> Media | Text:
    """What stands in the payload for one attachment."""
    _check_source(part)
    mime = _real_mime(part, losses)
    refusal = _refusal(part, mime, able)
    if not refusal:
        data = "" if part.data is None else b64encode(part.data).decode("ascii")
        return Media(part, mime, data)
    told = _contained_text(part)
    if told is not None:
        losses.append(Loss("document-as-text", f"{label(part)} is sent as the text in it"))
        return _embedded(part, clean(told, losses), stability)
    losses.append(Loss("media-not-sent", f"{part.kind} {label(part)}: {refusal}"))
    why = f"{part.kind} not sent"
    return Text([notice(clean(not_sent(part, refusal), losses), stability, why=why)])


def _check_source(part: MediaPart) -> None:
    if part.data is not None or part.extracted:
        return
    if part.url:
        scheme = part.url.partition(":")[0].lower()
        if scheme in ("http", "https"):
            return
        raise RenderError(
            f"{part.kind} {label(part)}: an address that begins with {scheme!r} is not sent",
            hint="give an https address, or the bytes themselves",
        )
    hint = "read the file and give its bytes" if part.path else "give its bytes or its address"
    raise RenderError(f"{part.kind} {label(part)} has no bytes here", hint=hint, path=part.path)


def _real_mime(part: MediaPart, losses: list[Loss]) -> str:
    """What the first bytes say, where they say something; a file may lie about its type."""
    data = part.data or b""
    found = next((mime for magic, mime in _MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF":
        found = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12], "")
    mime = part.mime.lower()
    mime = _ALIASES.get(mime, mime)
    if found and found != mime:
        message = f"{label(part)} says it is {part.mime!r}, and its bytes are {found}"
        losses.append(Loss("media-type", message))
    return found or mime


def _refusal(part: MediaPart, mime: str, able: Abilities) -> str:
    """Why the model cannot have it; empty when it can."""
    if part.data is None and part.url and not able.media_urls:
        return "this model fetches nothing from addresses"
    if part.data is None and not part.url:
        return "only its text was kept"
    match part.kind:
        case "image":
            return _unless(able.vision, "this model cannot see images") or _unless(
                mime in able.image_types or part.data is None, f"it cannot read {mime}"
            )
        case "audio":
            return _unless(able.audio, "this model cannot hear") or _unless(
                mime in able.audio_types and part.data is not None,
                f"it cannot take {mime}",
            )
        case "document":
            return _unless(able.documents, "this model takes no documents") or _unless(
                mime == "application/pdf", f"it cannot read {mime}"
            )


def _unless(fine: bool, reason: str) -> str:
    return "" if fine else reason


def _contained_text(part: MediaPart) -> str | None:
    if part.kind != "document":
        return None
    if part.extracted:
        return part.extracted
    if part.data is None or not part.mime.startswith(("text/", "application/json")):
        return None
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        return None


def _embedded(part: MediaPart, text: str, stability: Stability) -> Text:
    body = Span(text, source=f"document {label(part)}", trust=Trust.UNTRUSTED, stability=stability)
    opening = notice(opens_document(part), stability, why="document text")
    return Text([opening, body, notice(closes_document(part), stability, why="document text")])
