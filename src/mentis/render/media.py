"""Attachments by ability: sent as they are, as the text in them, or as a true word about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mentis.codec.document_text import contained_text, cut_note, unread_reason
from mentis.codec.media_types import type_of, usual_type
from mentis.errors import RenderError
from mentis.facts.ability import Abilities
from mentis.values.marks import neutral
from mentis.values.part import MediaPart
from mentis.values.rendering import Loss
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

from .addresses import check_address
from .draft import Media, Text, of
from .notices import Notices, label, notice
from .wording import clean

# What is one of these begins with its mark, so bytes that do not are something else.
_TOLD_BY_BYTES = frozenset(
    {
        *("image/png", "image/jpeg", "image/gif", "image/webp", "image/heic", "application/pdf"),
        *("audio/wav", "audio/ogg", "audio/flac", "video/mp4", "video/webm", "video/quicktime"),
    }
)


# What a format has a place for, as bytes and by its address; a format not named here, for all.
_CARRIES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "openai-chat": (frozenset({"image", "audio", "document"}), frozenset({"image"})),
    "openai-responses": (frozenset({"image", "document"}), frozenset({"image", "document"})),
    "anthropic": (frozenset({"image", "document"}), frozenset({"image", "document"})),
    # By address only what it is known to fetch.
    "gemini": (
        frozenset({"image", "audio", "video", "document"}),
        frozenset({"image", "document"}),
    ),
}


def too_many(parts: Sequence[MediaPart], able: Abilities, earlier: int = 0) -> int:
    """How many images have to stay out, besides `earlier` ones, where there is a limit."""
    if not able.images:
        return 0
    return max(0, earlier + sum(part.kind == "image" for part in parts) - able.images)


@dataclass(slots=True)
class MediaDesk:
    """Where attachments are looked at. `spare`: so many images have to stay out, oldest first."""

    able: Abilities
    notices: Notices
    losses: list[Loss]
    spare: int = 0
    wire: str = ""
    images: int = field(default=0, init=False)

    def lay(self, part: MediaPart, stability: Stability) -> Media | Text:
        """What stands in the payload for one attachment."""
        _check_source(part)
        mime = _real_mime(part, self.losses)
        refusal = self._refusal(part, mime)
        if not refusal:
            self.images += part.kind == "image"
            return Media(self._sound(part), mime)
        told = contained_text(part)
        if told is not None:
            self._lose("document-as-text", f"{label(part)} is sent as the text in it")
            if note := cut_note(part):
                self._lose("document-cut", f"of {label(part)} {note} are sent")
            return self._embedded(part, neutral(clean(told, self.losses)), stability)
        return self.not_sent(part, refusal, stability)

    def _sound(self, part: MediaPart) -> MediaPart:
        name = clean(part.name, self.losses)
        return part if name is part.name else replace(part, name=name)

    def not_sent(self, part: MediaPart, refusal: str, stability: Stability) -> Text:
        if reason := unread_reason(part):
            self._lose("document-unread", f"{label(part)} cannot be read: {reason}")
        refusal = clean(refusal, self.losses)
        self._lose("media-not-sent", f"{part.kind} {label(part)}: {refusal}")
        told = neutral(clean(self.notices.not_sent(part, refusal), self.losses))
        return of(notice(told, stability, why=f"{part.kind} not sent"))

    def _lose(self, code: str, message: str) -> None:
        self.losses.append(Loss(code, message))

    def _refusal(self, part: MediaPart, mime: str) -> str:
        """Why the model cannot have it; empty when it can."""
        say = self.notices.say
        if not mime or not mime.isascii():
            return say("reason_not_what_it_says", mime=part.mime)
        if part.data is None and not (part.url and self.able.media_urls):
            return say("reason_no_address" if part.url else "reason_only_text")
        return self._unable(part, mime) or self._uncarried(part)

    def _unable(self, part: MediaPart, mime: str) -> str:
        able = self.able
        match part.kind:
            case "image":
                return self._image_refusal(part, mime)
            case "audio":
                fits = mime in able.audio_types
                return self._unless(able.audio, "reason_no_hearing") or self._readable(mime, fits)
            case "video":
                fits = mime in able.video_types
                no = self._unless(bool(able.video_types), "reason_no_video")
                return no or self._readable(mime, fits)
            case "document":
                pdf = mime == "application/pdf"
                no = self._unless(able.documents, "reason_no_documents")
                return no or self._readable(mime, pdf)

    def _uncarried(self, part: MediaPart) -> str:
        """Whatever the model takes, the format must have a place for it."""
        carried = _CARRIES.get(self.wire)
        if carried is None or part.kind in carried[part.data is None]:
            return ""
        return self.notices.say("reason_not_carried")

    def _unless(self, fine: bool, topic: str) -> str:
        return "" if fine else self.notices.say(topic)

    def _readable(self, mime: str, fits: bool) -> str:
        return "" if fits else self.notices.say("reason_type", mime=mime)

    def _image_refusal(self, part: MediaPart, mime: str) -> str:
        if not self.able.vision:
            return self.notices.say("reason_no_vision")
        if mime not in self.able.image_types and part.data is not None:
            return self.notices.say("reason_type", mime=mime)
        if self.spare > 0:
            self.spare -= 1
            return self.notices.say("reason_too_many", most=self.able.images)
        return ""

    def _embedded(self, part: MediaPart, text: str, stability: Stability) -> Text:
        name, say = label(part), self.notices.say
        source = f"document {name}"
        body = Span(text, source=source, trust=Trust.UNTRUSTED, stability=stability)
        opening = f"{say('notice_document', name=name)}\n"
        end = f"\n{say('notice_document_end', name=name)}"
        why = "document text"
        return of(notice(opening, stability, why=why), body, notice(end, stability, why=why))


def _check_source(part: MediaPart) -> None:
    if part.data is not None or part.extracted:
        return
    if part.url:
        check_address(part.url, f"{part.kind} {label(part)}")
        return
    if part.path:
        raise RenderError(
            f"{part.kind} {label(part)} is given by its path and was not read: {part.path!r}",
            hint="read the file and give its bytes; renderers open no files",
            path=part.path,
        )
    raise RenderError(
        f"{part.kind} {label(part)} has no bytes here", hint="give its bytes or its address"
    )


def _real_mime(part: MediaPart, losses: list[Loss]) -> str:
    """What the first bytes say, where they say something; empty when they only deny it."""
    mime = usual_type(part.mime)
    if part.data is None:
        return mime
    found = type_of(part.data)
    if found == mime or (not found and mime not in _TOLD_BY_BYTES):
        return mime
    are = found or "something else"
    message = f"{label(part)} says it is {part.mime!r}, and its bytes are {are}"
    losses.append(Loss("media-type", message))
    return found
