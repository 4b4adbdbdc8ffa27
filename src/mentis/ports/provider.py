"""The seam to a model. The double is `mentis.call.scripted.ScriptedProvider`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from mentis.values.rendering import Rendering
from mentis.values.route import Route


class Provider(Protocol):
    def open(
        self, rendering: Rendering, route: Route
    ) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """Send it and hand over the answer's wire events, one JSON document each, as they come.

        Leaving the context ends the call, whether or not the answer was complete.
        """
        ...
