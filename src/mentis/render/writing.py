"""Messages written down by a format, one after the other, with the spans behind each text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from mentis.values.fragment import Fragment
from mentis.values.rendering import Loss
from mentis.values.span import Span

from .declaring import DeclaredTool, declarations
from .draft import CallItem, PayloadDraft, SourcedText, WireMessage
from .memo import RUN, remember, remember_message, remember_run, runs_of
from .schemas import Dialect

# The number of the item, the pointer below it, and what is said there.
Traced: TypeAlias = tuple[int | None, str, SourcedText | CallItem | DeclaredTool]


@dataclass(slots=True)
class Page:
    """The items of one list in the payload. `root` is the JSON pointer to that list."""

    root: str
    first: int = 0
    items: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    traced: list[Traced] = field(default_factory=list[Traced])
    losses: list[Loss] = field(default_factory=list[Loss])
    settled: int = 0  # how many of the items are settled history
    uses: int = 0

    @property
    def here(self) -> str:
        """The pointer to the item that is added next."""
        return f"{self.root}/{self.first + len(self.items)}"

    def add(self, item: dict[str, object]) -> None:
        self.items.append(item)

    def append(self, other: Page) -> None:
        """Take over the items of a page that begins where this one ends."""
        here = len(self.items)
        self.items += other.items
        self.losses += other.losses
        self.traced += [
            (None if index is None else here + index, pointer, said)
            for index, pointer, said in other.traced
        ]

    def use(self) -> Page:
        """From the second time on, each of its items is kept as the bytes it was written to."""
        self.uses += 1
        if self.uses == _SECOND:
            self.items = [one if type(one) is Fragment else Fragment(one) for one in self.items]
        return self

    def trace(self, pointer: str, said: SourcedText | CallItem) -> None:
        """Say where the text at `pointer`, below the item that is added next, came from."""
        self.traced.append((len(self.items), pointer, said))

    def trace_outside(self, pointer: str, said: SourcedText) -> None:
        """The same for a text that stands elsewhere in the payload."""
        self.traced.append((None, pointer, said))

    def places(self) -> Iterator[tuple[str, SourcedText | CallItem | DeclaredTool]]:
        for index, pointer, said in self.traced:
            place = "" if index is None else f"{self.root}/{self.first + index}"
            yield f"{place}{pointer}", said


class Sources(Mapping[str, tuple[Span, ...]]):
    """The spans behind each text of a payload, each made when somebody asks for it."""

    __slots__ = ("_pages", "_places")

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = pages
        self._places: dict[str, SourcedText | CallItem | DeclaredTool] | None = None

    def _found(self) -> dict[str, SourcedText | CallItem | DeclaredTool]:
        if self._places is None:
            self._places = dict(found for page in self._pages for found in page.places())
        return self._places

    def __getitem__(self, pointer: str) -> tuple[Span, ...]:
        return tuple(self._found()[pointer].spans)

    def __contains__(self, pointer: object) -> bool:
        return pointer in self._found()

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


Write: TypeAlias = Callable[[Page, WireMessage], None]
_SECOND = 2


def _leaf(write: Write, message: WireMessage) -> Page:
    page = Page("")
    write(page, message)
    page.items = [Fragment(item) for item in page.items]
    return page


def _leaves(write: Write, wire: Hashable, *messages: WireMessage) -> Page:
    page = Page("")
    _write_each(page, messages, wire, write)
    return page


def _write_each(page: Page, messages: Iterable[WireMessage], wire: Hashable, write: Write) -> None:
    for message in messages:
        if message.lasting:
            page.append(remember_message(partial(_leaf, write), ("written", wire), message))
        else:
            write(page, message)


def write_messages(
    draft: PayloadDraft, wire: Hashable, root: str, write: Write, *, first: int = 0
) -> Page:
    """Settled history is taken from memory where it was written before."""
    head = draft.head

    def make() -> Page:
        page = Page(root, first)
        for _, run in runs_of(head):
            if len(run) == RUN and all(message.lasting for message in run):
                page.append(remember_run(partial(_leaves, write, wire), ("written", wire), run))
            else:
                _write_each(page, run, wire, write)
        return page

    ends = (head[0], head[-1]) if head else ()
    settled = remember((wire, root, first, len(head)), (draft.told, *ends), make).use()
    page = Page(root, first, settled.items.copy(), settled.traced.copy(), settled.losses.copy())
    page.settled = len(page.items)
    for message in draft.tail:
        write(page, message)
    if draft.continues:
        page.settled = len(page.items)
    return page


def write_tools(
    draft: PayloadDraft,
    wire: object,
    root: str,
    write: Callable[[DeclaredTool], dict[str, object]],
    *,
    dialect: Dialect,
    described: str = "/description",
) -> Page:
    """Tools are written once for as long as they are the same ones under the same names."""

    def make() -> Page:
        page = Page(root)
        declared = declarations(draft, dialect, page.losses)
        page.items = [write(tool) for tool in declared]
        page.traced = [(at, described, tool) for at, tool in enumerate(declared) if tool.text]
        return page

    if not draft.tools:
        return Page(root)
    able = draft.able
    key = (wire, root, able.strict_tools, able.tools, tuple(draft.names.items()))
    return remember(key, (*draft.tools, draft.notices.words), make).use()
