"""Files for tools that the caller executes: their declarations, and the results of their calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from mentis.errors import BadInput

from .files import read_text

if TYPE_CHECKING:
    from mentis.values.tool import ToolDeclaration

_TOOLS_FORM = 'for example [{"name": "lookup", "description": "...", "parameters": {...}}]'


def read_results(file: str) -> dict[str, str]:
    """What came of each call, by its id."""
    from mentis.codec.strict_json import read_outside

    found = read_outside(read_text(file), what=file)
    results = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    if not results or not all(isinstance(text, str) for text in results.values()):
        raise BadInput(
            f"{file} holds no object of texts, one for the id of each call",
            hint='for example {"call_1": "17 degrees"}; `chat --json` has the ids in `calls`',
        )
    return cast("dict[str, str]", results)


def read_tools(file: str) -> tuple[ToolDeclaration, ...]:
    """What is declared to the model."""
    from mentis.codec.forms import from_json
    from mentis.codec.strict_json import read_outside
    from mentis.values.tool import ToolDeclaration

    found = read_outside(read_text(file), what=file)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    if not listed:
        raise BadInput(
            f"{file} holds no list of tools",
            hint=_TOOLS_FORM,
        )
    try:
        return tuple(from_json(ToolDeclaration, json.dumps(one)) for one in listed)
    except BadInput as error:
        raise BadInput(f"{file}: {error.message}", hint=_TOOLS_FORM) from error
