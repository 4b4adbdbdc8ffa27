"""An OpenAPI document of version 3.0 or 3.1, as JSON: what is in it, by name.

Nothing is fetched, and nothing is turned into a schema before somebody chooses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias, cast

from mentis.codec.forms import parse
from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.value import Value

Method: TypeAlias = Literal["get", "put", "post", "delete", "options", "head", "patch", "trace"]
METHODS: tuple[Method, ...] = (
    "get",
    "put",
    "post",
    "delete",
    "options",
    "head",
    "patch",
    "trace",
)
MOST_BYTES = 64 * 1024 * 1024
_MOST_STEPS = 16
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it stands there; `shared` are the parameters of all of its path."""

    id: str
    method: Method
    path: str
    content: JsonObject
    shared: Sequence[object]


@dataclass(frozen=True, slots=True)
class OperationProblem(Value):
    """Something of a document that is left out or shortened. `place` is an act, or where it is."""

    place: str
    reason: str


class Document:
    """`name` is what errors call it. `problems` are parts of it that cannot be read: what else
    is in it can be used all the same.
    """

    def __init__(self, root: JsonObject, name: str) -> None:
        self.name = name
        self.root = root
        version = root.get("openapi")
        if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
            said = version or root.get("swagger") or "none"
            raise self.refusal(
                f"its version is {said!r}", "convert it to OpenAPI 3.0 or 3.1, which are known"
            )
        self.old = version.startswith("3.0")
        self.problems: list[OperationProblem] = []
        self._operations: dict[str, list[Operation]] = {}
        for operation in self._all():
            self._operations.setdefault(operation.id, []).append(operation)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._operations))

    def operation(self, name: str) -> Operation:
        """The one of that operationId, or of a name made from method and path (`get_pets_id`)."""
        found = self._operations.get(name, [])
        if len(found) == 1:
            return found[0]
        if found:
            where = " and ".join(f"{one.method.upper()} {one.path}" for one in found[:2])
            raise self.refusal(
                f"the operation {name!r} is there {len(found)} times: {where}",
                "give each an operationId of its own",
            )
        near = get_close_matches(name, self._operations, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "list the names it has"
        if self.problems:
            first = self.problems[0]
            hint = f"it may be in what cannot be read: {first.place}: {first.reason}; or {hint}"
        raise self.refusal(f"there is no operation {name!r}", hint)

    def at(self, reference: str) -> object:
        """What a reference points at; BadInput when that is nowhere in here."""
        if not reference.startswith("#/"):
            raise self.refusal(
                f"$ref {reference[:100]!r} points outside of it", "bundle it into one document"
            )
        found = cast("object", self.root)
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            members: JsonObject = cast("JsonObject", found) if isinstance(found, Mapping) else {}
            if key not in members:
                raise self.refusal(f"$ref {reference[:100]!r} points at nothing", "mend it")
            found = members[key]
        return found

    def resolve(self, part: object) -> JsonObject:
        """An object, or the one its references lead to in the end."""
        for _ in range(_MOST_STEPS):
            if not isinstance(part, Mapping):
                raise self.refusal(f"{part!r:.80} stands where an object is needed", "mend it")
            members: JsonObject = part  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
            reference = members.get("$ref")
            if not isinstance(reference, str):
                return members
            part = self.at(reference)
        raise self.refusal("a $ref leads back to itself", "mend it")

    def refusal(self, why: str, hint: str) -> BadInput:
        return BadInput(f"{self.name}: {why}", hint=hint, document=self.name)

    def _all(self) -> Iterator[Operation]:
        paths = self.root.get("paths", {})
        for path, item in cast("JsonObject", paths if isinstance(paths, Mapping) else {}).items():
            members = self._readable(path, item) or {}
            listed = members.get("parameters", [])
            shared = cast("list[object]", listed) if isinstance(listed, list) else []
            for method in METHODS:
                if method not in members:
                    continue
                content = self._readable(f"{method.upper()} {path}", members[method])
                if content is not None:
                    yield Operation(_name(method, path, content), method, path, content, shared)

    def _readable(self, place: str, part: object) -> JsonObject | None:
        """The object it is or refers to; None, and a problem, when there is none."""
        try:
            return self.resolve(part)
        except BadInput as error:
            reason = error.message.removeprefix(f"{self.name}: ")
            self.problems.append(OperationProblem(place, reason))
            return None


def _name(method: Method, path: str, content: JsonObject) -> str:
    given = content.get("operationId")
    name = given if isinstance(given, str) and given else f"{method}_{path.strip('/{}')}"
    return _OTHER.sub("_", name).strip("_")


def read_document(content: bytes, *, name: str = "openapi.json") -> Document:
    """Read a document; BadInput when it is not JSON, not OpenAPI, or too large."""
    if len(content) > MOST_BYTES:
        raise BadInput(
            f"{name}: it has {len(content)} bytes, and {MOST_BYTES} are allowed",
            hint="cut out the paths that are not needed",
            document=name,
        )
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        raise BadInput(
            f"{name}: this is no JSON object; an OpenAPI document in YAML is not read",
            hint="convert it to JSON first",
            document=name,
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: not UTF-8 at byte {error.start}", hint="save it so") from error
    return Document(cast("JsonObject", parse(text, what=name)), name)
