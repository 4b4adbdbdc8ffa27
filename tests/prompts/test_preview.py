"""Previews of prompts that were looked at before."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.compose.fate import Fate
from mentis.compose.judge import Judge
from mentis.home.create import create_home
from mentis.prompts.prompts import Prompts
from mentis.values.block import Block


def test_a_second_look_at_the_same_prompts_decides_only_what_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, decided = create_home(tmp_path / "home"), list[str]()
    decide = Judge.consider

    def consider(self: Judge, block: Block) -> Fate:
        decided.append(block.id)
        return decide(self, block)

    monkeypatch.setattr(Judge, "consider", consider)
    with Prompts.open(home) as prompts:
        first, shelf = prompts.preview(), prompts.shelf
    whole = len(decided)
    decided.clear()
    with Prompts.open(home, shelf=shelf) as prompts:
        second = prompts.preview()
        assert len(decided) < whole / 4  # the clock went on
        assert second.request.system_instruction == first.request.system_instruction
        decided.clear()
        prompts.change(lambda editor: editor.toggle("style"))
        assert prompts.preview().trace.blocks != second.trace.blocks
        assert len(decided) > whole / 4


def test_blocks_that_are_looked_at_together_say_what_each_says_alone(tmp_path: Path) -> None:
    with Prompts.open(create_home(tmp_path / "home")) as prompts:
        together = prompts.resolve_category("persona", variant="compact")
        assert len(together) > 1
        for block_id, built in together.items():
            assert built == prompts.resolve(block_id, variant="compact"), block_id


def test_the_effect_of_an_edit_names_the_block_that_was_edited(tmp_path: Path) -> None:
    with Prompts.open(create_home(tmp_path / "home")) as prompts:
        variant = prompts.wording_told("style").variant
        text = prompts.block("style").variants[variant].content
        longer = {variant: {"content": f"{text} Be brief."}}
        _, (written,) = prompts.change(lambda editor: editor.save("style", variants=longer))
        _, (undone,) = prompts.change(lambda editor: editor.undo("style"))
        assert (written.block, undone.block) == ("style", "style")
