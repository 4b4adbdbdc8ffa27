"""The current turn: its facts, the message it answers, what is attached, the words themselves."""

from __future__ import annotations

from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext, quote_lines
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

from .draft import GAP, Item, Media, Text, WireMessage, of
from .finish import tag_system
from .media import MediaDesk, too_many
from .notices import Notices, notice
from .wording import Guard, clean, sound


def current_messages(
    request: PromptRequest, able: Abilities, guard: Guard, losses: list[Loss], *, wire: str
) -> list[WireMessage]:
    """Facts stand in a system message where the model heeds one here, else tagged in the user's."""
    facts = _facts(request.runtime_ctx, losses)
    laid = _attached(request, able, losses, wire) if request.attachments else []
    items = _spoken(request, laid, guard, losses)
    if not facts:
        return [WireMessage("user", items)] if items else []
    if able.mid_system == "never" or (able.mid_system == "after" and not items):
        return [WireMessage("user", [of(*tag_system(facts, Stability.TURN)), *items])]
    system = WireMessage("system", [of(*facts)])
    if not items:
        return [system]
    user = WireMessage("user", items)
    return [system, user] if able.mid_system == "before" else [user, system]


def _spoken(
    request: PromptRequest, laid: list[Media | Text], guard: Guard, losses: list[Loss]
) -> list[Item]:
    """Pictures and sounds first, then the quotation, the words, and the texts of documents."""
    before: list[Item] = [item for item in laid if not isinstance(item, Text)]
    after: list[Item] = [item for item in laid if isinstance(item, Text)]
    words: list[Item] = []
    if request.reply_to is not None:
        words.append(of(_quoted(request.reply_to, guard, losses)))
    if request.current_text.strip():
        text = guard.text(request.current_text, losses)
        words.append(of(Span(text, source="current", stability=Stability.TURN)))
    return [*before, *words, *after]


def _attached(
    request: PromptRequest, able: Abilities, losses: list[Loss], wire: str
) -> list[Media | Text]:
    """Where images are sent, a word on how to look at them comes after all that was said."""
    notices = Notices(request.words)
    desk = MediaDesk(able, notices, losses, too_many(request.attachments, able), wire)
    laid = [desk.lay(part, Stability.TURN) for part in request.attachments]
    if desk.images and notices.has("notice_images"):
        told = notices.say("notice_images")
        laid.append(of(notice(told, Stability.TURN, why="images are attached")))
    return laid


def _quoted(reply_to: ReplyTo, guard: Guard, losses: list[Loss]) -> Span:
    quote = quote_lines(guard.text(reply_to.attributed_text, losses))
    return Span(quote, source="reply_to", trust=Trust.UNTRUSTED, stability=Stability.TURN)


def _facts(context: RuntimeContext, losses: list[Loss]) -> list[Span]:
    """The line of facts, then the blocks of this turn. The exact time is left to the blocks."""
    line = facts_line(context)
    spans = [sound(span, losses) for span in context.spans if span.text]
    if not line:
        return spans
    text = clean(line, losses)
    first = Span(text, source="runtime_ctx", trust=Trust.RUNTIME, stability=Stability.TURN)
    return [first, GAP, *spans] if spans else [first]


def facts_line(context: RuntimeContext) -> str:
    """`[lang:de | input:voice | path:cli/main]`, in a fixed order; what is not set is left out."""
    told = (
        ("from", context.username),
        ("scope", "" if context.scope == "local" else context.scope),
        ("lang", context.language),
        ("tone", context.tone),
        ("time_of_day", context.time_of_day),
        ("emotions", context.emotions),
        ("input", "voice" if context.input_source == "voice" else ""),
        ("voice_chan", context.voice_channel_id),
        ("tag", context.usertag),
        ("chat", context.chat_type),
        ("path", context.interface_path),
        ("beat", (context.beat_type or "true") if context.is_beat else ""),
        ("note", context.addressee_note),
    )
    parts = [f"{name}:{_one_line(value)}" for name, value in told if value]
    return f"[{' | '.join(parts)}]" if parts else ""


def _one_line(value: str) -> str:
    """Names come from outside: they must not be able to end the line they stand in."""
    return "".join(c if c.isprintable() and c not in "[]|" else "_" for c in value)
