"""Character cards, V1 to V3: read from JSON and from pictures. See docs/design/formats.md.

What is known of a card becomes fields; the whole document stays beside them, so that nothing that
is not known is lost.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.persona import ExampleExchange
from mentis.values.value import Value
from mentis.values.written import dump

from .png_text import read_texts, with_texts

V2, V3 = "chara_card_v2", "chara_card_v3"
KEYWORDS = ("ccv3", "chara")  # the newer one first
_BOM = b"\xef\xbb\xbf"
# As other programs call the fields of V1.
_OLD_NAMES = {
    "char_name": "name",
    "char_persona": "description",
    "char_greeting": "first_mes",
    "world_scenario": "scenario",
    "example_dialogue": "mes_example",
}
_FIELDS = ("description", "personality", "scenario", "first_mes", "mes_example")
_NEEDED = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example"),
    *("creator_notes", "creator", "character_version"),
    *("system_prompt", "post_history_instructions"),
)
_START = re.compile(r"^\s*<START>\s*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RegexScript(Value):
    """A script of a card that would rewrite texts. It is shown, and never run."""

    name: str
    pattern: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Card(Value):
    """`document` is the card as it came, whatever else it holds; `depth_prompt` and `depth` are a
    note that is told so many messages before the end.
    """

    version: int
    name: str
    nickname: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    system_prompt: str = ""
    post_history: str = ""
    creator_notes: str = ""
    greetings: tuple[str, ...] = ()
    group_greetings: tuple[str, ...] = ()
    depth_prompt: str = ""
    depth: int = 4
    book: JsonObject | None = None
    scripts: tuple[RegexScript, ...] = ()
    document: JsonObject = field(default_factory=dict[str, object])


def is_card(document: object) -> bool:
    """Whether a JSON document is a card of some version."""
    if not isinstance(document, Mapping):
        return False
    members = cast("JsonObject", document)
    if members.get("spec") in (V2, V3) or {"char_name", "char_persona"} <= members.keys():
        return True
    return "name" in members and any(name in members for name in _FIELDS)


def read_json(data: bytes, what: str) -> object:
    """JSON of another program: a byte order mark is passed over."""
    return read_outside(data.removeprefix(_BOM), what=what, hint="export it anew, as UTF-8")


def card_in_picture(data: bytes) -> bytes | None:
    """The JSON of the card in a PNG; None where it has none."""
    texts = read_texts(data, KEYWORDS)
    name = next((one for one in KEYWORDS if one in texts), None)
    if name is None:
        return None
    packed = "".join(texts[name].split())
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        hint = "get the picture again"
        raise BadInput(f"the text {name!r} of the picture is not base64", hint=hint) from error


def read_card(document: JsonObject) -> Card:
    """The card that a document holds; BadInput where a field is not what it has to be."""
    spec = document.get("spec")
    version = {V2: 2, V3: 3}.get(spec, 1) if isinstance(spec, str) else 1
    data = _object(document, "data") if version > 1 else document
    if version == 1:
        data = {_OLD_NAMES.get(name, name): value for name, value in data.items()}
    name = _text(data, "name")
    if not name.strip():
        raise BadInput("the card has no name", hint="give it one in the program that made it")
    extensions = _object(data, "extensions")
    depth = _object(extensions, "depth_prompt")
    return Card(
        version=version,
        name=" ".join(name.split()),
        nickname=" ".join(_text(data, "nickname").split()),
        description=_text(data, "description"),
        personality=_text(data, "personality"),
        scenario=_text(data, "scenario"),
        first_mes=_text(data, "first_mes"),
        mes_example=_text(data, "mes_example"),
        system_prompt=_text(data, "system_prompt"),
        post_history=_text(data, "post_history_instructions"),
        creator_notes=_text(data, "creator_notes"),
        greetings=_texts(data, "alternate_greetings"),
        group_greetings=_texts(data, "group_only_greetings"),
        depth_prompt=_text(depth, "prompt"),
        depth=_number(depth, "depth", 4),
        book=_object(data, "character_book") or None,
        scripts=tuple(read_script(one) for one in _objects(extensions, "regex_scripts")),
        document=document,
    )


def card_data(document: JsonObject) -> JsonObject:
    """The fields of a card as V2 and V3 call them; those of V1 stand at the top."""
    if document.get("spec") in (V2, V3):
        return dict(_object(document, "data"))
    return {_OLD_NAMES.get(name, name): value for name, value in document.items()}


def card_document(data: JsonObject, version: int, around: JsonObject) -> JsonObject:
    """A card of V2 or V3 with these fields; what stood around them in another one stays."""
    needed: JsonObject = dict.fromkeys(_NEEDED, "")
    needed |= {"alternate_greetings": [], "tags": [], "extensions": {}}
    rest = {name: value for name, value in around.items() if name not in ("spec", "data")}
    if version == 3:
        needed["group_only_greetings"] = []
    spec = {"spec": V3 if version == 3 else V2, "spec_version": "3.0" if version == 3 else "2.0"}
    return {**rest, **spec, "data": {**needed, **data}}


def picture_of_card(picture: bytes, older: JsonObject, newer: JsonObject) -> bytes:
    """The picture with the card in it, in both versions, as other programs write it."""
    packed = {
        "chara": base64.b64encode(dump(older)).decode(),
        "ccv3": base64.b64encode(dump(newer)).decode(),
    }
    return with_texts(picture, packed)


def example_text(exchanges: Sequence[ExampleExchange]) -> str:
    """Exchanges as lines of a play, one scene each."""
    return "\n".join(
        f"<START>\n{{{{user}}}}: {one.user}\n{{{{char}}}}: {one.reply}" for one in exchanges
    )


def example_exchanges(card: Card) -> tuple[ExampleExchange, ...]:
    """The examples as exchanges; none where they are written in another way than as lines of a
    play, in which the user begins and both speak in turn.
    """
    speakers = {"{{user}}": "user", "<user>": "user", "{{char}}": "char", "<bot>": "char"}
    speakers |= {"<char>": "char", card.name.lower(): "char", card.nickname.lower(): "char"}
    found: list[ExampleExchange] = []
    for part in _START.split(card.mes_example):
        if not part.strip():
            continue
        said = _said(part, speakers)
        if (
            not said
            or len(said) % 2
            or any(who != _TURNS[n % 2] for n, (who, _) in enumerate(said))
        ):
            return ()
        found += [ExampleExchange(said[n][1], said[n + 1][1]) for n in range(0, len(said), 2)]
    return tuple(found)


_TURNS = ("user", "char")


def _said(part: str, speakers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Who says what; nothing where somebody unknown speaks first."""
    said: list[tuple[str, str]] = []
    for line in part.strip().splitlines():
        name, colon, words = line.partition(":")
        who = speakers.get(name.strip().lower()) if colon and name.strip() else None
        if who is not None:
            said.append((who, words.strip()))
        elif said:
            said[-1] = (said[-1][0], f"{said[-1][1]}\n{line}".strip())
        else:
            return []
    return said if all(words for _, words in said) else []


def read_script(entry: JsonObject) -> RegexScript:
    names = ("scriptName", "findRegex", "replaceString")
    return RegexScript(*(_text(entry, name) for name in names))


def _text(data: JsonObject, name: str) -> str:
    value = data.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{name} of the card is no text", hint="export the card anew")
    return value


def _number(data: JsonObject, name: str, default: int) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _texts(data: JsonObject, name: str) -> tuple[str, ...]:
    value = data.get(name)
    if value is None:
        return ()
    items = cast("Sequence[object]", value) if isinstance(value, list) else (None,)
    if not all(isinstance(one, str) for one in items):
        raise BadInput(f"{name} of the card is no list of texts", hint="export the card anew")
    return tuple(cast("Sequence[str]", items))


def _object(data: JsonObject, name: str) -> JsonObject:
    value = data.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput(f"{name} of the card is no object", hint="export the card anew")
    return cast("JsonObject", value)


def _objects(data: JsonObject, name: str) -> tuple[JsonObject, ...]:
    value = data.get(name)
    items = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return tuple(cast("JsonObject", one) for one in items if isinstance(one, dict))
