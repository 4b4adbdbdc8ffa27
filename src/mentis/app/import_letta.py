"""An agent of Letta as a persona: its blocks become the files it keeps about itself and memories,
its messages a conversation. Its tools are named, and never run. And out again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from mentis.errors import BadInput, UsageError
from mentis.exchange.agent_files import (
    AgentBlock,
    LettaAgent,
    agent_document,
    read_agents,
    write_agent,
)
from mentis.home.parts import Parts
from mentis.library.changes import create_layer
from mentis.prompts.personas import Personas
from mentis.record.threads import told_turns
from mentis.values.imported import ImportedConversation, ImportedTurn
from mentis.values.json import JsonObject
from mentis.values.trust import Trust

from .file_export import ExportDraft, FileExport
from .import_plan import (
    ArrivalDraft,
    HomeImportPlan,
    ImportArrival,
    ImportWish,
    PersonaArrival,
    id_of,
)
from .import_source import ImportSource
from .import_texts import add_memories, add_memory_file

_FILES: Mapping[str, str] = {"persona": "soul", "human": "relationship", "memory": "memory"}
_LABELS = {name: label for label, name in _FILES.items()}
_SESSION = "letta"
_NAMED = 30  # tools and the like that are named one by one


def letta_arrival(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    """What becomes of an agent file; None where it is none."""
    if source.is_zip or source.is_folder or source.data.lstrip()[:1] not in (b"{", b'"'):
        return None
    document = agent_document(source.document())
    if document is None:
        return None
    agents = read_agents(document)
    if wish.persona and len(agents) > 1:
        hint = "leave --as out: each becomes a persona under its own name"
        raise BadInput(f"{source.name} holds {len(agents)} agents", hint=hint)
    made: list[PersonaArrival] = []
    held: list[tuple[str, ImportedConversation]] = []
    whole = ArrivalDraft()
    for agent in agents:
        persona = wish.persona or _free(id_of(agent.name), made)
        draft = ArrivalDraft(blocks=whole.blocks, parts=whole.parts, losses=whole.losses)
        conversation = _agent(agent, persona, draft, wish)
        made.append(draft.persona(persona, agent.name))
        held += [(persona, conversation)] if conversation is not None else []
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="agent file",
        version="Letta",
        name=made[0].name,
        persona=made[0].id,
        parts=tuple(whole.parts),
        losses=tuple(whole.losses),
        shown=tuple(whole.shown),
    )
    return ImportArrival(plan, tuple(made), whole.blocks, conversations=tuple(held))


def _free(wanted: str, made: list[PersonaArrival]) -> str:
    taken = {one.id for one in made}
    names = (wanted if n == 1 else f"{wanted}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _agent(
    agent: LettaAgent, persona: str, draft: ArrivalDraft, wish: ImportWish
) -> ImportedConversation | None:
    draft.fields |= _fields(agent)
    draft.add(f"agent {agent.name}", f"persona {persona}")
    for block in agent.blocks:
        part, name = f"block {block.label}", _FILES.get(block.label)
        if name is None or name in draft.memory_files:
            add_memories(draft, part, block.value, limits=wish.limits)
        else:
            add_memory_file(draft, part, name, block.value, persona=persona, limits=wish.limits)
    if agent.system.strip():
        _system(agent, persona, draft)
    for what, count in agent.unsaid:
        draft.lose(f"{what} ({count})", "no words of either; kept in the original")
    _losses(agent, draft)
    if not agent.turns:
        return None
    part = f"messages ({len(agent.turns)})"
    draft.add(part, f"conversation of {persona}", trust="untrusted")
    return ImportedConversation(_SESSION, agent.turns, agent.name)


def _fields(agent: LettaAgent) -> dict[str, object]:
    """Those of the persona.toml that an export of ours brings, else what the agent says."""
    fields: dict[str, object] = {"type": "AI"}
    if agent.description.strip():
        fields["background"] = agent.description.strip()
    text = agent.extra.get("persona.toml")
    if isinstance(text, str):
        try:
            fields = {**tomllib.loads(text)}
        except tomllib.TOMLDecodeError as error:
            hint = "export it anew"
            raise BadInput(f"the persona.toml in the file: {error}", hint=hint) from error
    for name in ("id", "name"):
        fields.pop(name, None)
    return {**fields, "trust": Trust.REFERENCE.value}


def _system(agent: LettaAgent, persona: str, draft: ArrivalDraft) -> None:
    block_id = f"{persona}-system"
    meta: JsonObject = {
        "name": f"System of {persona}",
        "description": "The instructions that the agent had elsewhere.",
        "category": "persona",
        "order": 640,
        "enabled": False,
        "trust": Trust.REFERENCE.value,
        "personas": [persona],
        "tags": ["imported"],
    }
    draft.blocks[block_id] = create_layer(block_id, meta, {"default": agent.system.strip()})
    note = f"off, since it speaks of tools that are not here: mentis prompts toggle {block_id}"
    draft.add("system", f"block {block_id}", note=note)


def _losses(agent: LettaAgent, draft: ArrivalDraft) -> None:
    reasons = {
        "tool": "named, and not run",
        "MCP server": "named, and not connected",
        "variable": "not read; the original holds its value",
    }
    for kind, names in agent.names.items():
        reason = reasons.get(kind, "kept in the original")
        for name in names[:_NAMED]:
            draft.lose(f"{kind} {name}", reason)
        if (more := len(names) - _NAMED) > 0:
            draft.lose(f"{more} more of kind {kind}", reason)
    if agent.model:
        draft.lose(f"model {agent.model}", "which model answers is a setting: mentis models choose")


# Out again


def export_agent_file(
    home: str | Path, persona: str | None = None, *, session: str = "", parts: Parts | None = None
) -> FileExport:
    """A persona as an agent file of Letta: its files as blocks, what is told of a session as
    messages, its persona.toml in the metadata. Nothing is written.
    """
    draft = ExportDraft()
    with Personas.open(home, parts=parts) as personas:
        chosen = personas.pick(persona)
        about = personas.read(chosen)
        files = [one for one in personas.memory(chosen).files() if not one.empty]
        turns = personas.record(chosen).turns(session) if session else ()
        if session and not turns:
            raise UsageError(f"there is no session {session!r}", hint="`mentis sessions list`")
        text = personas.path(chosen).read_text(encoding="utf-8")
    told = told_turns(turns)
    said = [one for one in told if one.kind == "said" and one.text.strip()]
    if len(said) < len(turns):
        draft.lose("other answers, thoughts, calls and pictures", "messages are words alone there")
    draft.lose("memories and blocks of its own", "no part of an agent file: mentis memory export")
    draft.lose("persona.toml", "in metadata.mentis, which only Mentis reads")
    agent = LettaAgent(
        name=about.name,
        description=about.background,
        blocks=tuple(AgentBlock(_LABELS[one.name], one.text) for one in files),
        turns=tuple(
            ImportedTurn(one.role, one.text, time=one.origin.time if one.origin else "")
            for one in said
        ),
        extra={"persona.toml": text},
    )
    data, losses = write_agent(agent), tuple(draft.losses)
    return FileExport("Letta agent file", data, "application/json", len(said), losses)
