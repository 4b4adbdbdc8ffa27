"""The event loop of a program that does nothing but serve."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TypeVar, TypeVarTuple

import anyio

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# Python looks for circles of dead objects after every 700 new ones, which is made for scripts: a
# turn makes that many a dozen times over, and leaves none. Ten thousand are a few megabytes.
_NEW_OBJECTS = 10_000


def run_loop(main: Callable[[*Ts], Awaitable[T]], *arguments: *Ts) -> T:
    """Run it on the quicker loop where there is one: there is none for Windows."""
    return anyio.run(main, *arguments, backend_options=loop_options())


def loop_options() -> dict[str, bool]:
    """Options of the loop for anyio; from here on this process is one that serves."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    return {"use_uvloop": find_spec("uvloop") is not None}
