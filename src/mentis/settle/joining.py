"""Pieces of an answer's words that say nothing besides, joined before anybody reads them.

For whoever reads an answer that is over: a stream of five hundred words is one event then. What
stands around the words must be the same in each; everything else is left as it is, in its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from mentis.facts.ability import Wire

# Without `\u`: half a character may stand there, and the other half in the next piece.
_WORDS = r'((?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*)'
_PIECES: Mapping[Wire, re.Pattern[str]] = {
    "openai-chat": re.compile(rf'(\{{.*"delta":\s*\{{\s*"content":\s*"){_WORDS}("\s*\}}.*\}})'),
    "openai-responses": re.compile(
        rf'(\{{\s*"type":\s*"response\.output_text\.delta".*"delta":\s*"){_WORDS}(".*\}})'
    ),
    "anthropic": re.compile(
        r'(\{\s*"type":\s*"content_block_delta".*"delta":\s*\{\s*"type":\s*"text_delta",'
        rf'\s*"text":\s*"){_WORDS}("\s*\}}\s*\}})'
    ),
}
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
# Another one in each event, and nothing that an answer is read from.
_NOISE = re.compile(r'"(?:obfuscation":\s*"[^"\\]*"|sequence_number":\s*\d+)')


def joined_pieces(events: Iterable[str], wire: Wire) -> Iterator[str]:
    pattern = _PIECES.get(wire)
    if pattern is None:
        yield from events
        return
    before, words, after = "", list[str](), ""
    around = before, after
    for event in events:
        # Nearly always it is the one before with another word in it.
        if words and event.startswith(before) and event.endswith(after):
            word = event[len(before) : -len(after)]
            if len(event) >= len(before) + len(after) and _PLAIN.fullmatch(word):
                words.append(word)
                continue
        found = pattern.fullmatch(event) if event.count('"delta"') == 1 else None
        now = (_bare(found[1]), _bare(found[3])) if found is not None else ("", "")
        if found is not None and words and now == around:
            words.append(found[2])
            continue
        if words:
            yield f"{before}{''.join(words)}{after}"
            words = []
        if found is None:
            yield event
        else:
            around, before, words, after = now, found[1], [found[2]], found[3]
    if words:
        yield f"{before}{''.join(words)}{after}"


def _bare(text: str) -> str:
    return _NOISE.sub("", text)
