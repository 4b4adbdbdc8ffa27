"""Counts tokens. The double is `mentis.engines.estimate.EstimatingCounter`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.trace import TokenCount


class TokenCounter(Protocol):
    def count(self, text: str) -> TokenCount: ...
