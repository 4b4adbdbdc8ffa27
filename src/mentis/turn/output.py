"""The form that an answer is held to: made of a type or a JSON Schema, read back from the words.

A type is any that pydantic knows: a model, a dataclass, a TypedDict, a union, a list of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from mentis.act.payloads import fault_in
from mentis.act.schemas import checked_declaration
from mentis.errors import BadInput, OutputInvalid
from mentis.settle.correction import Failure
from mentis.settle.found import FoundJson, find_json
from mentis.settle.lenient import refuse_constant
from mentis.settle.optionals import without_nulls
from mentis.values.output import OUTPUT_MEMBER, OutputSchema
from mentis.values.reply import AgainDelta, Delta, OutputDelta, Reply, StepDelta, TextDelta
from mentis.values.tool import ToolDeclaration
from mentis.values.written import dump

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")
_MOST_FAULTS = 5
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_INNER = ("#/$defs/", "#/definitions/")
_DEFINITIONS = ("$defs", "definitions")
# Partial objects are read anew each time: not for every letter of a long text.
_FEWER = 64
_BROKEN = ("interrupted", "error", "cut_off")


@dataclass(frozen=True, slots=True)
class OutputForm(Generic[T]):
    """`check` makes the value of plain data, or raises OutputInvalid; `look` the value of a part of
    it, or None where the part does not pass yet.
    """

    schema: OutputSchema
    check: Callable[[object], T]
    look: Callable[[object], T | None]

    def read(self, text: str) -> T:
        """The value that the text gives; OutputInvalid with all that is wrong with it."""
        data = _json_in(text)
        schema = self.schema.schema
        data = without_nulls(data, schema, schema)
        if not self.schema.wrapped:
            return self.check(data)
        members = cast("dict[str, object]", data if isinstance(data, dict) else {})
        if set(members) != {OUTPUT_MEMBER}:
            raise _invalid([f"the answer is not an object with the member {OUTPUT_MEMBER!r}"])
        return self.check(members[OUTPUT_MEMBER])

    def part(self, text: str) -> OutputDelta | None:
        """What the beginning of a text gives so far; None where that is nothing."""
        from pydantic_core import from_json

        start = text.find("{")
        try:
            data: object = from_json(text[start:], allow_partial="trailing-strings")
        except ValueError:
            return None
        if self.schema.wrapped:
            members = cast("Mapping[str, object]", data)
            if OUTPUT_MEMBER not in members:
                return None
            data = members[OUTPUT_MEMBER]
        return OutputDelta(data, self.look(data))


def output_form(kind: TypeForm[T] | Mapping[str, object]) -> OutputForm[T]:
    """BadInput where no form of an answer can be made of it."""
    if isinstance(kind, Mapping):
        return cast("OutputForm[T]", schema_form(_schema_of(cast("Mapping[str, object]", kind))))
    try:
        return cast("OutputForm[T]", _form_of_type(kind))
    except TypeError:  # a type that cannot be a key is made anew each time
        return cast("OutputForm[T]", _form_of_type.__wrapped__(kind))


def schema_form(schema: OutputSchema) -> OutputForm[object]:
    """The form of plain data, checked against the schema alone."""
    tool = ToolDeclaration(schema.name, "", schema.schema)

    def check(data: object) -> object:
        told = {OUTPUT_MEMBER: data} if schema.wrapped else data
        if not isinstance(told, dict):
            raise _invalid([f"it is {type(told).__name__}, and not an object"])
        if fault := fault_in(cast("dict[str, object]", told), tool):
            raise _invalid(fault.split("; "))
        return data

    return OutputForm(schema, check, _passing(check))


@lru_cache(maxsize=128)
def _form_of_type(kind: object) -> OutputForm[Any]:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter = TypeAdapter(cast("Any", kind))
        schema = _plain_unions(adapter.json_schema())
    except (PydanticUserError, NameError) as error:
        raise BadInput(
            f"{_title(kind)} cannot be the form of an answer: {str(error).splitlines()[0]}",
            hint="give a pydantic model, a dataclass, a TypedDict, a union or a JSON Schema",
        ) from error

    def check(data: object) -> object:
        try:
            return adapter.validate_json(dump(data))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            told = [(".".join(map(str, one["loc"])) or "answer", one["msg"]) for one in faults]
            raise _invalid([f"{place}: {said}" for place, said in told]) from error

    def look(data: object) -> object:
        try:
            return adapter.validate_json(dump(data), experimental_allow_partial="trailing-strings")
        except ValidationError:
            return None

    return OutputForm(_rooted(schema, _title(kind)), check, look)


def _passing(check: Callable[[object], T]) -> Callable[[object], T | None]:
    def look(data: object) -> T | None:
        try:
            return check(data)
        except OutputInvalid:
            return None

    return look


def _schema_of(given: Mapping[str, object]) -> OutputSchema:
    title = given.get("title")
    schema = _rooted(given, title if isinstance(title, str) else "")
    try:
        copied = checked_declaration(ToolDeclaration(schema.name, "", schema.schema))
    except BadInput as error:
        why = error.message.partition("cannot be used: ")[2] or error.message
        raise BadInput(
            f"the schema of the answer cannot be used: {why}",
            hint="write a JSON Schema in plain JSON; references may only point inside it (#/...)",
        ) from error
    return replace(schema, schema=copied.parameters)


def _rooted(schema: Mapping[str, object], title: str) -> OutputSchema:
    """As the schema of an object: what is none becomes the one member of one."""
    name = _NAME.sub("_", title).strip("_")[:60] or "answer"
    if schema.get("type", "object" if "properties" in schema else "") == "object":
        return OutputSchema(name, dict(schema))
    if outside := [one for one in _references(schema) if not one.startswith(_INNER)]:
        raise BadInput(
            f"the schema of the answer cannot be used: {outside[0]!r} is not among its definitions",
            hint="move what it points to under $defs",
        )
    inner = {name: part for name, part in schema.items() if name not in _DEFINITIONS}
    held = {name: schema[name] for name in _DEFINITIONS if name in schema}
    made: dict[str, object] = {
        "type": "object",
        "properties": {OUTPUT_MEMBER: inner},
        "required": [OUTPUT_MEMBER],
        "additionalProperties": False,
    }
    return OutputSchema(name, made | held, wrapped=True)


def _references(node: object) -> Iterable[str]:
    if isinstance(node, Mapping):
        members = cast("Mapping[str, object]", node)
        if isinstance(found := members.get("$ref"), str):
            yield found
        for part in members.values():
            yield from _references(part)
    elif isinstance(node, list | tuple):
        for part in cast("Iterable[object]", node):
            yield from _references(part)


def _plain_unions(node: object) -> Any:  # noqa: ANN401  # as it came
    """A union told apart by one of its members is any of its parts: few wires know the other
    word, and the type itself is what the answer is checked against.
    """
    if isinstance(node, list):
        return [_plain_unions(part) for part in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    members = {name: _plain_unions(part) for name, part in cast("dict[str, object]", node).items()}
    if "discriminator" in members and "oneOf" in members:
        del members["discriminator"]
        members["anyOf"] = members.pop("oneOf")
    return members


def _title(kind: object) -> str:
    return getattr(kind, "__name__", "") or str(kind)


def _json_in(text: str) -> object:
    """Bare, or in a fence, or with words around it."""
    try:
        return cast("object", json.loads(text, parse_constant=refuse_constant))
    except (ValueError, RecursionError) as error:
        found = find_json(text)
        if isinstance(found, FoundJson):
            return found.value
        raise _invalid([f"it is not JSON: {found.hint or error}"]) from error


def _invalid(faults: list[str]) -> OutputInvalid:
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return OutputInvalid(
        f"the answer is not in the form that was asked for: {faults[0]}{more}",
        hint="ask again, make the form simpler, or raise correction.calls",
        problems=faults[:_MOST_FAULTS],
    )


def output_failures(
    form: OutputForm[Any] | None, reply: Reply, answering: tuple[ToolDeclaration, ...]
) -> tuple[Failure, ...]:
    """What is wrong with an answer that calls nothing more, by its form."""
    if form is None or reply.actions or reply.stop in _BROKEN:
        return ()
    try:
        form.read(reply.text)
    except OutputInvalid as error:
        name = answering[0].name if answering else ""
        fixable = reply.stop != "filtered"
        return tuple(Failure("rule", one, "", name, fixable) for one in error.problems)
    return ()


class OutputPieces:
    """Tells the pieces of an answer on, and after them the object as far as it has come."""

    def __init__(self, form: OutputForm[Any], on_delta: Callable[[Delta], None]) -> None:
        self._form = form
        self._tell = on_delta
        self._text = ""
        self._looked = 0
        self._last: OutputDelta | None = None

    def __call__(self, delta: Delta) -> None:
        self._tell(delta)
        if isinstance(delta, AgainDelta | StepDelta):
            self._text, self._looked, self._last = "", 0, None
        elif isinstance(delta, TextDelta):
            self._text += delta.text
            if len(self._text) - self._looked > len(self._text) // _FEWER:
                self._look()

    def _look(self) -> None:
        self._looked = len(self._text)
        part = self._form.part(self._text)
        if part is not None and part != self._last:
            self._last = part
            self._tell(part)
