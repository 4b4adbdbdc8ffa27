"""What comes to mind for a stimulus."""

from __future__ import annotations

from mentis.values.recalled import Recalled, Stimulus
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation

_BASE_SET = Degradation("embedder", "none is configured: the base set of tools, no memories")


def recall(stimulus: Stimulus, *, tools: tuple[ToolDeclaration, ...]) -> Recalled:
    """The bottom step of the ladder: nothing is ranked, nothing is searched, and the trace says so.

    The base set of tools is handed over as it came, in its order; no memory is brought up.
    """
    return Recalled(stimulus, tools=tools, degraded=(_BASE_SET,))
