"""The table of acts is what the acts themselves declare, and a registry takes them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.act.builtin.goals import UpdateGoal
from mentis.act.builtin.kind import BuiltIn
from mentis.act.builtin.memories import Recall, Remember
from mentis.act.builtin.memory_files import ReadMemoryFile, WriteMemoryFile
from mentis.act.builtin.messages import SendMessage
from mentis.act.builtin.rest import Sleep
from mentis.act.builtin.results import ReadResult
from mentis.act.builtin.shell import Shell, ShellLimits
from mentis.act.builtin.skills import ReadSkill
from mentis.act.builtin.table import BUILT_IN
from mentis.act.builtin.web import WebFetch, WebLimits
from mentis.act.builtin.windows import SaveStatus
from mentis.act.registry import Registry
from mentis.errors import StoreDown
from mentis.library.acts import LANGUAGES, load_acts, load_message
from mentis.library.memory.files import PersonaMemory
from mentis.ports.channel import RecordingChannel
from mentis.ports.clock import FixedClock
from mentis.settle.patches import patch_goal
from mentis.stores.memory import (
    BlobsInMemory,
    RevisionsInMemory,
    StatesInMemory,
)
from mentis.values.json import JsonObject
from mentis.values.memories import FoundMemories, MemoryDraft, MemoryFilter, StoredMemory
from mentis.values.status import WindowResult


def no_ledger(window: JsonObject, delivery: str) -> WindowResult:
    raise StoreDown("there is none")


class NoNotes:
    async def remember(self, draft: MemoryDraft) -> StoredMemory:
        raise StoreDown("there are none")

    async def search(self, query: str, *, wanted: MemoryFilter, limit: int) -> FoundMemories:
        raise StoreDown("there are none")


def every_act(home: Path, language: str) -> list[BuiltIn]:
    words, clock = load_acts(language), FixedClock()
    notes = NoNotes()
    files = PersonaMemory(home / "memory", RevisionsInMemory(), clock, persona_id="ada")
    return [
        SendMessage(load_message("cli", language), "cli", {"cli": RecordingChannel()}),
        Remember(words["remember"], notes),
        Recall(words["recall"], notes),
        ReadMemoryFile(words["read_memory_file"], files),
        WriteMemoryFile(words["write_memory_file"], files),
        UpdateGoal(words["update_goal"], StatesInMemory(), patch_goal),
        Sleep(words["sleep"], clock),
        SaveStatus(words["save_status"], no_ledger),
        ReadResult(words["read_result"], BlobsInMemory(), lambda agent, digest: True),
        ReadSkill(words["read_skill"], lambda name: None),
        Shell(words["shell"], home, ShellLimits()),
        WebFetch(words["web_fetch"], WebLimits()),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_registry_takes_every_act_in_every_language(tmp_path: Path, language: str) -> None:
    acts = every_act(tmp_path, language)
    registry = Registry(acts)
    assert [tool.name for tool in registry.declarations()] == sorted(act.spec.name for act in acts)


def test_the_table_says_what_the_acts_declare(tmp_path: Path) -> None:
    declared = [
        (
            act.spec.name.replace("message_cli", "message_NAME"),
            act.spec.scope,
            act.spec.declaration.external_effects,
            act.spec.declaration.idempotent,
        )
        for act in every_act(tmp_path, "english")
    ]
    told = [(kind.name, kind.scope, kind.external_effects, kind.idempotent) for kind in BUILT_IN]
    assert declared == told


def test_only_what_needs_a_list_of_the_owner_or_a_folder_is_off() -> None:
    assert [kind.name for kind in BUILT_IN if not kind.on] == ["read_skill", "shell", "web_fetch"]


def test_what_reaches_outside_says_so() -> None:
    outside = [kind.name for kind in BUILT_IN if kind.external_effects]
    assert outside == ["message_NAME", "shell", "web_fetch"]
