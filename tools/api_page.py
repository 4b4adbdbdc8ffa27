"""The page of the Python API: every public name with its signature, its words and its fields."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_origin, get_overloads

import mentis
from errors_drawn import read_drawing
from mentis import homes, logs, models, recording, testing
from mentis.errors import MentisError

WIDTH = 92
_WRITTEN = (type(None), str, bytes, bool, int, float, tuple, frozenset, dict, list)
# The chapters of the page. Every name that `mentis` offers stands in one of them, once.
LINE = 100
CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "An agent": (
        "create_home",
        "Agent",
        "Parts",
        "CallOptions",
        "Stimulus",
        "TurnResult",
        "TypedResult",
    ),
    "Pieces of an answer": (
        "Delta",
        "TextDelta",
        "ReasoningDelta",
        "CallDelta",
        "ResultDelta",
        "StepDelta",
        "OutputDelta",
        "AgainDelta",
        "EndDelta",
    ),
    "Tools": (
        "tool",
        "ToolDeclaration",
        "ToolResultPart",
        "ActSpec",
        "ActCall",
        "Action",
        "Outcome",
        "CallbackChannel",
        "open_acts",
        "open_toolbox",
    ),
    "What is told, and what comes back": (
        "PromptRequest",
        "Composition",
        "Trace",
        "Rendering",
        "Reply",
        "Turn",
        "Span",
        "MediaPart",
        "attach",
        "ReplyTo",
        "RuntimeContext",
        "Trust",
    ),
    "Prompts and personas": (
        "Prompts",
        "Library",
        "Block",
        "load_shipped",
        "Personas",
        "Persona",
        "Profile",
    ),
    "Living by itself": (
        "Sense",
        "SenseQueue",
        "TickResult",
        "LoopChoice",
        "open_cognition",
    ),
    "Memories": ("open_memories", "MemoryDraft", "MemoryFilter"),
    "The record": (
        "open_record",
        "Entry",
        "Verdict",
        "Uptime",
        "export_record",
        "auditor_script",
        "open_statuses",
        "WindowDraft",
    ),
    "Settings": ("open_settings",),
    "Keys": ("open_route_keys",),
    "Doors": ("serve", "open_tokens"),
    "Errors": ("MentisError", "BudgetReached", "SessionBusy", "OutputInvalid", "ActFailed"),
}
_OTHER_DOORS = (
    *testing.__all__,
    *recording.__all__,
    *models.__all__,
    *homes.__all__,
    *logs.__all__,
)
WORDS = """\
Everything a program needs comes from `mentis`, what its tests need from `mentis.testing`, what
records another program from inside it from `mentis.recording`, the models of this machine from
`mentis.models`, what is done with whole homes from `mentis.homes`, and what reads the logs of
other programs from `mentis.logs`; other modules are inner ones, and change without notice. A call
that begins with `async` is awaited, one with `async with` is entered; the others block. Types that
stand in a signature and are not on this page need no import: [Values that come
back](api-values.md) has them.

"""
RECEIVED = """\
What the [Python API](api.md) returns, or what stands in it: nobody has to import these, and a
checker knows them all the same. Values are frozen; `dataclasses.replace` makes another.

"""
ALIASES = """\
Names of types that stand in signatures; where two modules use one name, both.

