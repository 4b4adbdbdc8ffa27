"""Operations of the API: what each is called, who may use it, what it takes and answers.

A function becomes one by `OperationTable.get`, `.post` and so on. Its name is the operation's id,
its docstring what is said of it; a parameter `query` or `body` takes what its annotation names,
`raw` the bytes of a body that is no JSON. Routes, the OpenAPI document and the pages of the
reference are all made from these tables.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from mentis.app.agent import Agent
from mentis.home.parts import Parts
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.values.json import json_object
from mentis.values.reply import Delta
from mentis.web.agents import AgentPool
from mentis.web.tokens import AccessToken, Scope, Tokens

from .events import HomeEvents

PREFIX = "/mentis/v1"
Example: TypeAlias = Mapping[str, Any]
Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Handler: TypeAlias = Callable[..., Any]
H = TypeVar("H", bound=Handler)
_PARAMETER = re.compile(r"\{(\w+)\}")
MOST_ITEMS = 1000


class Given(BaseModel):
    """What a client gives: every field is known, and of its type. `example` is for the pages."""

    example: ClassVar[Example] = {}
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Nothing(Given):
    """No parameters."""


class ReasonGiven(Given):
    """Why; it is recorded."""

    example: ClassVar[Example] = {"reason": "I checked it"}

    reason: str = Field(min_length=1)


class PageQuery(Given):
    """A part of a list."""

    limit: int = Field(100, ge=1, le=MOST_ITEMS, description="How many items at most.")
    cursor: str = Field("", description="The `next` of the page before; empty for the first.")


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list; `after` is what the next one begins after, None where there is none."""

    items: list[Any]
    after: str | int | None = None


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """An answer that is no JSON."""

    content: bytes
    media: str
    name: str


@dataclass(frozen=True, slots=True)
class ApiDesk:
    """The home that is served, and what handlers work with."""

    pool: AgentPool
    tokens: Tokens
    parts: Parts
    events: HomeEvents

    @property
    def home(self) -> Path:
        return self.pool.path

    def settings(self) -> Settings:
        """As they are now. It blocks."""
        return load_settings(self.home, self.parts.variables)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request: whose it is and what its path names. `tell` hears a turn's pieces; `last_event`
    is the id of the last event that a reader knows. Of an edit, `seen` is the resource as the
    client knows it (None: whatever it is), and `unchanged` raises where it is another by now.
    """

    desk: ApiDesk
    token: AccessToken
    path: Mapping[str, str] = field(default_factory=dict[str, str])
    tell: Callable[[Delta], None] | None = None
    last_event: str = ""
    seen: object = None
    unchanged: Callable[[], None] | None = None

    @property
    def home(self) -> Path:
        return self.desk.home

    @property
    def persona(self) -> str:
        return self.path["persona"]

    def number(self, name: str) -> int:
        """A part of the path that is a number."""
        return int(self.path[name])

    def seen_number(self, name: str) -> int | None:
        """A number of the resource as the client knows it; None where it knows none."""
        found = json_object(self.seen).get(name)
        return found if isinstance(found, int) else None

    async def agent(self, route: str = "") -> Agent:
        """The agent of the persona in the path."""
        return await self.desk.pool.agent(self.persona, route=route)


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One operation. `guests`: also for those who see only what is theirs. `edits` is the resource
    that it changes, which has to be as the client knows it. `media` is the type of an answer that
    is no JSON, `takes` that of a body that is none. `live`: it can be followed as events.
    """

    method: Method
    path: str
    handler: Handler
    scope: Scope
    answer: Any
    tag: str
    commands: tuple[str, ...] = ()
    guests: bool = False
    edits: Handler | None = None
    media: str = ""
    takes: str = ""
    live: bool = False
    status: int = 200

    @property
    def id(self) -> str:
        return self.handler.__name__

    @property
    def text(self) -> str:
        return inspect.getdoc(self.handler) or ""

    @property
    def summary(self) -> str:
        return self.text.partition("\n\n")[0].replace("\n", " ")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Those in the path."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def query(self) -> type[Given]:
        return self._annotated("query") or Nothing

    @property
    def body(self) -> type[Given] | None:
        return self._annotated("body")

    @property
    def is_paged(self) -> bool:
        return issubclass(self.query, PageQuery)

    def _annotated(self, name: str) -> type[Given] | None:
        known = inspect.get_annotations(self.handler, eval_str=True)
        return cast("type[Given] | None", known.get(name))


class OperationTable:
    """The operations about one thing, in the order in which they are shown and matched."""

    def __init__(self, tag: str, about: str) -> None:
        self.tag = tag
        self.about = about
        self._rows: list[ApiOperation] = []

    def __iter__(self) -> Iterator[ApiOperation]:
        return iter(self._rows)

    def get(self, path: str, answer: object, **more: Any) -> Callable[[H], H]:  # noqa: ANN401  # fields
        return self._adding("GET", path, answer=answer, scope=more.pop("scope", "read"), **more)

    def post(self, path: str, answer: object, **more: Any) -> Callable[[H], H]:  # noqa: ANN401
        return self._adding("POST", path, answer=answer, **more)

    def put(self, path: str, answer: object, **more: Any) -> Callable[[H], H]:  # noqa: ANN401
        return self._adding("PUT", path, answer=answer, **more)

    def patch(self, path: str, answer: object, **more: Any) -> Callable[[H], H]:  # noqa: ANN401
        return self._adding("PATCH", path, answer=answer, **more)

    def delete(self, path: str, answer: object, **more: Any) -> Callable[[H], H]:  # noqa: ANN401
        return self._adding("DELETE", path, answer=answer, **more)

    def _adding(self, method: Method, path: str, **more: Any) -> Callable[[H], H]:  # noqa: ANN401
        def add(handler: H) -> H:
            self._rows.append(ApiOperation(method, path, handler, tag=self.tag, **more))
            return handler

        return add
