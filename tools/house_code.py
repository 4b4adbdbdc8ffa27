"""Measures of a package, read from its source and nothing else: sizes, imports, wide objects.

A room is a package right under the root; a module that lies loose there counts as a room of its own
name. Every function takes the folder of the package, so that tests can hand over a small one. Lines
of code are those that are neither blank nor a comment nor a docstring. The length of a function is
its lines from `def` on without its docstring.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

SHORT_LINES = 3
MANY_FIELDS = 12

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """`name` is dotted and begins with the package; `package` says that it is an `__init__`. The
    imports are also those inside functions and those that only the type checker sees.
    """

    name: str
    path: Path
    room: str
    package: bool
    text: str
    tree: ast.Module
    functions: tuple[Function, ...]
    classes: tuple[ast.ClassDef, ...]
    imports: tuple[ast.Import | ast.ImportFrom, ...]


@dataclass(frozen=True, slots=True)
class Size:
    room: str
    files: int
    lines: int
    code_lines: int
    import_lines: int
    functions: int
    median: float
    p90: int
    longest: int
    classes: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two groups of modules that import each other: how many imports go there, how many back."""

    room: str
    one: str
    other: str
    there: int
    back: int


@dataclass(frozen=True, slots=True)
class WideObject:
    """`size` is its methods or fields, `signatures` the functions with a parameter of that name."""

    name: str
    room: str
    module: str
    size: int
    signatures: int
    files: int


@cache
def modules(root: Path) -> tuple[Module, ...]:
    return tuple(_module(root, path) for path in sorted(root.rglob("*.py")))


def _module(root: Path, path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    package = path.name == "__init__.py"
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join((root.name, *(parts[:-1] if package else parts)))
    tree = ast.parse(text, str(path))
    nodes = list(ast.walk(tree))
    return Module(
        name,
        path,
        room=room_of(path, root),
        package=package,
        text=text,
        tree=tree,
        functions=tuple(node for node in nodes if isinstance(node, Function)),
        classes=tuple(node for node in nodes if isinstance(node, ast.ClassDef)),
        imports=tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))),
    )


def room_of(path: Path, root: Path) -> str:
    return path.relative_to(root).with_suffix("").parts[0]


def room_sizes(root: Path) -> list[Size]:
    """The largest room first; the last one is the total."""
    rooms: defaultdict[str, list[Module]] = defaultdict(list)
    for module in modules(root):
        rooms[module.room].append(module)
    sizes = [_size(room, found) for room, found in rooms.items()]
    sizes.sort(key=lambda size: -size.lines)
    return [*sizes, _size("total", modules(root))]


def _size(room: str, found: list[Module] | tuple[Module, ...]) -> Size:
    lengths = sorted(length(node) for module in found for node in module.functions)
    return Size(
        room,
        files=len(found),
        lines=sum(len(module.text.splitlines()) for module in found),
        code_lines=sum(map(_code_lines, found)),
        import_lines=sum(_height(node) for module in found for node in module.imports),
        functions=len(lengths),
        median=median(lengths) if lengths else 0,
        p90=lengths[len(lengths) * 9 // 10] if lengths else 0,
        longest=lengths[-1] if lengths else 0,
        classes=sum(len(module.classes) for module in found),
    )


def _code_lines(module: Module) -> int:
    words = {
        line
        for node in (module.tree, *module.functions, *module.classes)
        if (docstring := docstring_of(node)) is not None
        for line in range(docstring.lineno, (docstring.end_lineno or 0) + 1)
    }
    return sum(
        number not in words and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(module.text.splitlines(), start=1)
    )


def docstring_of(node: ast.Module | ast.ClassDef | Function) -> ast.Constant | None:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str()) as docstring), *_]:
            return docstring
        case _:
            return None


def length(function: Function) -> int:
    docstring = docstring_of(function)
    return _height(function) - (_height(docstring) if docstring else 0)


