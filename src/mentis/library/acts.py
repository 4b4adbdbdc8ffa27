"""Words for built-in acts, as a model reads them. Their permissions stand beside their code.

`shipped/acts/forms.json` says what each takes, one file per language says it in words;
`shipped/cortex_tools` does the same for the tools of a tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import cast

from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration

from .files import read_members

LANGUAGES = ("english", "german", "french", "portuguese", "spanish")
MESSAGE = "message"  # stands for one act per interface: `message_cli`
DOORWAY = "use_tool"  # is no act: it calls a tool that only the text of a turn tells of
_INTERFACE = "{{interface}}"
_FALLBACK = "english"
_ACTS, _CORTEX = "acts", "cortex_tools"


def load_acts(language: str = _FALLBACK) -> dict[str, ToolDeclaration]:
    """The declarations by name, in the persona's language if that is shipped, else in English.

    Messages are not among them: each interface has its own (`load_message`).
    """
    apart = (MESSAGE, DOORWAY)
    return {name: _declared(name, language) for name in _read("forms") if name not in apart}


def load_doorway(language: str = _FALLBACK) -> ToolDeclaration:
    """The declaration of the call that leads to tools which are not declared themselves."""
    return replace(_declared(DOORWAY, language), strict=False)  # whose arguments nobody knows yet


def load_message(interface: str, language: str = _FALLBACK) -> ToolDeclaration:
    """The declaration of the act that sends messages through one interface."""
    return _declared(MESSAGE, language, interface)


def load_cortex_tools(language: str = _FALLBACK) -> dict[str, ToolDeclaration]:
    """The tools by which a tick changes goals and memory, and writes down what was decided."""
    return {
        name: _declared(name, language, folder=_CORTEX) for name in _read("forms", folder=_CORTEX)
    }


def _declared(
    name: str, language: str, interface: str = "", *, folder: str = _ACTS
) -> ToolDeclaration:
    words = cast("Mapping[str, object]", _words(language, folder)[name])
    told = cast("Mapping[str, str]", words["parameters"])
    form = dict(cast("JsonObject", _read("forms", folder=folder)[name]))
    fields = cast("Mapping[str, JsonObject]", form["properties"])
    form["properties"] = {
        field: {**schema, "description": told[field].replace(_INTERFACE, interface)}
        for field, schema in fields.items()
    }
    return ToolDeclaration(
        name=f"{name}_{interface}" if interface else name,
        description=cast("str", words["description"]).replace(_INTERFACE, interface),
        parameters=form,
    )


def _words(language: str, folder: str) -> JsonObject:
    plain = language.strip().casefold()
    return _read(plain if plain in LANGUAGES else _FALLBACK, folder=folder)


@cache
def _read(name: str, *, folder: str = _ACTS) -> JsonObject:
    return read_members(files("mentis.library") / "shipped" / folder, f"{name}.json")[1]
