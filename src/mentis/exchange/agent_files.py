"""Letta's agent files (`.af`): an agent with its blocks, messages and the names of its tools.

Read in both forms there are and written in the newer one. See docs/design/formats.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput
from mentis.values.imported import ImportedTurn
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .fields import object_of, objects_of, text_of

SEND = "send_message"  # the tool by which an older agent speaks
OURS = "mentis"  # what only this program knows, in the metadata of an agent
_LARGEST_BLOCK = 100_000


@dataclass(frozen=True, slots=True)
class AgentBlock(Value):
    label: str
    value: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class LettaAgent(Value):
    """One agent of a file. `unsaid` counts what is no words of either; `names` are of what else it
    holds, by kind. `extra` is what this program wrote beside it.
    """

    name: str
    system: str = ""
    description: str = ""
    model: str = ""
    blocks: tuple[AgentBlock, ...] = ()
    turns: tuple[ImportedTurn, ...] = ()
    unsaid: tuple[tuple[str, int], ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    extra: JsonObject = field(default_factory=dict[str, object])


def agent_document(document: object) -> JsonObject | None:
    """The document where it is an agent file, also where it was encoded twice."""
    if isinstance(document, str) and document.lstrip().startswith("{"):
        document = read_outside(document, what="the agent file in the text")
    if not isinstance(document, dict):
        return None
    told = cast("JsonObject", document)
    newer = isinstance(told.get("agents"), list) and isinstance(told.get("blocks"), list)
    return told if newer or {"core_memory", "messages", "agent_type"} <= told.keys() else None


def read_agents(document: JsonObject) -> tuple[LettaAgent, ...]:
    """Every agent of a file; BadInput where there is none or one has no name."""
    if "core_memory" in document:
        return (_agent(document, objects_of(document, "core_memory"), document, "tools"),)
    agents = objects_of(document, "agents")
    if not agents:
        raise BadInput("the agent file holds no agent", hint="export it anew")
    blocks = {text_of(one, "id"): one for one in objects_of(document, "blocks")}
    found: list[LettaAgent] = []
    for one in agents:
        ids = one.get("block_ids")
        named = cast("list[object]", ids) if isinstance(ids, list) else []
        own = [blocks[each] for each in named if isinstance(each, str) and each in blocks]
        found.append(_agent(one, [*own, *objects_of(one, "memory_blocks")], document, "tools"))
    return tuple(found)


def _agent(
    one: JsonObject, blocks: Sequence[JsonObject], document: JsonObject, tools: str
) -> LettaAgent:
    name = " ".join(text_of(one, "name").split())
    if not name:
        raise BadInput("an agent of the file has no name", hint="export it anew")
    speaks = any(text_of(tool, "name") == SEND for tool in objects_of(document, tools))
    turns, unsaid = _turns(objects_of(one, "messages"), speaks=speaks)
    kept = {
        "tool": tuple(text_of(each, "name") for each in objects_of(document, tools)),
        "MCP server": tuple(
            text_of(each, "server_name") for each in objects_of(document, "mcp_servers")
        ),
        "file": tuple(text_of(each, "file_name") for each in objects_of(document, "files")),
        "source": tuple(text_of(each, "name") for each in objects_of(document, "sources")),
        "group": tuple(text_of(each, "id") for each in objects_of(document, "groups")),
        "variable": tuple(object_of(one, "tool_exec_environment_variables")),
    }
    return LettaAgent(
        name=name,
        system=text_of(one, "system"),
        description=text_of(one, "description"),
        model=text_of(object_of(one, "llm_config"), "handle")
        or text_of(object_of(one, "llm_config"), "model"),
        blocks=tuple(
            AgentBlock(text_of(each, "label"), text_of(each, "value"), text_of(each, "description"))
            for each in blocks
        ),
        turns=turns,
        unsaid=unsaid,
        names={kind: names for kind, names in kept.items() if names},
        extra=object_of(object_of(one, "metadata"), OURS),
    )


def _turns(
    messages: Sequence[JsonObject], *, speaks: bool
) -> tuple[tuple[ImportedTurn, ...], tuple[tuple[str, int], ...]]:
    """What was said. An agent that speaks by a tool thinks in what it writes beside it."""
    turns: list[ImportedTurn] = []
    unsaid: Counter[str] = Counter()
    for one in messages:
        role, time, text = text_of(one, "role"), text_of(one, "created_at"), _content(one)
        if role == "user":
            said = _user_words(text, unsaid)
            turns += [ImportedTurn("user", said, time=time)] if said.strip() else []
        elif role == "assistant":
            sent, calls = _sent(objects_of(one, "tool_calls"))
            unsaid["calls of tools"] += calls
            if text.strip() and speaks:
                unsaid["thoughts"] += 1
            said = "\n\n".join([*([] if speaks else [text]), *sent])
            turns += [ImportedTurn("assistant", said.strip(), time=time)] if said.strip() else []
        else:
            unsaid[f"messages of the {role or 'unknown'}"] += 1
    return tuple(turns), tuple(sorted((what, count) for what, count in unsaid.items() if count))


def _content(message: JsonObject) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [text_of(one, "text") for one in objects_of(message, "content")]
    return "\n\n".join(part for part in parts if part.strip())


def _user_words(text: str, unsaid: Counter[str]) -> str:
    """An older agent is told the words of the user in an object with the time."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        found = read_outside(text, what="a message")
    except BadInput:
        return text
    packed: JsonObject = cast("JsonObject", found) if isinstance(found, dict) else {}
    kind = packed.get("type")
    if kind == "user_message":
        return text_of(packed, "message")
    if isinstance(kind, str):
        unsaid[f"events of kind {kind[:40]}"] += 1
        return ""
    return text


