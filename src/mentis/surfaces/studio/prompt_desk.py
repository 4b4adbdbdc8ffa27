"""The prompts of the home that is served, opened for one page after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from anyio import to_thread

from mentis.errors import LibraryError, PersonaError, RequestRefused
from mentis.library.overlay import merge_block
from mentis.library.shelf import Shelf
from mentis.prompts.prompts import Prompts
from mentis.settings.sources import load_settings
from mentis.values.block import Block
from mentis.web.problems import with_status
from mentis.web.served import ServedParts

from .pages import BuildPage, PageCall, PageData

ROWS = 25  # blocks of a category that come with a page
MORE_ROWS = 200  # and when more are asked for
T = TypeVar("T")
Look = Callable[["PromptLook"], PageData]


@dataclass(frozen=True, slots=True)
class PromptLook:
    """One request for a page about prompts, with the prompts open. `personas` may be seen."""

    call: PageCall
    prompts: Prompts
    personas: tuple[str, ...]
    routes: tuple[str, ...]

    def query(self, name: str, default: str = "") -> str:
        return self.call.request.query_params.get(name, default)

    def number(self, name: str) -> int:
        return self.call.number(name, 0) or 0

    @property
    def persona(self) -> str:
        """The one that was chosen, or the first."""
        chosen = self.query("persona") or (self.personas[0] if self.personas else "")
        if chosen not in self.personas:
            raise PersonaError(
                f"there is no persona {chosen[:80]!r}",
                hint=f"there are: {', '.join(self.personas) or 'none'}",
            )
        return chosen

    @property
    def route(self) -> str:
        return self.prompts.route.name

    def block(self) -> Block:
        """The one that the path names."""
        try:
            return self.prompts.block(self.call.path("block"))
        except LibraryError as error:
            raise with_status(error, 404) from error

    def choices(self) -> PageData:
        """Whom a prompt is shown for, and who else there is."""
        return {
            "persona": self.persona if self.personas else "",
            "personas": list(self.personas),
            "route": self.route,
            "routes": list(self.routes),
        }

    def rows(self, blocks: Iterable[Block]) -> list[PageData]:
        loaded = self.prompts.loaded_library
        return [
            block_row(one, merge_block(one.id, loaded.shipped, loaded.owner).overridden)
            for one in blocks
        ]


@dataclass(slots=True)
class PromptDesk:
    """Keeps what was read of the prompt files, so that a page reads only what changed."""

    served: ServedParts
    _shelf: Shelf | None = field(default=None, init=False)

    def page(self, look: Look) -> BuildPage:
        """A page made by looking at the prompts, in a thread."""

        async def build(call: PageCall) -> PageData:
            call.check_library()
            personas = await call.served.pool.personas(call.token)
            made = await to_thread.run_sync(partial(self._look, call, personas, look))
            return {**made, "editing": call.token.allows("edit")}

        return build

    def _look(self, call: PageCall, personas: tuple[str, ...], look: Look) -> PageData:
        route = call.request.query_params.get("route", "default")
        settings = load_settings(self.served.pool.path, self.served.parts.variables)
        routes = tuple(sorted(settings.model.routes))
        if route not in (*routes, "default"):
            hint = f"there are: {', '.join(routes)}"
            raise RequestRefused(f"there is no route {route[:80]!r}", hint=hint, status=404)
        with self.opened(route) as prompts:
            return look(PromptLook(call, prompts, personas, routes))

    @contextmanager
    def opened(self, route: str) -> Generator[Prompts]:
        """They block."""
        path, parts = self.served.pool.path, self.served.parts
        with Prompts.open(path, route=route, parts=parts, shelf=self._shelf) as prompts:
            self._shelf = prompts.shelf
            yield prompts


def block_row(block: Block, changed: Sequence[str]) -> PageData:
    """A block in a list."""
    return {
        "id": block.id,
        "name": block.name,
        "order": block.order,
        "enabled": block.enabled,
        "category": block.category,
        "position": block.position,
        "own": block.origin == "owner",
        "changed": len(changed),
    }


def window(found: Sequence[T], start: int, most: int) -> tuple[Sequence[T], int | None]:
    """A part of a list, and where the next part begins."""
    end = start + most
    return found[start:end], end if end < len(found) else None