| name | stands for |
|---|---|
"""


def api_page() -> str:
    chapters = [
        f"## {title}\n\n" + "\n".join(_section(getattr(mentis, name), name) for name in names)
        for title, names in CHAPTERS.items()
    ]
    chapters += [_homes(), _logs(), _models(), _recorders(), _doubles()]
    contents = "".join(f"- {title}: {_links(names)}\n" for title, names in CHAPTERS.items())
    return "\n".join([f"# Python API\n\n{WORDS}{contents}", *chapters])


def values_page() -> str:
    values = [getattr(mentis, name) for names in CHAPTERS.values() for name in names]
    received = sorted(_received(values), key=lambda cls: cls.__name__)
    sections = [_section(cls, cls.__name__) for cls in received]
    aliases = f"## Types\n\n{ALIASES}" + "\n".join(_aliases([*values, *received])) + "\n"
    return "\n".join([f"# Values that come back\n\n{RECEIVED}", *sections, aliases])


def _links(names: Iterable[str]) -> str:
    return ", ".join(f"[`{name}`](#{name.lower()})" for name in names)


def _section(value: object, name: str) -> str:
    head = f"### `{name}`\n"
    if inspect.isclass(value):
        return "\n".join([head, *_class(value)])
    if callable(value) and inspect.isfunction(function := inspect.unwrap(value)):
        ways = [_signature(one, name) for one in get_overloads(function) or [function]]
        return "\n".join([head, _code("\n".join(ways)), _words(function)])
    return f"{head}\n{_code(_alias(name, _plain(value)))}"


def _alias(name: str, told: str) -> str:
    """As the formatter writes it: a union that is too long for a line has one of each."""
    line = f"{name} = {told}"
    if len(line) <= LINE:
        return line
    return f"{name} = (\n    " + "\n    | ".join(told.split(" | ")) + "\n)"


def _class(cls: type[Any]) -> Iterator[str]:
    if dataclasses.is_dataclass(cls):
        yield _words(cls)
        yield from _fields(cls)
    elif issubclass(cls, enum.Enum):
        yield _words(cls)
        yield ", ".join(f"`{cls.__name__}.{one.name}`" for one in cls) + "\n"
    else:
        if not issubclass(cls, Exception) or "__init__" in vars(cls):
            yield from _made(cls)
        yield _words(cls) or _error_words(cls)
        if issubclass(cls, MentisError):
            yield f"Its code is `{cls.code}`; its parent is `{cls.__bases__[0].__name__}`.\n"
    yield from _members(cls)


def _error_words(cls: type[Any]) -> str:
    return next((f"{one.meaning}.\n" for one in read_drawing() if one.name == cls.__name__), "")


def _made(cls: type[Any]) -> Iterator[str]:
    """How one is made, unless only the library can."""
    if _opener(cls) is None and "__init__" in vars(cls):
        yield _code(_signature(cls.__init__, cls.__name__, bound=True))


def _opener(cls: type[Any]) -> object:
    return vars(cls).get("open") if isinstance(vars(cls).get("open"), classmethod) else None


def _fields(cls: type[Any]) -> Iterator[str]:
    rows = [
        _row(f"`{one.name}`", f"`{one.type}`", _default(one))
        for one in dataclasses.fields(cls)
        if not one.name.startswith("_")
    ]
    if rows:
        yield "| field | type | default |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{_shown(field.default)}`"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{_shown(field.default_factory())}`"
    return ""


def _members(cls: type[Any]) -> Iterator[str]:
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fget is not None:
            returns = member.fget.__annotations__.get("return", "")
            yield f"#### `{cls.__name__}.{name}: {returns}`\n\n{_words(member.fget)}"
        function: Any = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            bound = not isinstance(member, staticmethod)
            code = _signature(function, f"{cls.__name__}.{name}", bound=bound)
            yield f"#### `{cls.__name__}.{name}`\n\n{_code(code)}\n{_words(function)}"


def _signature(function: Any, name: str, *, bound: bool = False) -> str:  # noqa: ANN401
    """As it would be written, on one line or one parameter to a line."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[1 if bound else 0 :]
    returns = "" if found.return_annotation in (found.empty, "None") else found.return_annotation
    context = _context(function)
    waits = inspect.iscoroutinefunction(inspect.unwrap(function))
    start = "async with " if context == "async with" else "async " if waits else ""
    listed = list(_parameters(parameters))
    arrow = f" -> {_result(str(returns), context)}" if returns else ""
    line = f"{start}{name}({', '.join(listed)}){arrow}"
    if len(line) <= WIDTH:
        return line
    return f"{start}{name}(\n" + "".join(f"    {one},\n" for one in listed) + f"){arrow}"


def _context(function: Any) -> str:  # noqa: ANN401
    """Whether it is entered rather than called."""
    inner = inspect.unwrap(function)
    if inner is function:
        return ""
    return "async with" if inspect.isasyncgenfunction(inner) else "with"


def _result(returns: str, context: str) -> str:
    entered = re.fullmatch(r"(?:Async)?(?:Generator|Iterator)\[(.*?)(?:, None)*\]", returns)
    return entered[1] if context and entered else returns


def _parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred = starred or one.kind is one.VAR_POSITIONAL
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        type_ = "" if one.annotation is one.empty else f": {one.annotation}"
        default = "" if one.default is one.empty else f" = {_shown(one.default)}"
        yield f"{mark}{one.name}{type_}{default}"


