"""The current turn: its facts, the message it answers, what is attached, the words themselves."""

from __future__ import annotations

from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

from .draft import GAP, Item, Message, Text
from .finish import tagged
from .media import lay_media
from .wording import clean


def current_messages(request: PromptRequest, able: Abilities, losses: list[Loss]) -> list[Message]:
    """Facts stand in a system message where the model heeds one here, else tagged in the user's."""
    facts = _facts(request.runtime_ctx, losses)
    items = _spoken(request, able, losses)
    if not facts:
        return [Message("user", items)] if items else []
    if able.mid_system == "never" or (able.mid_system == "after" and not items):
        return [Message("user", [Text(tagged(facts, Stability.TURN)), *items])]
    system = Message("system", [Text(facts)])
    if not items:
        return [system]
    user = Message("user", items)
    return [system, user] if able.mid_system == "before" else [user, system]


def _spoken(request: PromptRequest, able: Abilities, losses: list[Loss]) -> list[Item]:
    """Pictures and sounds first, then the quotation, the words, and the texts of documents."""
    laid = [lay_media(part, able, Stability.TURN, losses) for part in request.attachments]
    before: list[Item] = [item for item in laid if not isinstance(item, Text)]
    after: list[Item] = [item for item in laid if isinstance(item, Text)]
    words: list[Item] = []
    if request.reply_to is not None:
        words.append(Text([_quoted(request.reply_to, losses)]))
    if request.current_text.strip():
        text = clean(request.current_text, losses)
        words.append(Text([Span(text, source="current", stability=Stability.TURN)]))
    return [*before, *words, *after]


def _quoted(reply_to: ReplyTo, losses: list[Loss]) -> Span:
    who = " ".join(filter(None, (reply_to.author, reply_to.tag and f"({reply_to.tag})")))
    said = f"{who}: {reply_to.text}" if who else reply_to.text
    quote = "\n".join(f"> {line}" for line in clean(said, losses).splitlines()) or ">"
    return Span(quote, source="reply_to", trust=Trust.UNTRUSTED, stability=Stability.TURN)


def _facts(context: RuntimeContext, losses: list[Loss]) -> list[Span]:
    """The line of facts, then the blocks of this turn. The exact time is left to the blocks."""
    line = facts_line(context)
    spans = [span for span in context.spans if span.text]
    if not line:
        return spans
    text = clean(line, losses)
    first = Span(text, source="runtime_ctx", trust=Trust.RUNTIME, stability=Stability.TURN)
    return [first, GAP, *spans] if spans else [first]


def facts_line(context: RuntimeContext) -> str:
    """`[lang:de | input:voice | path:cli/main]`, in a fixed order; what is not set is left out."""
    told = (
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
    if parts and context.username:
        parts.insert(0, f"from:{_one_line(context.username)}")
    return f"[{' | '.join(parts)}]" if parts else ""


def _one_line(value: str) -> str:
    """Names come from outside: they must not be able to end the line they stand in."""
    return "".join(c if c.isprintable() and c not in "[]|" else "_" for c in value)
