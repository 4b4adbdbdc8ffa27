"""`read_skill`: how something is done, as its `SKILL.md` says; only where there are skills."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from anyio.to_thread import run_sync

from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .arguments import Arguments
from .kind import BuiltIn, Kind

READ = Kind("read_skill", "core", on=False, limits="one of the home's `skills`, 64 KiB of it")
# The text of a skill by its name; None where there is none.
SkillText: TypeAlias = Callable[[str], str | None]


class ReadSkill(BuiltIn):
    def __init__(self, words: ToolDeclaration, text_of: SkillText) -> None:
        super().__init__(READ.spec(words))
        self._text_of = text_of

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        name = given.text("name", most=200)
        text = await run_sync(self._text_of, name)
        if text is None:
            return self._failed(call, "not_found", f"there is no skill {name!r}")
        told = {"name": name, "text": text}
        return self._done(call, told, Trust.REFERENCE, source=f"skill {name}")
