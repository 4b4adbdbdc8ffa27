"""A home that is served, as it is handed to every surface that has doors to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mentis.home.parts import Parts
from mentis.settings.web import WebSettings

from .agents import AgentPool
from .application import AppState, Door
from .browsers import BrowserSessions
from .tokens import Tokens


@dataclass(frozen=True, slots=True)
class ServedParts:
    """One home, its agents, its tokens and the browsers that were let in."""

    pool: AgentPool
    tokens: Tokens
    settings: WebSettings
    parts: Parts
    state: AppState
    browsers: BrowserSessions


MakeDoors: TypeAlias = Callable[[ServedParts], list[Door]]
