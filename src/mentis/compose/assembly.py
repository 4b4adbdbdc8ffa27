"""The prompt as one text: layers in their order, each within its room, nothing smuggled in.

Whatever is the same for every task is made once per revision (`Frame`); a task costs the joining.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mentis.errors import ComposeError
from mentis.ports.token_counter import TokenCounter
from mentis.values.assembly import AssemblyCut, AssemblyLimits, AssemblyWords, LayerName
from mentis.values.fence import FENCE
from mentis.values.marks import neutral, nonce_of
from mentis.values.selection import Capability
from mentis.values.tool import ToolDeclaration

from .clipping import clip
from .fences import one_item, plain
from .headings import headings_in

_INDENT = "\n  "
_ALL = "all"  # beside the names of layers
_LEAST_TASK = 20  # tokens that are left for the task, whatever happens
# JSON leaves these as they are, and they end a line all the same.
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class CountedText:
    """A text and what it costs."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ListItem:
    """One line of a list: what it is called when it is cut, and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class AssemblyInputs:
    """What one prompt is made of. `runtime` are facts, each a line; the rest is text that is not
    ours. So may be a name in a fact: nothing in it looks like anything of ours.
    """

    task: str
    rules: str
    runtime: tuple[str, ...] = ()
    memories: tuple[ListItem, ...] = ()
    activity: tuple[ListItem, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()
    skills: tuple[Capability, ...] = ()


@dataclass(frozen=True, slots=True)
class LaidLayers:
    """The text, what is in it (of memories and activity the places in what was told), and what
    each layer took.
    """

    prompt: str
    tokens: int
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    memories: tuple[int, ...]
    activity: tuple[int, ...]
    layers: Mapping[LayerName, int]
    cuts: tuple[AssemblyCut, ...]


@dataclass(slots=True)
class Frame:
    """What stays between tasks: words, constitution, and the texts of tools once they were told.

    `rules` are those of every stance: nobody's text may pass for any of them.
    """

    words: AssemblyWords
    constitution: str
    counter: TokenCounter
    secret: bytes
    rules: tuple[str, ...] = ()
    _kept: dict[object, tuple[object, CountedText, CountedText]] = field(
        default_factory=dict[object, tuple[object, CountedText, CountedText]]
    )
    _fixed: dict[str, CountedText] = field(default_factory=dict[str, CountedText])
    _headings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words = self.words
        below = (words.heading_rules, words.precedence, self.constitution, *self.rules)
        self._headings = (*words.headings, *headings_in(*below))

    def count(self, text: str) -> int:
        return self.counter.count(text).tokens

    def piece(self, text: str) -> CountedText:
        return CountedText(text, self.count(text))

    def line(self, text: str) -> CountedText:
        """With the end of the line, which costs something too."""
        return CountedText(text, self.count(f"{text}\n"))

    def cached_text(self, text: str) -> CountedText:
        """Of a text that comes again in every prompt."""
        found = self._fixed.get(text)
        if found is None:
            found = self._fixed[text] = self.piece(text)
        return found

    def tool(self, tool: ToolDeclaration) -> tuple[CountedText, CountedText]:
        """With its parameters, and without."""
        return self._line(("tool", tool.name), tool, lambda: self._tool(tool))

    def skill(self, skill: Capability) -> CountedText:
        return self._line(("skill", skill.name), skill, lambda: self._skill(skill))[0]

    def list_item(self, text: str) -> str:
        """Text that is not ours as one entry of a list: nothing in it begins a line."""
        return f"- {one_item(text, self._headings)}"

    def fact(self, text: str) -> str:
        return self.harmless(" ".join(text.splitlines()))

    def harmless(self, text: str) -> str:
        return plain(text, self._headings)

    def _tool(self, tool: ToolDeclaration) -> tuple[str, str]:
        short = self.list_item(f"{tool.name}: {tool.description}")
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        schema = schema.translate(_LINE_ENDS)
        return f"{short}{_INDENT}{self.words.parameters}: {neutral(schema)}", short

    def _skill(self, skill: Capability) -> tuple[str, str]:
        line = self.list_item(f"{skill.name}: {skill.description}")
        return line, line

    def _line(
        self, key: object, thing: object, make: Callable[[], tuple[str, str]]
    ) -> tuple[CountedText, CountedText]:
        known = self._kept.get(key)
        if known is None or known[0] is not thing:
            long, short = make()
            known = self._kept[key] = (thing, self.line(long), self.line(short))
        return known[1], known[2]


def lay_layers(told: AssemblyInputs, frame: Frame, limits: AssemblyLimits) -> LaidLayers:
    """Every layer in its order. The constitution and the task come first where room is short, then
    tools, skills, memories, activity.

    What is told is counted as it stands in the text. The parts of a text need not add up to it:
    where it turns out too long, it is laid again with less room.
    """
    short: dict[str, int] = {}
    while True:
        laying = _Laying(told, frame, limits, short)
        laid = laying.lay()
        over = laying.over(laid)
        if not over:
            return laid
        short = {name: short.get(name, 0) + over.get(name, 0) for name in {**short, **over}}


class _Laying:
    """`short` is by how much a layer, or everything (`_ALL`), was too long the times before."""

    def __init__(
        self, told: AssemblyInputs, frame: Frame, limits: AssemblyLimits, short: Mapping[str, int]
    ) -> None:
        self._told = told
        self._short = short
        self._frame = frame
        self._limits = limits
        self._words = frame.words
        self._cuts: list[AssemblyCut] = []
        self._room = limits.max_context_tokens - short.get(_ALL, 0)
        self._texts: dict[LayerName, str] = {}
        self._taken: dict[LayerName, int] = {}  # beside the head
        self._allowed: dict[LayerName, int] = {}
        self._named: dict[str, tuple[str, ...]] = {"tools": (), "skills": ()}
        self._places: dict[str, tuple[int, ...]] = {"memories": (), "activity": ()}
        self._heads: dict[LayerName, CountedText] = {}

    def lay(self) -> LaidLayers:
        wanted = self._limits.layers
        between = self._frame.cached_text(self._words.separator).tokens * (len(wanted) - 1)
        self._heads = {name: self._frame.cached_text(self._head(name)) for name in wanted}
        # What every layer takes when it is empty is nobody else's.
        self._room -= between + sum(head.tokens for head in self._heads.values())
        makers = {
            "constitution": self._constitution,
            "task": self._task,
            "runtime": self._runtime,
            "tools": self._tools,
            "untrusted": self._untrusted,
        }
        for name, make in makers.items():
            if name in wanted:
                make()
        prompt = self._words.separator.join([self._texts[name] for name in wanted])
        return LaidLayers(
            prompt=prompt,
            tokens=self._frame.count(prompt),
            tools=self._named["tools"],
            skills=self._named["skills"],
            memories=self._places["memories"],
            activity=self._places["activity"],
            layers={name: self._measured(name) for name in wanted},
            cuts=tuple(self._cuts),
        )

    def _measured(self, layer: LayerName) -> int:
        text = self._texts[layer]
        is_fixed = layer == "constitution"
        return self._frame.cached_text(text).tokens if is_fixed else self._frame.count(text)

    def over(self, laid: LaidLayers) -> dict[str, int]:
        """How much too long it is, in all and in each layer that something can be taken from."""
        over: dict[str, int] = {
            name: laid.layers[name] - limit
            for name, limit in self._allowed.items()
            if self._taken[name] and laid.layers[name] > limit
        }
        whole = max(laid.tokens, sum(laid.layers.values())) - self._limits.max_context_tokens
        return {**over, _ALL: whole} if whole > 0 else over

    def _head(self, layer: LayerName) -> str:
        """What stands in a layer that holds nothing."""
        words, none = self._words, self._words.none
        match layer:
            case "constitution":
                return ""
            case "task":
                return f"{words.heading_task}\n\n"
            case "runtime":
                return f"{words.heading_runtime}\n\n{none}"
            case "tools":
                return f"{words.heading_tools}\n\n{words.tools}\n{none}\n\n{words.skills}\n{none}"
            case "untrusted":
                mark = f"<{FENCE} {'0' * 12}>\n"
                lists = f"{words.memories}\n{none}\n\n{words.activity}\n{none}"
                return f"{words.heading_untrusted}\n\n{mark}{lists}\n{mark}"

    def _constitution(self) -> None:
        words, rules = self._words, self._told.rules
        if not rules.lstrip().startswith("#"):
            rules = f"{words.heading_rules}\n\n{rules}"
        parts = (words.heading_constitution, self._frame.constitution, words.precedence, rules)
        piece = self._frame.cached_text("\n\n".join(part.strip() for part in parts))
        if piece.tokens + _LEAST_TASK > self._room:
            least = self._limits.max_context_tokens - self._room + piece.tokens + _LEAST_TASK
            raise ComposeError(
                f"the constitution, its rules and the headings of the layers need {least} tokens,"
                f" and {self._limits.max_context_tokens} are allowed in all",
                hint="raise assembly.max_context_tokens: they are never cut",
                tokens=least,
            )
        self._put("constitution", piece.text, piece.tokens)

    def _task(self) -> None:
        room = self._room_in("task", self._limits.task_tokens)
        text, tokens, left = self._clipped(self._told.task, room, "\n\n", self._frame.harmless)
        if left:
            self._cut("task", "the end of the task", left, f"more than {room} tokens")
        self._put("task", self._heads["task"].text + text, tokens)

    def _runtime(self) -> None:
        lines = [ListItem(line.partition(":")[0], line) for line in self._told.runtime]
        room = self._room_in("runtime", self._limits.runtime_tokens)
        kept, used = self._fitting("runtime", lines, room)
        text = f"{self._words.heading_runtime}\n\n{self._shown(list(kept.values()))}"
        self._put("runtime", text, used)

    def _tools(self) -> None:
        words = self._words
        room = self._room_in("tools", self._limits.tools_tokens)
        skills = [(one.name, self._frame.skill(one)) for one in self._told.skills]
        # What tools are for is told before what they take, and both before any skill.
        tools = [(one.name, *self._frame.tool(one)) for one in self._told.tools]
        lines, used = self._tool_lines(tools, room)
        told: list[str] = []
        for name, piece in skills:
            if used + piece.tokens > room:
                self._cut("tools", f"skill {name}", piece.tokens, "no room in the layer")
                continue
            told.append(piece.text)
            self._named["skills"] += (name,)
            used += piece.tokens
        text = (
            f"{words.heading_tools}\n\n{words.tools}\n{self._shown(lines)}"
            f"\n\n{words.skills}\n{self._shown(told)}"
        )
        self._put("tools", text, used)

    def _tool_lines(
        self, tools: Sequence[tuple[str, CountedText, CountedText]], room: int
    ) -> tuple[list[str], int]:
        kept: list[tuple[str, CountedText, CountedText]] = []
        used = 0
        for name, long, short in tools:
            if used + short.tokens > room:
                self._cut("tools", f"tool {name}", long.tokens, "no room in the layer")
                continue
            kept.append((name, long, short))
            used += short.tokens
        lines: list[str] = []
        for name, long, short in kept:
            more = long.tokens - short.tokens
            fits = used + more <= room
            lines.append(long.text if fits else short.text)
            used += more if fits else 0
            if not fits:
                self._cut("tools", f"parameters of {name}", more, "no room in the layer")
        self._named["tools"] = tuple(name for name, _, _ in kept)
        return lines, used

    def _untrusted(self) -> None:
        words = self._words
        room = self._room_in("untrusted", self._limits.untrusted_tokens)
        memories, used = self._fitting("untrusted", self._told.memories, room)
        happened, more = self._fitting("untrusted", self._told.activity, room - used)
        self._places = {"memories": tuple(memories), "activity": tuple(happened)}
        inside = (
            f"{words.memories}\n{self._shown(list(memories.values()))}"
            f"\n\n{words.activity}\n{self._shown(list(happened.values()))}"
        )
        nonce = nonce_of((inside,), self._frame.secret)
        text = f"{words.heading_untrusted}\n\n<{FENCE} {nonce}>\n{inside}\n</{FENCE} {nonce}>"
        self._put("untrusted", text, used + more)

    def _fitting(
        self, layer: LayerName, items: Iterable[ListItem], room: int
    ) -> tuple[dict[int, str], int]:
        """The entries there is room for, by their places; a long one loses its end."""
        lines: dict[int, str] = {}
        used, most = 0, self._limits.item_tokens
        made = self._frame.list_item if layer == "untrusted" else self._frame.fact
        for place, one in enumerate(items):
            text, tokens, left = self._clipped(one.text, most, " ", made)
            tokens += 1  # the end of the line
            if used + tokens > room:
                self._cut(layer, one.name, tokens + left, "no room in the layer")
                continue
            if left:
                self._cut(layer, f"the end of {one.name}", left, f"more than {most} tokens")
            lines[place] = text
            used += tokens
        return lines, used

    def _clipped(
        self, text: str, room: int, gap: str, made: Callable[[str], str]
    ) -> tuple[str, int, int]:
        """What fits, made harmless, with a mark where it ends early; its tokens, and how many are
        missing.
        """
        counter = self._frame.counter
        whole, tokens, left = clip(text, room, counter, made)
        if not left:
            return whole, tokens, 0
        mark = self._frame.cached_text(gap + self._words.cut)
        if mark.tokens > room:
            return whole, tokens, left
        kept, tokens, left = clip(text, room - mark.tokens, counter, made)
        return kept + mark.text.replace("{{tokens}}", str(left)), tokens + mark.tokens, left

    def _shown(self, lines: Sequence[str]) -> str:
        return "\n".join(lines) if lines else self._words.none

    def _room_in(self, layer: LayerName, limit: int) -> int:
        self._allowed[layer] = limit
        most = limit - self._heads[layer].tokens - self._short.get(layer, 0)
        return max(0, min(most, self._room))

    def _put(self, layer: LayerName, text: str, tokens: int) -> None:
        """`tokens` is what it takes beside its head."""
        self._texts[layer] = text
        self._taken[layer] = tokens
        self._room -= tokens

    def _cut(self, layer: LayerName, what: str, tokens: int, reason: str) -> None:
        self._cuts.append(AssemblyCut(layer, what, tokens, reason))