def _shown(value: object) -> str:
    """A default as somebody would write it; of what cannot be written, its kind."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if type(value) in _WRITTEN:
        shown = repr(value)
        return shown if len(shown) <= 40 and " object at " not in shown else "..."
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}()"
    return "..."


def _words(value: object) -> str:
    return f"{inspect.getdoc(value) or ''}\n" if _own_words(value) else ""


def _own_words(value: object) -> bool:
    """Not the signature that `dataclass` writes where nobody wrote words."""
    words = getattr(value, "__doc__", None)
    return bool(words) and not words.startswith(f"{getattr(value, '__name__', '')}(")


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


# What else stands in signatures


def _annotations(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every annotation of a public name, with the names that its module knows."""
    members = vars(value).values() if inspect.isclass(value) else [value]
    if inspect.isclass(value) and dataclasses.is_dataclass(value):
        known = vars(inspect.getmodule(value))
        yield from ((str(one.type), known) for one in dataclasses.fields(value))
    for member in members:
        function = member.fget if isinstance(member, property) else member
        function = getattr(function, "__func__", function)
        made = inspect.isclass(value) and issubclass(value, Exception)
        hidden = r"_(?!_init__)" if made else "_"
        if inspect.isfunction(function) and not re.match(hidden, function.__name__):
            inner = inspect.unwrap(function)
            yield from ((str(one), inner.__globals__) for one in inner.__annotations__.values())


def _named(values: Iterable[object]) -> list[tuple[str, Any]]:
    """The names in all annotations, each with what it stands for there."""
    found: dict[tuple[str, str], Any] = {}
    for value in values:
        for annotation, known in _annotations(value):
            for name in re.findall(r"\b[A-Z]\w*", annotation):
                if name in known:
                    found[name, str(known[name])] = known[name]
    return [(name, one) for (name, _), one in found.items()]


def _received(values: Iterable[object]) -> list[type[Any]]:
    """Values of ours in signatures of public names that are not public themselves."""
    return [
        one
        for name, one in _named(values)
        if inspect.isclass(one)
        and one.__module__.startswith("mentis.")
        and name not in mentis.__all__
        and name not in _OTHER_DOORS
        and not getattr(one, "_is_protocol", False)
    ]


def _aliases(values: Iterable[object]) -> list[str]:
    found = sorted((name, _plain(one)) for name, one in _named(values) if _is_alias(one))
    rows = (_row(f"`{name}`", f"`{one}`") for name, one in found)
    return [row for row in rows if not re.match(r"\| `(\w+)` \| `\1", row)]


def _is_alias(value: object) -> bool:
    written = isinstance(value, types.UnionType) or get_origin(value) is not None
    return written and not inspect.isclass(value)


def _plain(value: object) -> str:
    """A type without the modules that its parts are from."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(value)).replace("~", "")


def _recorders() -> str:
    guide = "[Record an SDK program](../guides/record-an-sdk-program.md)"
    words = f"\n\nRecords a program from inside, without a proxy: {guide}.\n"
    sections = [_recorder(getattr(recording, name), name) for name in recording.__all__]
    return f"## `mentis.recording`{words}\n" + "\n".join(sections)


def _models() -> str:
    guide = "[Choose who answers](../guides/routes.md)"
    words = f"\n\nModels of this machine, and which of them answers in a home: {guide}.\n"
    sections = [_recorder(getattr(models, name), name) for name in models.__all__]
    return f"## `mentis.models`{words}\n" + "\n".join(sections)


def _homes() -> str:
    guide = "[Back up, move and copy a home](../guides/back-up-and-move-a-home.md)"
    words = f"\n\nHomes as a whole: {guide}.\n"
    sections = [_recorder(getattr(homes, name), name) for name in homes.__all__]
    return f"## `mentis.homes`{words}\n" + "\n".join(sections)


def _logs() -> str:
    guide = "[Where did the money go?](../guides/where-did-the-money-go.md)"
    words = f"\n\nReads the logs of other programs: {guide}.\n"
    sections = [_recorder(getattr(logs, name), name) for name in logs.__all__]
    return f"## `mentis.logs`{words}\n" + "\n".join(sections)


def _recorder(value: object, name: str) -> str:
    """A class without how it is made, where a function makes it."""
    if not inspect.isclass(value):
        return _section(value, name)
    return "\n".join([f"### `{name}`\n", _words(value), *_members(value)])


def _doubles() -> str:
    words = "\n\n`mentis.testing` has a double of every port: [Ports](ports.md) says which.\n"
    sections = [_double(getattr(testing, name)) for name in testing.__all__]
    return f"## `mentis.testing`{words}\n" + "\n".join(sections)


def _double(cls: type[Any]) -> str:
    """Without its methods: they are those of the port."""
    return "\n".join([f"### `{cls.__name__}`\n", *_made(cls), _words(cls)])
