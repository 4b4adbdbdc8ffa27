from __future__ import annotations

from mentis.recall.recall import recall
from mentis.values.recalled import Stimulus
from mentis.values.tool import ToolDeclaration


def test_the_base_set_is_handed_over_in_its_order_and_the_step_down_is_recorded() -> None:
    tools = (ToolDeclaration("b", "second"), ToolDeclaration("a", "first"))
    recalled = recall(Stimulus("hello", "Robin"), tools=tools)
    assert recalled.stimulus == Stimulus("hello", "Robin")
    assert recalled.tools is tools
    assert recalled.memories == ()
    assert recalled.embedding_calls == 0
    assert [step.part for step in recalled.degraded] == ["embedder"]
