"""The explanation of a turn, on one screen and as JSON."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from mentis.values.trust import least_trusted
from mentis.values.words import quantity

from .cost_show import change_text, cost_text, loss_line, money
from .report import Note, Text
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.cost import OmittedPiece, PromptPiece, TurnExplanation

_HEADS = ("what it was told", "trust", "tokens", "price", "share", "cache")
_MOST_TALK = 2  # groups of one kind that are told one by one
_MOST_NAMES = 12
_MOST_SAID = 10  # messages of another program that are told one by one
_MESSAGE = re.compile(r"^/(?:messages|input|contents)/")
_FLAGS = ("suspicious", "dropped", "unknown", "not screened")
_NOT_GIVEN = "what they need was not given (--json says what)"
_WORDS = {
    "cut": "cut",
    "screened": "screened",
    "degraded": "without",
    "lost": "not sent",
    "unresolved": "unresolved",
    "unknown": "not known",
}


def explanation_lines(found: TurnExplanation) -> Iterator[Text]:
    yield "\n".join(_folded(_headline(found)))
    if found.pieces:
        yield ""
        yield _table(found)
    for title, lines in (
        ("left out", list(_omitted(found.omitted))),
        ("since the call before", list(_changes(found))),
    ):
        if lines:
            yield "\n".join(["", title, *(part for line in lines for part in _folded(line, 2))])
    for note in found.notes:
        yield Note(note)


def _headline(found: TurnExplanation) -> str:
    turn, call = found.turn, found.call
    words = [f"entry {turn.entry}, {turn.kind}"]
    words += [f"session {safe(turn.session)}"] if turn.session else []
    words += [turn.time[:16].replace("T", " ")]
    words += [f"step {found.step} of {found.steps}"] if found.steps > 1 else []
    if call is not None:
        usage = call.usage
        words += [f"{call.model} on {call.route}" if call.model else f"route {call.route}"]
        tokens = f"{usage.input:,} tokens in ({usage.cache_read:,} cached), {usage.output:,} out"
        words += [f"{'at most ' if call.planned else ''}{tokens}", cost_text(call.cost)]
    if found.rebuilt:
        words += ["byte-identical" if found.identical else "not byte-identical"]
    return ", ".join(words)


def _table(found: TurnExplanation) -> TextTable:
    rows = [_row(name, pieces, found) for name, pieces in _gathered(found.pieces)]
    if found.call is not None and not found.call.planned:
        cells = _shares(found.answer_usd, found)
        rows.append(("(answer)", "self", f"{found.call.usage.output:,}", *cells, ""))
    return TextTable(_HEADS, rows, right=_HEADS[2:5])


def _gathered(pieces: Sequence[PromptPiece]) -> Iterator[tuple[str, list[PromptPiece]]]:
    """Many tools in a row are one line, so that all has room on one screen."""
    found: list[tuple[str, list[PromptPiece]]] = []
    said = [piece for piece in pieces if _MESSAGE.search(piece.pointer)]
    older = said[:-_MOST_SAID] if len(said) > _MOST_SAID + 1 and _foreign(said) else []
    for piece in pieces:
        if piece in older:
            name = f"{quantity(len(older), 'older message or result')}"
            if piece is older[0]:
                found.append((name.replace("message or result", "messages and result"), older))
            continue
        kind = "tools" if piece.name.startswith("tool ") else piece.name
        if found and found[-1][0] == kind:
            found[-1][1].append(piece)
        else:
            found.append((kind, [piece]))
    for kind, members in found:
        tools = kind == "tools" and len(members) > _MOST_TALK
        if kind == "tools" and not tools:
            yield from ((one.name, [one]) for one in members)
        else:
            yield f"{quantity(len(members), 'tool')}" if tools else kind, members


def _foreign(pieces: Sequence[PromptPiece]) -> bool:
    """Of another program: each message is a piece. Ours are one, called the conversation."""
    return any(piece.name.startswith("message ") for piece in pieces)


def _row(name: str, pieces: Sequence[PromptPiece], found: TurnExplanation) -> tuple[str, ...]:
    tokens = sum(piece.tokens for piece in pieces)
    cached, written = sum(p.cached for p in pieces), sum(p.written for p in pieces)
    paid = [piece.usd for piece in pieces if piece.usd is not None]
    usd = sum(paid, Decimal(0)) if paid else None
    trust = least_trusted(piece.trust for piece in pieces)
    state = _state(tokens, cached, written, reported=_reported(found))
    verdicts = {piece.screening for piece in pieces if piece.screening in _FLAGS}
    whose = ", ".join((trust.value, *sorted(verdicts)))
    return safe(name), whose, f"{tokens:,}", *_shares(usd, found), state


def _reported(found: TurnExplanation) -> bool:
    return found.call is not None and not found.call.planned


def _shares(usd: Decimal | None, found: TurnExplanation) -> tuple[str, str]:
    whole = found.call.usd if found.call is not None else None
    if usd is None or whole is None:
        return "?", ""
    return money(usd), f"{100 * usd / whole:.0f} %" if whole else ""


def _state(tokens: int, cached: int, written: int, *, reported: bool) -> str:
    if not reported:
        return "not reported"
    if not tokens:
        return ""
    if cached >= tokens:
        return "cached"
    if cached:
        return f"cached {100 * cached // tokens} %"
    if written >= tokens:
        return "written"
    return f"written {100 * written // tokens} %" if written else "new"


def _omitted(pieces: Sequence[OmittedPiece]) -> Iterator[str]:
    """Blocks, tools and memories that share a reason stand in one line."""
    together: dict[tuple[str, str], list[str]] = {}
    for piece in pieces:
        if piece.kind in ("block", "tool", "memory"):
            reason = _NOT_GIVEN if piece.reason.endswith("given") else piece.reason
            together.setdefault((piece.kind, reason), []).append(piece.name)
            continue
        tokens = f" ({piece.tokens:,} tokens)" if piece.tokens else ""
        name = f" {piece.name}" if piece.name else ""
        yield safe(f"{_WORDS[piece.kind]}{name}{tokens}: {piece.reason}")
    for (_, reason), names in together.items():
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield safe(f"{', '.join(names[:_MOST_NAMES])}{more}: {reason}")


def _changes(found: TurnExplanation) -> Iterator[str]:
    if found.before is not None:
        entry, step = found.before
        where = f"entry {entry}" + (f", step {step}" if step > 1 else "")
        if found.changed is not None:
            yield f"compared with {where}: the first difference is {change_text(found.changed)}"
            if found.context is not None:
                was, now = (safe(" ".join(one.split())) for one in found.context)
                yield f"before: ...{was}..."
                yield f"now:    ...{now}..."
        elif found.rebuilt:
            yield f"compared with {where}: which cannot be put together again, or is the same"
        else:
            yield f"the call before is {where}"
    if found.loss is not None:
        yield loss_line(found.loss)
    elif found.before is not None and _reported(found):
        yield "the cache gave what was sent before"
    if found.fix and found.loss is not None and found.loss.cause != "first":
        yield f"cheapest fix: {found.fix}"


def _folded(text: str, indent: int = 0) -> Iterator[str]:
    width = max(40, shutil.get_terminal_size().columns)
    before = " " * indent
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=before,
        subsequent_indent=before + "  ",
        break_on_hyphens=False,
    )
