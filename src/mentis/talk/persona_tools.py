"""The two tools of a memory update: read and replace one of the persona's three files.

Whatever is wrong with a call is its result, and the update goes on: an unknown name, a file that
was not read, a text that is too long or would lose most of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from mentis.errors import BadInput, LibraryError, PersonaError, StoreConflict
from mentis.library.memory.files import PersonaMemory
from mentis.library.memory.text import NAMES, checked_name
from mentis.values.action import Action, Outcome
from mentis.values.cognition import REVIEW, trust_of
from mentis.values.library import Library
from mentis.values.persona_update import FileChange
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust, least_trusted
from mentis.values.written import dump

READ, WRITE = "read_file", "write_file"
BLOCK = "cortex_update_tools"
MADE = "update"  # begins the words of a revision that an update made
_SHOWN = 200


class FileTools:
    """Does the calls of one update. `lineage` is the least trusted of what the model has read."""

    def __init__(self, memory: PersonaMemory, *, session: str, lineage: Trust) -> None:
        self.lineage = lineage
        self.seen: dict[str, int] = {}  # the revision of each file that was read
        self.written: dict[str, FileChange] = {}
        self.refused: list[str] = []
        self._memory = memory
        self._session = session

    def do_all(self, actions: Iterable[Action]) -> list[Outcome]:
        """One outcome for each call, in their order. It blocks."""
        return [self._do(action) for action in actions]

    def _do(self, action: Action) -> Outcome:
        try:
            result, trust = self._result(action)
            return Outcome(action, "done", text=dump(result).decode(), trust=trust)
        except (BadInput, PersonaError, StoreConflict) as error:
            self.refused.append(f"{action.type[:_SHOWN]}: {error.message}")
            told = {"error": error.message, "hint": error.hint}
            return Outcome(action, "invalid", reason=dump(told).decode(), trust=self.lineage)

    def _result(self, action: Action) -> tuple[dict[str, object], Trust]:
        """And who vouches for it: a file is as trusted as what was written into it."""
        match action.type:
            case "read_file":
                return self._read(_text(action, "filename"))
            case "write_file":
                return self._write(_text(action, "filename"), _text(action, "content"))
            case other:
                hint = f"there are {READ} and {WRITE}"
                raise BadInput(f"there is no tool {other[:_SHOWN]!r}", hint=hint)

    def _read(self, filename: str) -> tuple[dict[str, object], Trust]:
        name = checked_name(filename)
        file = self._memory.read(name)
        self.seen[name] = file.number
        trust = trust_of(self._memory.history(name))
        self.lineage = least_trusted((self.lineage, trust))
        return {"filename": f"{name}.md", "limit": file.limit, "content": file.text}, trust

    def _write(self, filename: str, content: str) -> tuple[dict[str, object], Trust]:
        name = checked_name(filename)
        file = self._memory.read(name)
        if name not in self.seen and not file.empty:
            hint = f"call {READ} first: writing replaces the whole file"
            raise BadInput(f"{name}.md was not read yet", hint=hint)
        review = self.lineage is Trust.UNTRUSTED
        words = f"{MADE} {self._session}{REVIEW if review else ''}"
        done = self._memory.write(
            name, content, words=words, expected=self.seen.get(name, file.number)
        )
        self.seen[name] = done.number
        if done.changed:
            self.written[name] = FileChange(name, done.number, review)
        told = {"filename": f"{name}.md", "revision": done.number, "changed": done.changed}
        return dict[str, object](told), Trust.RUNTIME


def tools_in(library: Library) -> tuple[ToolDeclaration, ...]:
    """The two tools, in the words of the library."""
    block = library.block(BLOCK)
    domain = _object(block.extra.get("domain") if block is not None else None)
    told = _object(domain.get("tool_descriptions"))
    names = [f"{name}.md" for name in NAMES]
    filename: dict[str, object] = {"type": "string", "enum": names}
    return (
        _tool(READ, told, {"filename": filename}),
        _tool(WRITE, told, {"filename": filename, "content": {"type": "string"}}),
    )


def _tool(
    name: str, told: Mapping[str, object], fields: Mapping[str, Mapping[str, object]]
) -> ToolDeclaration:
    words = _object(told.get(name))
    properties = {
        field: {**schema, "description": _word(words, f"{field}_description", name)}
        for field, schema in fields.items()
    }
    form = {
        "type": "object",
        "properties": properties,
        "required": list(fields),
        "additionalProperties": False,
    }
    return ToolDeclaration(name, _word(words, "tool_description", name), form)


def _word(words: Mapping[str, object], key: str, tool: str) -> str:
    found = words.get(key)
    if isinstance(found, str) and found.strip():
        return found
    raise LibraryError(
        f"the block {BLOCK!r} has no {key!r} for {tool!r} in its tool_descriptions",
        hint=f"reset it to how it was shipped: mentis prompts reset {BLOCK}",
        block=BLOCK,
    )


def _text(action: Action, field: str) -> str:
    value = action.payload.get(field)
    if isinstance(value, str):
        return value
    raise BadInput(f"{action.type} needs {field!r} as a text", hint="correct the call")


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
