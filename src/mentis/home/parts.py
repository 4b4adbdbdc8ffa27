"""Parts that may be exchanged when an agent is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mentis.ports.act_handler import ActHandler
from mentis.ports.channel import Channel
from mentis.ports.clock import Clock
from mentis.ports.embedder import Embedder
from mentis.ports.ids import Ids
from mentis.ports.provider import Provider
from mentis.ports.screener import Screener
from mentis.settle.correction import Failure
from mentis.values.reply import Reply

from .events import OnEvent

OnLoading: TypeAlias = Callable[[str], None]
# What a reply must be like beside its form: it says what is wrong, or nothing.
Rule: TypeAlias = Callable[[Reply], Sequence[Failure]]


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of an agent that a program brings itself: for tests, or to exchange an engine.

    What is None becomes the real thing. `handlers` are acts of your own; each of the `channels`
    makes an act `message_NAME`.
    """

    provider: Provider | None = None
    clock: Clock | None = None
    ids: Ids | None = None
    salts: Callable[[], bytes] | None = None  # of the inventory; 16 bytes nobody can guess
    environ: Mapping[str, str] | None = None
    handlers: tuple[ActHandler, ...] = ()
    channels: tuple[Channel, ...] = ()
    rules: tuple[Rule, ...] = ()
    embedder: Embedder | None = None
    screener: Screener | None = None
    on_loading: OnLoading | None = None
    on_retry: Callable[[str], None] | None = None
    on_event: OnEvent | None = None
    secret: bytes | None = field(default=None, repr=False)

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment: the one that was given, else that of the process."""
        return os.environ if self.environ is None else self.environ
