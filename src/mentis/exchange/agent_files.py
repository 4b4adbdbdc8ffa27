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
        return (_agent(document, _objects(document, "core_memory"), document, "tools"),)
    agents = _objects(document, "agents")
    if not agents:
        raise BadInput("the agent file holds no agent", hint="export it anew")
    blocks = {_text(one, "id"): one for one in _objects(document, "blocks")}
    found: list[LettaAgent] = []
    for one in agents:
        ids = one.get("block_ids")
        named = cast("list[object]", ids) if isinstance(ids, list) else []
        own = [blocks[each] for each in named if isinstance(each, str) and each in blocks]
        found.append(_agent(one, [*own, *_objects(one, "memory_blocks")], document, "tools"))
    return tuple(found)


def _agent(
    one: JsonObject, blocks: Sequence[JsonObject], document: JsonObject, tools: str
) -> LettaAgent:
    name = " ".join(_text(one, "name").split())
    if not name:
        raise BadInput("an agent of the file has no name", hint="export it anew")
    speaks = any(_text(tool, "name") == SEND for tool in _objects(document, tools))
    turns, unsaid = _turns(_objects(one, "messages"), speaks=speaks)
    kept = {
        "tool": tuple(_text(each, "name") for each in _objects(document, tools)),
        "MCP server": tuple(
            _text(each, "server_name") for each in _objects(document, "mcp_servers")
        ),
        "file": tuple(_text(each, "file_name") for each in _objects(document, "files")),
        "source": tuple(_text(each, "name") for each in _objects(document, "sources")),
        "group": tuple(_text(each, "id") for each in _objects(document, "groups")),
        "variable": tuple(_object(one, "tool_exec_environment_variables")),
    }
    return LettaAgent(
        name=name,
        system=_text(one, "system"),
        description=_text(one, "description"),
        model=_text(_object(one, "llm_config"), "handle")
        or _text(_object(one, "llm_config"), "model"),
        blocks=tuple(
            AgentBlock(_text(each, "label"), _text(each, "value"), _text(each, "description"))
            for each in blocks
        ),
        turns=turns,
        unsaid=unsaid,
        names={kind: names for kind, names in kept.items() if names},
        extra=_object(_object(one, "metadata"), OURS),
    )


def _turns(
    messages: Sequence[JsonObject], *, speaks: bool
) -> tuple[tuple[ImportedTurn, ...], tuple[tuple[str, int], ...]]:
    """What was said. An agent that speaks by a tool thinks in what it writes beside it."""
    turns: list[ImportedTurn] = []
    unsaid: Counter[str] = Counter()
    for one in messages:
        role, time, text = _text(one, "role"), _text(one, "created_at"), _content(one)
        if role == "user":
            said = _user_words(text, unsaid)
            turns += [ImportedTurn("user", said, time=time)] if said.strip() else []
        elif role == "assistant":
            sent, calls = _sent(_objects(one, "tool_calls"))
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
    parts = [_text(one, "text") for one in _objects(message, "content")]
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
        return _text(packed, "message")
    if isinstance(kind, str):
        unsaid[f"events of kind {kind[:40]}"] += 1
        return ""
    return text


def _sent(calls: Sequence[JsonObject]) -> tuple[list[str], int]:
    sent: list[str] = []
    for one in calls:
        function = _object(one, "function")
        if _text(function, "name") != SEND:
            continue
        try:
            given = read_outside(_text(function, "arguments"), what="a call")
        except BadInput:
            continue
        if isinstance(given, dict):
            sent.append(_text(cast("JsonObject", given), "message"))
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


def _text(row: JsonObject, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _object(row: JsonObject, name: str) -> JsonObject:
    value = row.get(name)
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _objects(row: JsonObject, name: str) -> list[JsonObject]:
    value = row.get(name)
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", one) for one in rows if isinstance(one, dict)]
