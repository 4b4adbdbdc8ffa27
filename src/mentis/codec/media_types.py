"""The media type of some bytes, by the bytes themselves; names and claims come second."""

from __future__ import annotations

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/avi"}
# The brand of an ISO media file; one we do not know is taken for a film.
_BRANDS = {
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
}
_ALIASES = {
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/x-m4a": "audio/mp4",
    "image/jpg": "image/jpeg",
}
_SUFFIXES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "xml": "text/xml",
    "json": "application/json",
}


def type_of(data: bytes) -> str:
    """The media type that the first bytes tell; empty where they tell nothing."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "")
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    return next((mime for start, mime in _STARTS if data.startswith(start)), "")


def type_of_text(data: bytes, name: str) -> str:
    """The type of a text, by its name; empty when the bytes are no text."""
    if b"\0" in data:
        return ""
    try:
        data.decode()
    except UnicodeDecodeError:
        return ""
    told = type_by_name(name)
    return told if told.startswith("text/") or told == "application/json" else "text/plain"


def type_by_name(name: str) -> str:
    """What the end of a name claims; empty where it claims nothing we know."""
    return _SUFFIXES.get(name.rpartition(".")[2].lower(), "")


def usual_type(mime: str) -> str:
    """One spelling for each type, without its parameters."""
    plain = mime.partition(";")[0].strip().lower()
    return _ALIASES.get(plain, plain)
