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
# Words that lie apart, each as it is written: what follows the last one is no word.
_WHOLE = re.compile(r'(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\x00)*')
_APART = "\0"
_DATA = "data: "
_MOST_RUNS = 16
_NOISE = re.compile(r'"(?:obfuscation":\s*"[^"\\]*"|sequence_number":\s*\d+)')


def joined_stream(text: str, wire: Wire) -> str:
    """The same for a stream of events as it was sent: where nothing but the word is another in each
    event, and no number or filling, nobody looks at them one by one.
    """
    pattern = _PIECES.get(wire)
    if pattern is None or _APART in text or "\r" in text:
        return text
    told, at = list[str](), 0
    for _ in range(_MOST_RUNS):
        end = text.find("\n\n", at)
        head, mark, data = text[at : max(end, at)].partition(_DATA)
        found = pattern.fullmatch(data) if data.count('"delta"') == 1 else None
        if found is None or end < 0:
            told.append(text[at : end + 2] if end >= 0 else text[at:])
            at = end + 2 if end >= 0 else len(text)
            continue
        begin, after = f"{head}{mark}{found[1]}", found[3]
        words = _words(text[at + len(begin) :], f"{after}\n\n{begin}")
        said = "".join(words)
        told.append(f"{begin}{said}{after}\n\n" if words else text[at : end + 2])
        size = len(said) + len(words) * len(f"{begin}{after}\n\n")
        at = at + size if words else end + 2
    return "".join((*told, text[at:]))


def _words(text: str, between: str) -> list[str]:
    """Those that `between` follows, up to the first that is more than a word."""
    words = text.split(between)[:-1]
    whole = _WHOLE.match(f"{_APART.join(words)}{_APART}" if words else "")
    return words[: whole[0].count(_APART)] if whole is not None else []


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
