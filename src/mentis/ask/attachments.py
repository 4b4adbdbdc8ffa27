"""Attachments at the edge: files are read here, once, and everything is held to the limits.

Only paths that the owner names are read: an option of a command, a `Stimulus` or a request of a
program. Of a request that came as data only paths inside a folder that was named for it; else they
are refused. An address is never fetched.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from mentis.codec.document_text import with_document_text
from mentis.codec.media_types import type_by_name, type_of, type_of_text, usual_type
from mentis.disk.inside import inside
from mentis.errors import BadInput
from mentis.render.addresses import check_address
from mentis.settings.sections import LimitSettings
from mentis.system.files import READ_LINKED, open_file
from mentis.values.part import MediaPart, Part
from mentis.values.recalled import Stimulus
from mentis.values.request import PromptRequest
from mentis.values.turn import Turn

Kind = Literal["image", "audio", "video", "document"]
_SCHEMES = ("http://", "https://")
_SURROGATE = re.compile("[\ud800-\udfff]")


def attach(source: str | Path, *, name: str = "") -> MediaPart:
    """An attachment by the path of a file or by an address. A file is read when it is sent."""
    told = str(source)
    if told.lower().startswith(_SCHEMES):
        mime = type_by_name(told.partition("?")[0].partition("#")[0])
        if not mime:
            raise BadInput(
                f"what {told!r} leads to cannot be told from its name, and nothing is fetched",
                hint="download it and attach the file",
            )
        return MediaPart(_kind(mime), mime, url=told, name=name)
    return MediaPart("document", "", path=told, name=name)


def read_attachments(parts: Sequence[MediaPart], limits: LimitSettings) -> tuple[MediaPart, ...]:
    """Every attachment ready to be sent: bytes of a checked type, or an address. It blocks."""
    _check_number(parts, limits)
    return tuple(_ready(part, limits) for part in parts)


def read_files(
    request: PromptRequest, limits: LimitSettings, *, folder: Path | None, anywhere: bool
) -> PromptRequest:
    """The request with the files it names read. `anywhere`: a program names them, so they may be
    anywhere; else only those inside `folder`, and none without it.
    """

    def place(part: Part) -> Part:
        if not isinstance(part, MediaPart) or not part.path or anywhere:
            return part
        if folder is None:
            raise BadInput(
                f"the request names the file {part.path!r}, and no folder is given to read it from",
                hint="give the request as a file, with what it names beside it, or give its bytes",
                path=part.path,
            )
        return replace(part, path=str(inside(folder.absolute(), part.path)))

    def ready(part: Part) -> Part:
        part = place(part)
        return _ready(part, limits) if isinstance(part, MediaPart) and part.path else part

    def ready_turn(turn: Turn) -> Turn:
        return replace(turn, parts=tuple(map(ready, turn.parts)))

    _check_number(request.attachments, limits)
    return replace(
        request,
        attachments=tuple(cast("MediaPart", ready(part)) for part in request.attachments),
        conversation_history=tuple(map(ready_turn, request.conversation_history)),
        continuation=tuple(map(ready_turn, request.continuation)),
    )


def check_words(stimulus: Stimulus, limits: LimitSettings) -> None:
    """Refuse a message that is empty, too long, or not valid Unicode."""
    reply_to = stimulus.reply_to
    texts = [stimulus.text, stimulus.author]
    texts += [] if reply_to is None else [reply_to.text, reply_to.author]
    length = sum(map(len, texts))
    if not stimulus.text.strip() and not stimulus.attachments:
        raise BadInput("the message is empty", hint="write something")
    if length > limits.message_chars:
        raise BadInput(
            f"the message has {length} characters, and {limits.message_chars} are allowed",
            hint="shorten it, or raise limits.message_chars",
            length=length,
            limit=limits.message_chars,
        )
    if any(map(_SURROGATE.search, texts)):
        raise BadInput(
            "the message is not valid Unicode (it holds a lone surrogate)",
            hint="check the encoding of the terminal or the file it came from",
        )


def _check_number(parts: Sequence[MediaPart], limits: LimitSettings) -> None:
    if len(parts) > limits.attachments:
        raise BadInput(
            f"there are {len(parts)} attachments, and {limits.attachments} are allowed",
            hint="attach fewer, or raise limits.attachments",
        )


def _ready(part: MediaPart, limits: LimitSettings) -> MediaPart:
    _check_name(part)
    given = [part.data is not None, bool(part.path), bool(part.url)]
    if sum(given) != 1:
        raise BadInput(
            f"attachment {_named(part)} needs bytes, a path or an address, and exactly one",
            hint="attach(PATH) makes one of a file",
        )
    if part.url:
        check_address(part.url, f"{part.kind} {_named(part)}")
        return part
    if part.path:
        part = _read(part, limits)
    data = part.data or b""
    if not data:
        raise BadInput(f"{_named(part)} is empty", hint="attach something that has content")
    if len(data) > limits.attachment_bytes:
        raise _too_large(_named(part), limits)
    return with_document_text(_typed(part, data), limits.document_chars)


def _check_name(part: MediaPart) -> None:
    """A name goes to the model and into the record, and both take nothing but valid text."""
    name = part.name or Path(part.path).name
    try:
        f"{name}{part.mime}".encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the name of attachment {_printable(name)} is not valid UTF-8",
            hint="rename the file, or attach it under another name: attach(PATH, name=...)",
        ) from error


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()


def _read(part: MediaPart, limits: LimitSettings) -> MediaPart:
    try:
        path = Path(part.path).expanduser()
        data = _beginning(path, limits.attachment_bytes + 1)
    except (OSError, ValueError, RuntimeError) as error:  # no such home, a null byte
        told = getattr(error, "strerror", None) or error
        shown = _printable(part.path)
        raise BadInput(
            f"{shown} cannot be read: {told}", hint="check the path", path=shown
        ) from error
    if len(data) > limits.attachment_bytes:
        raise _too_large(_printable(part.path), limits)
    return replace(part, data=data, path="", name=part.name or path.name)


def _beginning(path: Path, most: int) -> bytes:
    """Of a plain file only, and without waiting: a pipe that nobody writes to never ends."""
    handle = open_file(path, READ_LINKED)
    plain = stat.S_ISREG(os.fstat(handle).st_mode)
    if not plain:
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a file")
    with os.fdopen(handle, "rb") as file:
        return file.read(most)


def _typed(part: MediaPart, data: bytes) -> MediaPart:
    """The type is what the bytes say; a claim that they contradict is refused."""
    claimed = usual_type(part.mime)
    found = type_of(data)
    if not claimed:
        mime = found or type_of_text(data, part.name)
        if not mime:
            raise BadInput(
                f"{_named(part)} is no image, sound, film, PDF or text that is known here",
                hint="convert it to one of these",
            )
        return replace(part, kind=_kind(mime), mime=mime)
    if found and _kind(found) != part.kind:
        raise BadInput(
            f"{_named(part)} is given as {part.kind} ({part.mime}), and its bytes are {found}",
            hint="leave the type empty to have it taken from the bytes",
        )
    return replace(part, mime=found or claimed)


def _kind(mime: str) -> Kind:
    kind = mime.partition("/")[0]
    return cast("Kind", kind) if kind in ("image", "audio", "video") else "document"


def _named(part: MediaPart) -> str:
    return part.name or part.path or part.url or f"a {part.kind} without a name"


def _too_large(name: str, limits: LimitSettings) -> BadInput:
    return BadInput(
        f"{name} is larger than {limits.attachment_bytes} bytes",
        hint="attach something smaller, or raise limits.attachment_bytes",
        limit=limits.attachment_bytes,
    )
