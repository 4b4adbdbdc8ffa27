"""Answers of each tool and each resource. They know nothing of the protocol, and all block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias, cast

from mentis.codec.forms import to_object
from mentis.errors import MentisError, UsageError
from mentis.ledger.guardian.profiles import level_of, level_words
from mentis.ledger.guardian.table import RULES
from mentis.record.said_lines import SaidLine, search_lines
from mentis.status.statuses import Statuses
from mentis.values.entry import Entry
from mentis.values.status import WindowResult

from .block_prompts import BlockPrompt, BlockPrompts, Role
from .conversations import LineGuard, refuse_unserved
from .rights import ClientRights

SOURCE = "mcp_native_tool"
_MOST = 50
# What the origin's server called it.
_OLDER_NAMES = {"search_chatverlauf": "search_conversations"}
_HASH = re.compile(r"[0-9a-f]{64}")
Answer: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Monitor:
    """Whether this server consumes pending drafts, and why not; once refused it stays off."""

    running: bool = False
    reason: str = "`status.monitor` is false"
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    statuses: Statuses
    monitor: Monitor = field(default_factory=Monitor)
    guard: LineGuard | None = None  # of conversations; without one they are not served
    prompts: BlockPrompts | None = None
    rights: ClientRights = field(default_factory=ClientRights)

    def within(self, rights: ClientRights) -> Answers:
        """The same for a client that may do only this."""
        return replace(self, rights=rights)

    def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        """The answer of a tool, and where the chain stands after it."""
        tools: dict[str, Callable[[Mapping[str, object]], Answer]] = {
            "save_status": self._save,
            "verify_chain": self._verify,
            "status_stats": self._stats,
            "latest_status": self._latest,
            "search_conversations": self._search,
        }
        tool = _OLDER_NAMES.get(tool, tool)
        if tool not in tools:
            known = ", ".join(tools)
            raise UsageError(f"there is no tool {tool!r}", hint=f"known: {known}")
        self.rights.check_tool(tool)
        return {**tools[tool](arguments), "ledger": self.standing()}

    def read(self, name: str) -> Answer | str:
        """A resource: an object, or plain text."""
        resources: dict[str, Callable[[], Answer | str]] = {
            "backend_state": self._state,
            "prompt_chain": self._chain,
            "persistent_context": lambda: dict(self.statuses.context("persistent_context")),
            "project_awareness": lambda: dict(self.statuses.context("project_awareness")),
            "ruleset": self._ruleset,
            "regelwerk": self._rules_text,
            "conversation_history": self._history,
            "chatverlauf_kb_info": self._searchable,
        }
        if name not in resources:
            raise UsageError(f"there is no resource {name!r}", hint="list the resources")
        self.rights.check_resource(name)
        return resources[name]()

    def list_prompts(self, cursor: str | None) -> tuple[list[BlockPrompt], str | None]:
        """One page of blocks, and where the next begins; none of them for guests."""
        if self.prompts is None or not self.rights.owner:
            return [], None
        return self.prompts.page(cursor)

    def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[str, list[tuple[Role, str]]]:
        """A block with its values: what it is, and its messages."""
        self.rights.check_prompts()
        if self.prompts is None:
            raise UsageError(f"there is no prompt {name!r}", hint="no prompts are served here")
        return self.prompts.get(name, arguments)

    def standing(self) -> Answer:
        """Size and head in one look, so that they belong together; or why they cannot be had."""
        agent = self.statuses.agent
        try:
            last = self.statuses.latest(1)
        except MentisError as error:
            return {"agent": agent, "size": None, "head": None, "reason": error.message}
        size, head = (last[0].index + 1, last[0].hash) if last else (0, None)
        return {"agent": agent, "size": size, "head": head}

    def _state(self) -> Answer:
        state = to_object(self.statuses.backend_state())
        monitor = {"running": self.monitor.running, "reason": self.monitor.reason}
        return {**state, "monitor": monitor}

    def _chain(self) -> Answer:
        state = self.statuses.backend_state()
        return {
            "chain_head": state.chain_head,
            "head_time": state.head_time,
            "total_entries": state.total_entries,
        }

    def _save(self, arguments: Mapping[str, object]) -> Answer:
        window, delivery = arguments.get("status_window"), arguments.get("delivery")
        if not isinstance(window, Mapping):
            hint = "hand the draft over as the object `status_window`"
            raise UsageError("save_status needs a status window", hint=hint)
        if not isinstance(delivery, str | None):
            raise UsageError("`delivery` is not a text", hint="use an id of your own, or leave it")
        draft = cast("Mapping[str, object]", window)
        return _saved(self.statuses.add(draft, source=SOURCE, delivery=delivery))

    def _verify(self, arguments: Mapping[str, object]) -> Answer:
        # Before the work: what was remembered badly needs no verification.
        remembered = self._compare(arguments.get("remembered"))
        verdict = self.statuses.verify()
        told = to_object(verdict)
        told.pop("trusted", None)
        return {**told, "intact": verdict.intact, "remembered": remembered}

    def _compare(self, remembered: object) -> Answer | None:
        """What became of the entry that was the head when the client looked."""
        if remembered is None:
            return None
        size, head = _remembered(remembered)
        found = next(islice(self.statuses.entries(start=size - 1), 1), None)
        if found is None:
            return {"holds": False, "reason": f"the chain is shorter than {size} entries now"}
        if found.index != size - 1:
            reason = f"entry {size - 1} is in a sealed segment; `mentis verify` reads those"
            return {"holds": None, "reason": reason}
        if found.hash != head:
            return {
                "holds": False,
                "reason": f"entry {size - 1} is not the one that was remembered",
            }
        return {"holds": True, "reason": f"entry {size - 1} is the one that was remembered"}

    def _stats(self, _: Mapping[str, object]) -> Answer:
        told = to_object(self.statuses.stats())
        told.pop("file", None)  # where it is on this machine is no business of a client
        return {**told, "health": to_object(self.statuses.health())}

    def _latest(self, arguments: Mapping[str, object]) -> Answer:
        count = arguments.get("count", 5)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST:
            raise UsageError(f"`count` is {count!r}", hint=f"a whole number from 1 to {_MOST}")
        entries = self.statuses.latest(count, windows=True)
        return {"statuses": [self._status(entry) for entry in entries]}

    def _search(self, arguments: Mapping[str, object]) -> Answer:
        query, count = arguments.get("query"), arguments.get("top_k", 5)
        if not isinstance(query, str) or not query.strip():
            raise UsageError("search_conversations needs a query", hint="say what to look for")
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST:
            raise UsageError(f"`top_k` is {count!r}", hint=f"a whole number from 1 to {_MOST}")
        guard, whole = self._guard(), arguments.get("include_text") is True
        hits = search_lines(self._lines(), query, count)
        found = [{"score": hit.score, **guard.shown(hit.line, whole=whole)} for hit in hits]
        return {"results": found}

    def _history(self) -> Answer:
        guard, lines = self._guard(), self._lines()
        counted = Counter(line.session for line in lines)
        titles = self._titles()
        return {
            "sessions": [
                {"session": name, "title": title, "lines": counted[name]}
                for name, title in titles.items()
            ],
            "latest": [guard.shown(line, whole=True) for line in lines[-_MOST:]],
        }

    def _searchable(self) -> Answer:
        self._guard()
        return {
            "sessions": len(self._titles()),
            "lines": len(self._lines()),
            "search": "words",
            "top_k": _MOST,
        }

    def _lines(self) -> list[SaidLine]:
        return [line for line in self.statuses.conversation() if self.rights.sees(line.session)]

    def _titles(self) -> dict[str, str]:
        titles = self.statuses.session_titles()
        return {name: title for name, title in titles.items() if self.rights.sees(name)}

    def _guard(self) -> LineGuard:
        if self.guard is None:
            raise refuse_unserved()
        return self.guard

    def _status(self, entry: Entry) -> Answer:
        facts = {name: getattr(entry, name) for name in ("index", "time", "source", "ruleset")}
        if (place := self.statuses.origin(entry)) is not None:
            facts["origin"] = to_object(place)
        return {**facts, "hash": entry.hash, "window": self.statuses.window(entry)}

    def _ruleset(self) -> Answer:
        profile = self.statuses.profile
        rules = [
            {
                "id": rule.id,
                "level": level_of(profile, rule),
                "stage": rule.stage,
                "kind": rule.kind,
                "what": rule.what,
                "why": rule.why,
                "hint": rule.fix,
            }
            for rule in RULES
            if level_of(profile, rule) != "off"
        ]
        return {"profile": profile.name, "settles": list(profile.settles), "rules": rules}

    def _rules_text(self) -> str:
        profile = self.statuses.profile
        lines = [
            f"{rule.id} ({level_words(profile, rule)}): {rule.what}. {rule.why}. To do: {rule.fix}."
            for rule in RULES
            if level_of(profile, rule) != "off"
        ]
        return "\n".join([f"Rules for status windows, profile {profile.name}", "", *lines])


def _remembered(given: object) -> tuple[int, str]:
    match given:
        case {"size": int(size), "head": str(head)} if size > 0 and _HASH.fullmatch(head):
            return size, head
        case _:
            hint = "hand over `size` and `head` as an earlier answer gave them in `ledger`"
            raise UsageError("`remembered` is not a size and a head", hint=hint)


def _saved(added: WindowResult) -> Answer:
    entry, judgement = added.entry, added.judgement
    findings = [] if judgement is None else [to_object(one) for one in judgement.findings]
    return {
        "saved": entry is not None,
        "index": None if entry is None else entry.index,
        "hash": None if entry is None else entry.hash,
        "window_hash": None if added.window is None else added.window.get("window_hash"),
        "known": added.known,
        "acknowledged": added.receipt.acknowledged,
        "line": added.line,
        "spooled": added.spooled,
        "reason": "" if added.health is None else added.health.reason,
        "findings": findings,
    }
