"""A suite of cases run through the assembly that a turn goes through; no model is called."""

from __future__ import annotations

import json
from pathlib import Path

from mentis.codec.forms import to_object
from mentis.recall.suite import (
    AssertionOutcome,
    Suite,
    SuiteCase,
    SuiteReport,
    find_suite,
    judge,
    read_suite,
)
from mentis.recall.suite import report as reported

from .agent import Agent


def load_suite(name: str) -> Suite:
    """A file, or the name of a suite that ships."""
    path = Path(name)
    file = path if path.is_file() else find_suite(name)
    return read_suite(file.read_text(encoding="utf-8"), where=name)


async def run_suite(agent: Agent, suite: Suite, *, root: Path | None = None) -> SuiteReport:
    """Every assertion of every case, in order."""
    outcomes: list[AssertionOutcome] = []
    for case in suite.cases:
        outcomes += judge(case, await _output(agent, case, root))
    return reported(suite, outcomes)


async def _output(agent: Agent, case: SuiteCase, root: Path | None) -> str:
    made = await agent.assemble(
        case.task,
        mode=case.mode,
        root=root,
        interactive=case.interactive,
        git_changes=case.git_changes,
    )
    return json.dumps(to_object(made), ensure_ascii=False)
