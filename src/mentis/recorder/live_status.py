"""The line about a recording that goes on: calls, tokens, money, the last loss of the cache."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from threading import Lock

from mentis.record.foreign_calls import ForeignCall
from mentis.values.words import quantity


class LiveStatus:
    """Counts calls as they are recorded; another thread may ask for the line meanwhile."""

    def __init__(self, agent: str, calls: Iterable[ForeignCall] = ()) -> None:
        self._agent = agent
        self._calls = self._input = self._cached = self._output = self._unpriced = 0
        self._usd = Decimal(0)
        self._loss = ""
        self._lock = Lock()
        for call in calls:
            self.add(call)

    def add(self, call: ForeignCall) -> None:
        with self._lock:
            self._calls += 1
            if call.usage is not None:
                self._input += call.usage.input
                self._cached += call.usage.cache_read
                self._output += call.usage.output
                self._usd += call.usd or 0
                self._unpriced += call.usd is None
            if call.lost:
                where = call.place or call.reason
                self._loss = f"last loss {_short(call.lost)} in entry {call.entry}: {where}"

    def line(self) -> str:
        """On one line, with no control characters in it."""
        with self._lock:
            words = [f"{self._agent}: {quantity(self._calls, 'call')}"]
            if self._input or self._output:
                share = f" ({100 * self._cached // self._input} % cached)" if self._input else ""
                words.append(f"{_short(self._input)} in{share}, {_short(self._output)} out")
                words.append(self._money())
            words += [self._loss] if self._loss else []
        told = ", ".join(words)
        return "".join(char if char.isprintable() else "?" for char in told)

    def _money(self) -> str:
        """Never $0.00 for what nobody knows."""
        if self._unpriced and not self._usd:
            return "unknown price"
        known = f"${self._usd:.4f}" if self._usd < 1 else f"${self._usd:.2f}"
        return f"{known} and more" if self._unpriced else known


def _short(tokens: int) -> str:
    return str(tokens) if tokens < 10_000 else f"{tokens / 1000:.0f}k"