def _sent(calls: Sequence[JsonObject]) -> tuple[list[str], int]:
    sent: list[str] = []
    for one in calls:
        function = object_of(one, "function")
        if text_of(function, "name") != SEND:
            continue
        try:
            given = read_outside(text_of(function, "arguments"), what="a call")
        except BadInput:
            continue
        if isinstance(given, dict):
            sent.append(text_of(cast("JsonObject", given), "message"))
    return sent, len(calls) - len(sent)


def write_agent(agent: LettaAgent) -> bytes:
    """The agent as a file of the newer form; the same agent, the same bytes. Of its blocks, turns,
    texts and `extra`: `names` and `model` belong to the program it came from.
    """
    blocks: list[JsonObject] = [
        {
            "id": f"block-{number}",
            "label": one.label,
            "value": one.value,
            "description": one.description or None,
            "limit": max(len(one.value), _LARGEST_BLOCK),
            "read_only": False,
            "is_template": False,
            "metadata": {},
        }
        for number, one in enumerate(agent.blocks)
    ]
    messages: list[JsonObject] = [
        {
            "type": "message",
            "id": f"message-{number}",
            "role": one.role,
            "content": [{"type": "text", "text": one.text}],
            "agent_id": "agent-0",
            **({"created_at": one.time} if one.time else {}),
        }
        for number, one in enumerate(agent.turns)
    ]
    told: JsonObject = {
        "id": "agent-0",
        "name": agent.name,
        "system": agent.system,
        "description": agent.description or None,
        "agent_type": "letta_v1_agent",
        "block_ids": [one["id"] for one in blocks],
        "memory_blocks": [],
        "tools": [],
        "tool_ids": [],
        "source_ids": [],
        "tool_rules": [],
        "tags": [],
        "metadata": {OURS: agent.extra} if agent.extra else None,
        "in_context_message_ids": [one["id"] for one in messages],
        "messages": messages,
        "files_agents": [],
        "group_ids": [],
    }
    document: JsonObject = {
        "agents": [told],
        "groups": [],
        "blocks": blocks,
        "files": [],
        "sources": [],
        "tools": [],
        "mcp_servers": [],
        "metadata": {},
    }
    return f"{json.dumps(document, ensure_ascii=False, indent=2)}\n".encode()
