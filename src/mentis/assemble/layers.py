"""The layers that come from the library: the constitution and the rules of each stance.

They are taken apart once per revision of the library. One that is missing is the shipped one.
"""

from __future__ import annotations

from mentis.compose.assembly import Frame
from mentis.home.identity import Identity
from mentis.library.assembly import load_assembly
from mentis.library.load import load_shipped
from mentis.library.shelf import Shelf
from mentis.ports.token_counter import TokenCounter
from mentis.recall.stance import STANCES, StanceName
from mentis.values.block import Block, pick_variant
from mentis.values.library import Library
from mentis.values.trace import Degradation
from mentis.values.trust import Trust

_CONSTITUTION = "constitution"


class Layers:
    def __init__(self, who: Identity, shelf: Shelf, counter: TokenCounter) -> None:
        self._who = who
        self._shelf = shelf
        self._counter = counter
        self._known: tuple[str, Frame, tuple[Degradation, ...]] | None = None
        self._rules: dict[StanceName, str] = {}

    def frame(self) -> tuple[Frame, tuple[Degradation, ...]]:
        """As the library is now. It looks at the files, and reads those that changed."""
        library = self._shelf.current().library
        if self._known is None or library.revision != self._known[0]:
            self._known = self._read(library)
        return self._known[1], self._known[2]

    def rules(self, stance: StanceName) -> str:
        """Of the library that `frame` looked at."""
        return self._rules[stance]

    def _read(self, library: Library) -> tuple[str, Frame, tuple[Degradation, ...]]:
        language = self._who.persona.language
        notes: list[Degradation] = []
        constitution = _constitution(library, language, notes)
        self._rules = {name: _text(library, f"stance_{name}", language, notes) for name in STANCES}
        words = load_assembly(language)
        rules = tuple(self._rules.values())
        frame = Frame(words, constitution, self._counter, self._who.secret, rules)
        return library.revision, frame, tuple(notes)


def _constitution(library: Library, language: str, notes: list[Degradation]) -> str:
    """All blocks of the constitution, in their order; the shipped one is always among them."""
    first = _text(library, _CONSTITUTION, language, notes)
    others = [
        _worded(block, language)
        for block in sorted(library.blocks, key=lambda block: (block.order, block.id))
        if block.trust is Trust.CONSTITUTION and block.id != _CONSTITUTION and block.enabled
    ]
    return "\n\n".join(filter(None, (first, *others)))


def _text(library: Library, block_id: str, language: str, notes: list[Degradation]) -> str:
    block = library.block(block_id)
    text = "" if block is None or not block.enabled else _worded(block, language)
    if not text:
        shipped = load_shipped().block(block_id)
        text = "" if shipped is None else _worded(shipped, language)
        notes.append(Degradation("layers", f"{block_id} is missing or off: the shipped one"))
    if "{{" in text:
        notes.append(Degradation("layers", f"{block_id}: what stands in braces is not filled here"))
    return text


def _worded(block: Block, language: str) -> str:
    variant = pick_variant(block, "default", language)
    return "" if variant is None else variant.content.strip()
