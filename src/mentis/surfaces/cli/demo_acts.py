"""The parts of the demo where the agent acts: in a turn, and in ticks by itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .demo_tool import show_tool
from .output import emit

if TYPE_CHECKING:
    from mentis.app.agent import Agent
    from mentis.tick.cortex import TickResult

    from .demo import Checks

SENSES = (
    "Remember that my name is Bo.",
    "Use lights: hall, on.",
    "Turn on the light in the kitchen.",
    "Switch the lights in the hall off.",
)
# A small model, and no dice: it should do the same each time.
_CHOSEN = {
    "MENTIS_ROUTES__DEFAULT__TEMPERATURE": "0",
    "MENTIS_CORTEX__PRIMARY_TOKENS": "90",
    "MENTIS_CORTEX__SECONDS": "600",
    "MENTIS_TURN__MAX_STEPS": "2",
}


def show_acts(home: Path, checks: Checks) -> None:
    """Let it use a tool; then let it sense one thing after the other until it has both acted and
    kept something.
    """
    import anyio

    from mentis.act.functions import act
    from mentis.app.agent import Agent
    from mentis.home.parts import Parts

    @act
    def lights(room: Literal["kitchen", "hall"], on: bool) -> str:
        """Switch the lights of a room."""
        return f"The lights in the {room} are {'on' if on else 'off'}."

    async def think() -> None:
        parts = Parts(handlers=(lights,), environ={**os.environ, **_CHOSEN})
        async with Agent.open(home, parts=parts) as agent:
            await show_tool(agent, checks)
            checks.part("6. It thinks by itself: acts, goals, memory")
            before = len(agent.entries())
            ticks = await _ticks(agent, checks)
            _claim(agent, ticks, before, checks)

    checks.part("5. It uses a tool, and is told what came of it")
    anyio.run(think)


async def _ticks(agent: Agent, checks: Checks) -> list[TickResult]:
    from mentis.values.cognition import Sense
    from mentis.values.trust import Trust

    ticks: list[TickResult] = []
    for number, text in enumerate(SENSES, 1):
        sense = Sense(f"demo-{number}", "message", {"text": text}, Trust.OWNER, "owner")
        ticks.append(await agent.tick([sense]))
        if not checks.quiet:
            _show(text, ticks[-1])
        if _acts(ticks) and _patches(ticks):
            break
    return ticks


def _show(text: str, ticked: TickResult) -> None:
    emit(f"  sense  {text}")
    for one in ticked.outcomes:
        emit(f"  act    {one.action.type} {dict(one.action.payload)}: {one.state}")
    report = ticked.tick.report
    for one in (*report.goal_ops, *report.memory_ops):
        emit(f"  {'kept' if one.applied else 'not ':<6} {one.op.op} {getattr(one.op, 'text', '')}")


def _acts(ticks: list[TickResult]) -> int:
    return sum(one.state == "done" for ticked in ticks for one in ticked.outcomes)


def _patches(ticks: list[TickResult]) -> int:
    reports = [ticked.tick.report for ticked in ticks if not ticked.unsaved]
    return sum(one.applied for report in reports for one in (*report.goal_ops, *report.memory_ops))


def _claim(agent: Agent, ticks: list[TickResult], before: int, checks: Checks) -> None:
    acts, patches = _acts(ticks), _patches(ticks)
    checks.claim("it acted by itself, and something came of it", acts > 0, f"{acts} acts")
    checks.claim(
        "it changed what it wants or holds in mind",
        patches > 0,
        f"revision {ticks[-1].state.revision}",
    )
    added = agent.entries()[before:]
    bound = [entry for entry in added if entry.kind == "turn"]
    verdict = agent.verify()
    checks.claim(
        "each tick is one entry, and the record with its acts verifies",
        verdict.intact and len(bound) == len(ticks),
        f"{len(added)} entries more",
    )
