"""Chats of SillyTavern: lines of JSON, a header first. See docs/design/formats.md.

A line that cannot be read is named and passed over, as its program does; nothing else is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.value import Value
from mentis.values.written import dump

from .cards import read_json

LONGEST_LINE = 20_000_000
MOST_LINES = 200_000
_HINT = "export the chat anew, as JSONL"
_UNUSED = "unused"  # newer versions write it in the place of both names


@dataclass(frozen=True, slots=True)
class ChatLine(Value):
    """One message. `swipes` are all answers that were given here, `chosen` is the place of the one
    that counts; `line` is its number in the file, and `row` all that stands in it.
    """

    line: int
    name: str
    text: str
    is_user: bool = False
    is_system: bool = False
    narrator: bool = False
    time: str = ""
    swipes: tuple[str, ...] = ()
    chosen: int = 0
    attached: bool = False
    thought: bool = False
    row: JsonObject = field(default_factory=dict[str, object])

    @property
    def others(self) -> tuple[str, ...]:
        """What was said here and not chosen, without what says nothing."""
        rest = (text for n, text in enumerate(self.swipes) if n != self.chosen)
        return tuple(dict.fromkeys(text for text in rest if text.strip() and text != self.text))


@dataclass(frozen=True, slots=True)
class Chat(Value):
    """`broken` are lines that could not be read, with the reason; `note` is what the author told
    the model beside the chat.
    """

    lines: tuple[ChatLine, ...]
    user: str = ""
    character: str = ""
    note: str = ""
    header: JsonObject = field(default_factory=dict[str, object])
    broken: tuple[str, ...] = ()

    @property
    def speakers(self) -> tuple[str, ...]:
        """Everybody who is not the user, in the order in which they first speak."""
        said = (one for one in self.lines if not (one.is_user or one.is_system or one.narrator))
        return tuple(dict.fromkeys(one.name for one in said if one.name))


def is_chat(data: bytes) -> bool:
    """Whether the first line is a header or a message of a chat."""
    first = next((line for line in _raw_lines(data) if line.strip()), b"")
    if not first.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") or len(first) > LONGEST_LINE:
        return False
    try:
        found = read_json(first, "line 1")
    except BadInput:
        return False
    if not isinstance(found, Mapping):
        return False
    members = cast("JsonObject", found)
    return _is_header(members) or ("mes" in members and ("name" in members or "is_user" in members))


def read_chat(data: bytes) -> Chat:
    """The chat; BadInput where nothing is said in it, or it is longer than any chat is."""
    header: JsonObject = {}
    lines, broken = list[ChatLine](), list[str]()
    for number, raw in enumerate(_raw_lines(data), 1):
        if not raw.strip():
            continue
        if number > MOST_LINES:
            raise BadInput(f"the chat has more than {MOST_LINES} lines", hint="split it")
        try:
            row = _row(raw, number)
            if not lines and not header and _is_header(row):
                header = row
            else:
                lines.append(_line(row, number))
        except BadInput as error:
            broken.append(error.message)
    if not lines:
        why = f": {broken[0]}" if broken else ""
        raise BadInput(f"nobody says anything in the chat{why}", hint=_HINT)
    note = _object(header.get("chat_metadata")).get("note_prompt")
    return Chat(
        tuple(lines),
        _name(header.get("user_name")),
        _name(header.get("character_name")),
        note if isinstance(note, str) else "",
        header,
        tuple(broken),
    )


def write_rows(rows: Sequence[JsonObject]) -> bytes:
    """A header and its messages, as the program itself writes them."""
    return b"\n".join(map(dump, rows))


def row_of(line: ChatLine) -> JsonObject:
    """A message that comes from no such file."""
    row: JsonObject = {
        "name": line.name,
        "is_user": line.is_user,
        "is_system": line.is_system,
        "mes": line.text,
        "extra": {},
    }
    if line.time:
        row["send_date"] = line.time
    if line.swipes:
        row |= {"swipe_id": line.chosen, "swipes": list(line.swipes)}
    return row


def _raw_lines(data: bytes) -> Iterator[bytes]:
    """By line feeds alone: other ends of lines may stand inside of a text."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[at:end]
        at = end + 1


def _row(raw: bytes, number: int) -> JsonObject:
    if len(raw) > LONGEST_LINE:
        raise BadInput(f"line {number} has more than {LONGEST_LINE} bytes", hint=_HINT)
    row = read_json(raw, f"line {number}")
    if not isinstance(row, dict):
        raise BadInput(f"line {number} is no object", hint=_HINT)
    return cast("JsonObject", row)


def _is_header(row: JsonObject) -> bool:
    named = any(name in row for name in ("user_name", "character_name", "chat_metadata"))
    return named and "mes" not in row


def _line(row: JsonObject, number: int) -> ChatLine:
    text = row.get("mes")
    if not isinstance(text, str):
        raise BadInput(f"line {number} says nothing: it has no text `mes`", hint=_HINT)
    extra, time, chosen = _object(row.get("extra")), row.get("send_date"), row.get("swipe_id")
    swipes = _texts(row.get("swipes"))
    return ChatLine(
        number,
        _name(row.get("name")),
        text,
        is_user=row.get("is_user") is True,
        is_system=row.get("is_system") is True,
        narrator=extra.get("type") == "narrator",
        time=str(time) if isinstance(time, str | int) and not isinstance(time, bool) else "",
        swipes=swipes,
        chosen=chosen if type(chosen) is int and 0 <= chosen < len(swipes) else 0,
        attached=any(bool(extra.get(name)) for name in ("image", "media", "files", "file")),
        thought=bool(extra.get("reasoning")),
        row=row,
    )


def _name(value: object) -> str:
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return "" if name == _UNUSED else name


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    """As many as there are, so that their places stay; what is no text says nothing."""
    items = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return tuple(one if isinstance(one, str) else "" for one in items)
