"""Every value, whatever is in it, comes back from its JSON form as it was."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mentis.values
from mentis.codec.forms import from_json, schema_of, to_json, to_object
from mentis.values.value import Value

JSON_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON_VALUES = st.recursive(
    JSON_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def value_classes() -> list[type[Value]]:
    modules = pkgutil.iter_modules(mentis.values.__path__, "mentis.values.")
    members = [vars(importlib.import_module(module.name)).values() for module in modules]
    classes = {thing for things in members for thing in things if isinstance(thing, type)}
    values = [cls for cls in classes if issubclass(cls, Value) and cls is not Value]
    return sorted(values, key=lambda cls: cls.__name__)


CLASSES = value_classes()


def anything_of(annotation: object, depth: int = 3) -> st.SearchStrategy[Any]:
    """A strategy for one annotation of a field; `object` means any JSON."""
    arguments = get_args(annotation)
    many = min(depth, 2)
    match get_origin(annotation):
        case None:
            return anything_plain(annotation, depth)
        case origin if origin is tuple:
            return anything_in_a_row(arguments, depth)
        case origin if depth == 0 and origin is Mapping:
            return st.just(dict[str, Any]())
        case origin if origin is Mapping:
            return st.dictionaries(st.text(), anything_of(arguments[1], depth), max_size=many)
        case origin if origin in (Union, UnionType):
            return st.one_of([anything_of(choice, depth) for choice in arguments])
        case _:
            return st.sampled_from(arguments)


def anything_in_a_row(arguments: tuple[object, ...], depth: int) -> st.SearchStrategy[Any]:
    if arguments[-1] is not Ellipsis:
        return st.tuples(*(anything_of(one, depth) for one in arguments))
    if depth == 0:
        return st.just(())
    return st.lists(anything_of(arguments[0], depth), max_size=min(depth, 2)).map(tuple)


def anything_plain(annotation: object, depth: int) -> st.SearchStrategy[Any]:
    if annotation is object:
        return JSON_VALUES
    if annotation is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if annotation is Decimal:
        return st.decimals(allow_nan=False, allow_infinity=False)
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return any_value(annotation, max(depth - 1, 0))
    return st.from_type(cast("type[Any]", annotation))


@cache
def any_value(cls: type[Any], depth: int = 3) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    return st.builds(cls, **{name: anything_of(hints[name], depth) for name in field_names(cls)})


def field_names(cls: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]


def told_names(cls: type[Any], value: Value) -> list[str]:
    """All of them, but those that came later and say nothing: old bytes stay as they were."""
    late = [one for one in dataclasses.fields(cls) if one.metadata.get("late")]
    silent = {one.name for one in late if getattr(value, one.name) == default_of(one)}
    return [name for name in field_names(cls) if name not in silent]


def default_of(one: dataclasses.Field[Any]) -> object:
    return one.default if one.default_factory is dataclasses.MISSING else one.default_factory()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_value_is_a_frozen_slotted_dataclass(cls: type[Value]) -> None:
    assert dataclasses.is_dataclass(cls)
    assert "__slots__" in vars(cls)
    assert not any("__dict__" in vars(base) for base in cls.__mro__)
    assert cls.__setattr__ is not object.__setattr__


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(max_examples=20)
@given(data=st.data())
def test_a_value_comes_back_from_its_json_form(cls: type[Value], data: st.DataObject) -> None:
    value = data.draw(any_value(cls))
    written = to_json(value)
    assert from_json(cls, written) == value
    assert to_json(from_json(cls, written)) == written
    assert list(json.loads(written)) == list(to_object(value)) == told_names(cls, value)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_schema_of_a_value_refuses_unknown_keys(cls: type[Value]) -> None:
    schema = schema_of(cls)
    definitions: Any = schema.get("$defs", {})
    closed: Any = definitions[cls.__name__] if "$ref" in schema else schema
    assert closed["additionalProperties"] is False
    assert set(closed["properties"]) == set(get_type_hints(cls)) - {"__pydantic_config__"}
