"""How two prompts differ, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True, slots=True)
class PromptDifference(Value):
    """`where` is a layer of the prompt and what stands in it; `diff` is a unified difference."""

    where: str
    diff: str
