"""From what a server says it can do to acts. Every definition is looked at alone: a broken or
hostile one is left out with its reason, and the others work.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

from mentis.act.payloads import refuse_unusable
from mentis.act.registry import MOST_DESCRIPTION
from mentis.act.schemas import checked_declaration
from mentis.errors import BadInput
from mentis.values.act import ActSpec
from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration

from .declared import McpServer, ToolOverride
from .told import OmittedTool

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_MARK = 8
_MOST_TOLD = 50


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool: what it is called there, what it is declared as here, how its results look."""

    tool: str
    spec: ActSpec
    output: JsonObject | None = None


@dataclass(slots=True)
class Sieve:
    """Takes the pages of one listing, raw, and keeps what can be used."""

    server: McpServer
    check: Callable[[JsonObject], None]  # ValueError if the protocol does not allow it
    kept: list[JsonObject] = field(default_factory=list[JsonObject])
    left_out: list[OmittedTool] = field(default_factory=list[OmittedTool])
    over: int = 0
    _bytes: int = 0

    def take(self, page: object) -> list[JsonObject]:
        """What is kept of a page."""
        if not isinstance(page, list):
            self.left_out.append(OmittedTool("", "a page of the list is no list"))
            return []
        before = len(self.kept)
        for tool in cast("list[object]", page):
            self._look(tool)
        return self.kept[before:]

    def _look(self, tool: object) -> None:
        name = cast("JsonObject", tool).get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str) or not name:
            self.left_out.append(OmittedTool("", "a definition without a name"))
        elif self.server.allow and name not in self.server.allow:
            return
        elif len(self.kept) >= self.server.caps.tools:
            self.over += 1
        elif reason := self._fault(cast("JsonObject", tool)):
            self._leave(name, reason)
        else:
            self.kept.append(cast("JsonObject", tool))

    def _fault(self, tool: JsonObject) -> str:
        try:
            size = len(json.dumps(tool, ensure_ascii=False, allow_nan=False).encode())
            if size > self.server.caps.definition_bytes:
                return f"its definition has {size} bytes, over {self.server.caps.definition_bytes}"
            self._bytes += size
            if self._bytes > self.server.caps.listing_bytes:
                return f"all definitions together are over {self.server.caps.listing_bytes} bytes"
            self.check(tool)
        except (ValueError, RecursionError) as error:
            return f"its definition is not what the protocol allows: {_brief(error)}"
        return ""

    def _leave(self, name: str, reason: str) -> None:
        if len(self.left_out) < _MOST_TOLD:
            self.left_out.append(OmittedTool(name[:200], reason))
        else:
            self.over += 1


def acts_of(
    server: McpServer, sieve: Sieve
) -> tuple[tuple[ListedTool, ...], tuple[OmittedTool, ...]]:
    """The acts, sorted by name, and everything that is left out."""
    left_out = list(sieve.left_out)
    unique, doubles = _unique(sieve.kept)
    left_out += doubles
    listed: dict[str, ListedTool] = {}
    # Those whose name needs no change come first: nothing can take it from them.
    for tool in sorted(unique, key=lambda one: _changed(_name(one))):
        try:
            made = _listed(server, tool)
        except BadInput as error:
            left_out.append(OmittedTool(_name(tool), error.message))
            continue
        if (first := listed.setdefault(made.spec.name, made)) is not made:
            reason = f"its name would be {made.spec.name!r}, which is that of {first.tool!r}"
            left_out.append(OmittedTool(made.tool, reason))
    if sieve.over:
        reason = f"{sieve.over} more definitions are over the caps; choose with `allow`"
        left_out.append(OmittedTool("", reason))
    missing = set(server.allow) - {one.tool for one in listed.values()}
    missing -= {one.tool for one in left_out}
    left_out += [
        OmittedTool(name, "allowed, but not in the server's list") for name in sorted(missing)
    ]
    return tuple(listed[name] for name in sorted(listed)), tuple(left_out)


def clean_texts(part: object, clean: Callable[[str], str]) -> object:
    """The same with every text in it cleaned, names too."""
    match part:
        case str():
            return clean(part)
        case Mapping():
            members = cast("JsonObject", part).items()
            return {clean(name): clean_texts(value, clean) for name, value in members}
        case list() | tuple():
            return [clean_texts(item, clean) for item in cast("Sequence[object]", part)]
        case _:
            return part


def offered_name(server: str, tool: str) -> str:
    """A name every provider takes. One that is too long is cut, and marked with its digest."""
    name = f"{server}_{_OTHER.sub('_', tool)}"
    if len(name) <= _LONGEST_NAME:
        return name
    mark = sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{name[: _LONGEST_NAME - _MARK - 1]}_{mark}"


def _unique(tools: Sequence[JsonObject]) -> tuple[list[JsonObject], list[OmittedTool]]:
    """Told twice alike it is one tool; told twice differently nobody knows which it is."""
    different = {json.dumps(tool, sort_keys=True): tool for tool in tools}
    counts = Counter(_name(tool) for tool in different.values())
    reason = "it is defined more than once, and not alike"
    doubles = [OmittedTool(name, reason) for name, count in counts.items() if count > 1]
    return [tool for tool in different.values() if counts[_name(tool)] == 1], doubles


def _listed(server: McpServer, tool: JsonObject) -> ListedTool:
    name = _name(tool)
    override = server.tools.get(name, ToolOverride())
    effects, again = override.external_effects, override.idempotent
    description = str(tool.get("description") or "")
    if len(description) > MOST_DESCRIPTION:
        raise BadInput(
            f"its description has {len(description)} characters, over {MOST_DESCRIPTION}"
        )
    declaration = ToolDeclaration(
        offered_name(server.name, name),
        description,
        cast("JsonObject", tool["inputSchema"]),
        # What a server says of itself is a hint to people; only its owner's word counts here.
        external_effects=True if effects is None else effects,
        idempotent=bool(again),
        trust=server.trust,
    )
    output = cast("JsonObject | None", tool.get("outputSchema"))
    if output is not None:
        refuse_unusable(ToolDeclaration(name, "", output))
    return ListedTool(name, _spec(server, checked_declaration(declaration), override), output)


def _spec(server: McpServer, declaration: ToolDeclaration, override: ToolOverride) -> ActSpec:
    return ActSpec(
        declaration,
        scope=override.scope or "agent",
        source=server.source,
        endpoint=server.source,
        modes=override.modes,
        timeout_seconds=override.timeout_seconds or server.times.call,
        where=server.url or shlex.join(server.command),
        trusted=server.trusted,
    )


def _name(tool: JsonObject) -> str:
    return cast("str", tool["name"])


def _changed(name: str) -> tuple[bool, str]:
    return _OTHER.search(name) is not None, name


def _brief(error: Exception) -> str:
    """What is wrong where; the foreign text around it is left out."""
    errors: object = getattr(error, "errors", None)
    if callable(errors):
        first = cast("list[Mapping[str, object]]", errors())[0]
        place = ".".join(str(step) for step in cast("tuple[object, ...]", first["loc"])[-4:])
        return f"{place}: {first['msg']}"[:200]
    return str(error).split("\n", 1)[0][:200] or type(error).__name__