def _height(node: ast.stmt | ast.expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def short_functions(root: Path) -> int:
    return sum(length(node) <= SHORT_LINES for one in modules(root) for node in one.functions)


@cache
def import_graph(root: Path) -> Mapping[str, frozenset[str]]:
    """The modules of the package that each of its modules imports, whenever it does."""
    known = frozenset(module.name for module in modules(root))
    return {
        module.name: frozenset(_targets(module, known)) - {module.name} for module in modules(root)
    }


def _targets(module: Module, known: frozenset[str]) -> Iterator[str]:
    for node in module.imports:
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            origin = _origin(module, node)
            full = [f"{origin}.{name.name}" for name in node.names]
            names = [name if name in known else origin for name in full]
        yield from (name for name in names if name in known)


def _origin(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    steps = module.name.split(".")
    above = steps[: len(steps) - node.level + module.package]
    return ".".join([*above, node.module] if node.module else above)


def modules_with_one_importer(root: Path) -> list[str]:
    importers = Counter(target for targets in import_graph(root).values() for target in targets)
    return sorted(name for name, count in importers.items() if count == 1)


def room_edges(root: Path) -> Counter[tuple[str, str]]:
    """How many imports of modules lead from one room into another."""
    rooms = {module.name: module.room for module in modules(root)}
    return _edges(root, lambda name: rooms[name])


def _edges(root: Path, group: Callable[[str], str]) -> Counter[tuple[str, str]]:
    pairs = (
        (group(name), group(target))
        for name, targets in import_graph(root).items()
        for target in targets
    )
    return Counter((here, there) for here, there in pairs if here != there)


def mutual_rooms(root: Path) -> list[Pair]:
    return [Pair("", *pair) for pair in _mutual(room_edges(root))]


def mutual_clusters(root: Path) -> list[Pair]:
    """Inside a room, a cluster is a package; of the modules beside it, those whose names begin with
    the same word (`settings`, `settings_routes`).
    """
    edges = _edges(root, _cluster)
    inside = {pair: count for pair, count in edges.items() if _head(pair[0]) == _head(pair[1])}
    return [
        Pair(_head(one), _tail(one), _tail(other), there, back)
        for one, other, there, back in _mutual(inside)
        if _tail(one) and _tail(other)
    ]


def _cluster(name: str) -> str:
    room, _, rest = name.partition(".")[2].partition(".")
    head, _, deeper = rest.partition(".")
    return f"{room}.{head if deeper else head.partition('_')[0]}"


def _head(cluster: str) -> str:
    return cluster.partition(".")[0]


def _tail(cluster: str) -> str:
    return cluster.partition(".")[2]


def _mutual(edges: Mapping[tuple[str, str], int]) -> list[tuple[str, str, int, int]]:
    return sorted(
        (one, other, count, edges[other, one])
        for (one, other), count in edges.items()
        if one < other and (other, one) in edges
    )


def protocols(root: Path) -> list[WideObject]:
    """Every Protocol with its methods, the widest first."""
    return _wide(root, lambda node: _methods(node) if _is_protocol(node) else 0)


def wide_dataclasses(root: Path) -> list[WideObject]:
    """The dataclasses with more than 12 fields of their own, the widest first."""

    def size(node: ast.ClassDef) -> int:
        count = sum(map(_is_field, node.body))
        return count if _is_dataclass(node) and count > MANY_FIELDS else 0

    return _wide(root, size)


def _wide(root: Path, size: Callable[[ast.ClassDef], int]) -> list[WideObject]:
    uses = _uses(root)
    wide = [
        WideObject(node.name, module.room, module.name, count, len(files), len({*files}))
        for module in modules(root)
        for node in module.classes
        if (count := size(node))
        for files in [uses[node.name]]
    ]
    return sorted(wide, key=lambda one: (-one.size, one.name))


@cache
def _uses(root: Path) -> defaultdict[str, list[Path]]:
    """The file of each function that has a parameter of a type, by the name of the type."""
    uses: defaultdict[str, list[Path]] = defaultdict(list)
    for module in modules(root):
        for function in module.functions:
            for name in _parameter_types(function):
                uses[name].append(module.path)
    return uses


def _parameter_types(function: Function) -> set[str]:
    taken = function.args
    rest = [one for one in (taken.vararg, taken.kwarg) if one]
    annotations = [
        one.annotation for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, *rest)
    ]
    nodes = (node for one in annotations if one is not None for node in ast.walk(one))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _is_field(part: ast.stmt) -> bool:
    return isinstance(part, ast.AnnAssign) and _name(part.annotation) != "ClassVar"


def _methods(node: ast.ClassDef) -> int:
    return sum(isinstance(part, Function) for part in node.body)


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(_name(base) == "Protocol" for base in node.bases)


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any(_name(one) == "dataclass" for one in node.decorator_list)


def _name(node: ast.expr) -> str:
    """The last name of `a.b`, `a.b(...)` and `a.b[...]`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _name(inner)
        case _:
            return ""
