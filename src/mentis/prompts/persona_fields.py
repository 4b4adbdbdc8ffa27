"""The fields of a persona.toml: what each is asked for, and what was typed made into what it holds.

Who describes a persona at a terminal, by options or over HTTP fills the same fields.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from mentis.errors import PersonaError, UsageError
from mentis.values.persona_draft import DraftKind

FieldForm: TypeAlias = Literal["text", "number", "words", "texts", "named", "exchange"]
_ARROW = "=>"


@dataclass(frozen=True, slots=True)
class PersonaField:
    """`form` is how it is typed; a `named` one and an `exchange` may come again. `draft` is the
    kind of draft that a model makes of it, if one does. Without a question it is not asked for:
    `languages` says the same as `language`, and `greetings` are an imported card's.
    """

    name: str
    question: str
    form: FieldForm = "text"
    draft: DraftKind | None = None

    @property
    def again(self) -> bool:
        return self.form in ("texts", "named", "exchange")


FIELDS: tuple[PersonaField, ...] = (
    PersonaField("name", "What is it called?"),
    PersonaField("type", "What is it: AI, human, or your own words?", draft="persona_type"),
    PersonaField("age", "How old is it?", "number"),
    PersonaField("gender", "Which gender?"),
    PersonaField("language", ""),
    PersonaField("languages", "Which languages does it speak? The first is used.", "words"),
    PersonaField("background", "Where does it come from, in a sentence or more?"),
    PersonaField("traits", "Traits, as name: how it shows", "named", "core_trait"),
    PersonaField("knowledge", "What it knows, as name: what", "named", "knowledge"),
    PersonaField("expression", "Ways of speaking, as name: how", "named", "expression_style"),
    PersonaField("scenarios", "Scenes it is in, as name: what goes on", "named", "scenario"),
    PersonaField("greeting", "With which words does it begin every conversation?"),
    PersonaField("greetings", "", "texts"),
    PersonaField("dialogue", f"Examples, as what is said {_ARROW} what it answers", "exchange"),
)
BY_NAME: Mapping[str, PersonaField] = {field.name: field for field in FIELDS}


def typed_value(field: PersonaField, text: str) -> object:
    """What was typed, as the file holds it; one item of a field that may come again."""
    text = text.strip()
    match field.form:
        case "text" | "texts":
            return text
        case "number":
            if not text.isdecimal():
                raise UsageError(f"{field.name} is a number, not {text!r}", hint="such as 36")
            return int(text)
        case "words":
            return [word.strip() for word in text.split(",") if word.strip()]
        case "named":
            name, _, description = (part.strip() for part in text.partition(":"))
            return {"name": name, **({"description": description} if description else {})}
        case "exchange":
            user, _, reply = (part.strip() for part in text.partition(_ARROW))
            if not user or not reply:
                hint = f'such as "Is it raining? {_ARROW} Look out of the window."'
                raise UsageError(f"{text!r} has no {_ARROW} between two sayings", hint=hint)
            return {"user": user, "reply": reply}


def typed_fields(given: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Fields by name, out of what was typed for each; one that may come again is a list."""
    found: dict[str, object] = {}
    for name, text in given:
        field = field_named(name)
        value = typed_value(field, text)
        if field.again:
            cast("list[object]", found.setdefault(name, [])).append(value)
        else:
            found[name] = value
    return found


def field_named(name: str) -> PersonaField:
    if name not in BY_NAME:
        raise UsageError(
            f"a persona has no field {name!r}", hint=f"there are: {', '.join(BY_NAME)}"
        )
    return BY_NAME[name]


def with_fields(text: str, fields: Mapping[str, object]) -> str:
    """The file with these fields in the place of what it says of them; everything else stays."""
    import tomlkit

    document = tomlkit.parse(text)
    members = cast("dict[str, object]", document)
    lines: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            members.pop(name, None)
            tables = tomlkit.aot()
            for one in cast("list[dict[str, object]]", value):
                tables.append(tomlkit.item(one))  # pyright: ignore[reportUnknownMemberType]
            members[name] = tables
        elif _is_table(members.get(name)):
            members.pop(name)
            lines[name] = value
        elif name in members:
            members[name] = value
        else:
            lines[name] = value
    after = _with_lines(document.as_string(), tomlkit.dumps(lines))
    if tomllib.loads(after) != {**tomllib.loads(text), **fields}:
        raise PersonaError(
            "the persona that was to be copied is written in a way that cannot be changed for you",
            hint="copy it without fields, and put them into its persona.toml by hand",
        )
    return after


def _is_table(value: object) -> bool:
    first = cast("list[object]", value)[:1] if isinstance(value, list) else [value]
    return any(isinstance(one, Mapping) for one in first)


def _with_lines(text: str, added: str) -> str:
    """Behind the last field before the tables, so that a comment stays with the table below it."""
    lines = text.splitlines(keepends=True)
    end = next((n for n, line in enumerate(lines) if line.startswith("[")), len(lines))
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    before = "".join(lines[:end])
    between = "" if before.endswith("\n") or not before else "\n"
    return f"{before}{between}{added}{''.join(lines[end:])}"
