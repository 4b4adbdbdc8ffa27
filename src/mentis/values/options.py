"""Options of a call: how a model is to answer, beside what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from .json import JsonObject
from .memo import IdentityMemo
from .value import LATE, Value

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Summary: TypeAlias = Literal["none", "auto", "concise", "detailed"]


@dataclass(frozen=True, slots=True)
class CallOptions(Value):
    """Options of one route, or of one call. What is left out is left to the route, or the provider.

    `tool_choice` is `auto`, `none`, `required` or the name of a tool. `headers` and `body` go out
    as they are; `betas` name features in the provider's own header. `safety` leads from a category
    to a threshold. `server_tools` are declarations of tools that the provider itself executes.
    `cache_diagnostics` asks the provider to compare the prompt with the one that `compared_reply`
    answered: by default the last reply of the conversation.
    """

    temperature: float | None = field(default=None, metadata=LATE)
    top_p: float | None = field(default=None, metadata=LATE)
    top_k: int | None = field(default=None, metadata=LATE)
    min_p: float | None = field(default=None, metadata=LATE)
    frequency_penalty: float | None = field(default=None, metadata=LATE)
    presence_penalty: float | None = field(default=None, metadata=LATE)
    repetition_penalty: float | None = field(default=None, metadata=LATE)
    stop: tuple[str, ...] = field(default=(), metadata=LATE)
    seed: int | None = field(default=None, metadata=LATE)
    max_tokens: int | None = field(default=None, metadata=LATE)
    reasoning_effort: Effort | None = field(default=None, metadata=LATE)
    reasoning_budget: int | None = field(default=None, metadata=LATE)
    reasoning_summary: Summary | None = field(default=None, metadata=LATE)
    tool_choice: str = field(default="", metadata=LATE)
    parallel_calls: bool | None = field(default=None, metadata=LATE)
    service_tier: str = field(default="", metadata=LATE)
    cache_diagnostics: bool | None = field(default=None, metadata=LATE)
    compared_reply: str = field(default="", metadata=LATE)
    betas: tuple[str, ...] = field(default=(), metadata=LATE)
    safety: Mapping[str, str] = field(default_factory=dict[str, str], metadata=LATE, hash=False)
    server_tools: tuple[JsonObject, ...] = field(default=(), metadata=LATE, hash=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], metadata=LATE, hash=False)
    body: JsonObject = field(default_factory=dict[str, object], metadata=LATE, hash=False)

    def chosen(self) -> dict[str, object]:
        """Those that were chosen, by name."""
        return dict(_CHOSEN.remember(_chosen, self))  # every call of a route has the same ones

    def over(self, other: CallOptions) -> CallOptions:
        """These, and where nothing is chosen, those of `other`. Headers and body are joined."""
        mine = self.chosen()
        for name in ("headers", "body"):
            if name in mine:
                mine[name] = {**getattr(other, name), **getattr(self, name)}
        return replace(other, **mine) if mine else other  # pyright: ignore[reportArgumentType]  # by their names


def _chosen(options: CallOptions) -> dict[str, object]:
    found = ((name, getattr(options, name)) for name in OPTION_NAMES)
    return {name: value for name, value in found if value not in (None, "", (), {})}


_CHOSEN = IdentityMemo[dict[str, object]](64)
OPTION_NAMES: tuple[str, ...] = tuple(one.name for one in fields(CallOptions))
NO_OPTIONS = CallOptions()
