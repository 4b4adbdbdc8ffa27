"""The acts that every agent has, put on the stores of its home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from mentis.act.builtin.channels import OutboxChannel
from mentis.act.builtin.goals import UpdateGoal
from mentis.act.builtin.memories import Notes, Recall, Remember
from mentis.act.builtin.memory_files import ReadMemoryFile, WriteMemoryFile
from mentis.act.builtin.messages import SendMessage
from mentis.act.builtin.rest import Sleep
from mentis.act.builtin.results import ReadResult
from mentis.act.builtin.shell import Shell, ShellLimits
from mentis.act.builtin.skills import ReadSkill
from mentis.act.builtin.web import WebFetch, WebLimits
from mentis.act.builtin.windows import SaveStatus
from mentis.act.entries import KIND
from mentis.disk.inside import inside
from mentis.home.ground import Ground
from mentis.home.redaction import known_keys
from mentis.home.server import open_revisions
from mentis.home.signing import open_pin
from mentis.library.acts import load_acts, load_message
from mentis.net.reach import Reach
from mentis.ports.act_handler import ActHandler
from mentis.ports.channel import Channel
from mentis.ports.clock import Clock
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.acts import CHOSEN, ActSettings
from mentis.settle.patches import patch_goal
from mentis.status.desk import OpenLedger, StatusWorkspace, folder_of, rules_of
from mentis.status.statuses import Statuses
from mentis.stores.sqlite.database import Database
from mentis.stores.states import States
from mentis.values.cognition import CognitionState
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.status import WindowResult
from mentis.values.tick import GoalPatchOp, OpReport
from mentis.values.tool import ToolDeclaration

from .skill_texts import SKILLS, has_skills, skill_text

Make: TypeAlias = Callable[[ToolDeclaration], ActHandler]
_SOURCE = "act:save_status"  # of windows that came this way


def built_in(ground: Ground, chosen: ActSettings, notes: Notes) -> Iterator[ActHandler]:
    """Those that `chosen` names, with words in the persona's language."""
    language = ground.persona.language
    words, makers = load_acts(language), _makers(ground, notes)
    for name in CHOSEN if chosen.builtin is None else chosen.builtin:
        yield makers[name](words[name])
    if chosen.programs:
        limits = ShellLimits(chosen.programs, chosen.program_path)
        yield Shell(words["shell"], ground.home.path, limits)
    if chosen.hosts:
        reach = Reach(chosen.hosts, chosen.private_hosts)
        yield WebFetch(words["web_fetch"], WebLimits(reach))
    if has_skills(ground.home.path / SKILLS):
        yield read_skill(ground)
    channels = dict(_channels(ground, chosen.outbox))
    for interface in channels:
        yield SendMessage(load_message(interface, language), interface, channels)


def read_skill(ground: Ground) -> ActHandler:
    """There while the home has skills."""
    words = load_acts(ground.persona.language)["read_skill"]
    return ReadSkill(words, partial(skill_text, ground.home.path / SKILLS))


def _channels(ground: Ground, outbox: str) -> Iterator[tuple[str, Channel]]:
    if outbox:
        folder = Path(outbox) if Path(outbox).is_absolute() else inside(ground.home.path, outbox)
        yield "outbox", OutboxChannel(folder)
    for channel in ground.channels:
        yield channel.interface, channel


def _patched(
    ground: Ground, state: CognitionState, op: GoalPatchOp
) -> tuple[CognitionState, OpReport]:
    """What was made of outside text takes nothing from the owner, in a talk as in a tick."""
    guards = op.review and ground.act_settings.policy != "open"
    limits = replace(ground.settings.model.cortex.patch_limits(), guards_owner=guards)
    return patch_goal(state, op, limits)


def _makers(ground: Ground, notes: Notes) -> Mapping[str, Make]:
    files, results = ground.memory, KnownResults(ground.ledger)
    states = partial(open_states, ground.database, ground.clock)
    patched = partial(_patched, ground)
    return {
        "remember": lambda words: Remember(words, notes),
        "recall": lambda words: Recall(words, notes),
        "read_memory_file": lambda words: ReadMemoryFile(words, files),
        "write_memory_file": lambda words: WriteMemoryFile(words, files),
        "update_goal": lambda words: UpdateGoal(words, states(), patched),
        "sleep": lambda words: Sleep(words, ground.clock),
        "save_status": lambda words: SaveStatus(words, partial(_add, _windows(ground))),
        "read_result": lambda words: ReadResult(
            words, ground.blobs, results.knows, inline_bytes=ground.act_settings.inline_bytes
        ),
    }


def open_states(database: Database, clock: Clock) -> States:
    return States(open_revisions(database), clock)


def _windows(ground: Ground) -> Statuses:
    """The one service of windows, on the ledger that is open already."""
    home, settings, persona = ground.home, ground.settings, ground.persona.id
    opened = OpenLedger(ground.ledger, ground.ledger)
    desk = StatusWorkspace(
        ground.agent,
        folder_of(home, persona, settings),
        open_store=lambda: opened,
        open_rules=lambda: rules_of(home, settings),
        clock=ground.clock,
        ids=ground.ids,
        pin=open_pin(settings),
        keys=known_keys(settings, ground.environ),
    )
    return Statuses(desk)


def _add(statuses: Statuses, window: JsonObject, delivery: str) -> WindowResult:
    return statuses.add(window, source=_SOURCE, delivery=delivery, own=True)


class KnownResults:
    """Which large results an agent was told of, as its ledger says; it is read on, not again."""

    def __init__(self, ledger: LedgerStore) -> None:
        self._ledger = ledger
        self._known: dict[str, set[str]] = {}
        self._next: dict[str, int] = {}

    def knows(self, agent: str, digest: str) -> bool:
        known = self._known.setdefault(agent, set())
        for entry in self._ledger.entries(agent, start=self._next.get(agent, 0)):
            self._next[agent] = entry.index + 1
            known.add(_blob(entry))
        return bool(digest) and digest in known


def _blob(entry: Entry) -> str:
    result = entry.body.get("result") if entry.kind == KIND else None
    if not isinstance(result, Mapping):
        return ""
    told = cast("JsonObject", result)
    said, head = told.get("screening"), cast("JsonObject", entry.body.get("act") or {})
    dropped = isinstance(said, Mapping) and cast("JsonObject", said).get("outcome") == "dropped"
    if dropped and head.get("stage") != "released":
        return ""  # withheld: for the owner alone, until it is released
    return str(told.get("blob", ""))
