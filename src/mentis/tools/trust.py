"""The digest of what an owner trusts: a tool of their home, or what its settings open."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from mentis.disk.inside import inside
from mentis.errors import SettingsError
from mentis.settings.acts import ActSettings, ToolSettings
from mentis.system.files import READ_LINKED, open_file
from mentis.values.digest import Digest, digest

BUILTIN = "builtin"  # under this name the settings of `[acts]` that open something are trusted
_MOST_BYTES = 8 * 1024 * 1024
_MOST_DOCUMENT = 64 * 1024 * 1024
_MOST_FILES, _MOST_CODE = 5000, 128 * 1024 * 1024
# What interpreters load from beside the file they were given.
_CODE = (
    *(".py", ".pyc", ".pyd", ".pyz", ".pth", ".so", ".dll", ".dylib", ".exe", ".node", ".wasm"),
    *(".js", ".cjs", ".mjs", ".jsx", ".ts", ".tsx", ".jar", ".class"),
    *(".sh", ".rb", ".pl", ".pm", ".lua"),
)


def acts_digest(home: Path, chosen: ActSettings) -> Digest | None:
    """Of what `[acts]` opens: programs, hosts, a folder elsewhere, acting unasked; None if nothing.

    Programs that are files of the home count with what is in them.
    """
    opened = opening_settings(chosen)
    if not opened:
        return None
    folders = [Path(place) for place in chosen.program_path.split(":")]
    files = {
        str(folder / name): found
        for name in chosen.programs
        for folder in folders
        if (found := _named(home, folder, name))
    }
    return _digest({"kind": BUILTIN, "opened": opened, "files": files})


def opening_settings(chosen: ActSettings) -> dict[str, object]:
    """The settings of `[acts]` that count only once they are trusted, as far as they are set."""
    opened: dict[str, object] = {}
    if chosen.policy == "open":
        opened["policy"] = chosen.policy
    if chosen.programs:
        opened |= {"programs": chosen.programs, "program_path": chosen.program_path}
    if chosen.hosts:
        opened |= {"hosts": chosen.hosts, "private_hosts": chosen.private_hosts}
    if Path(chosen.outbox).is_absolute():
        opened["outbox"] = chosen.outbox
    return opened


def closed_settings(chosen: ActSettings) -> ActSettings:
    """The same without any of that."""
    fields = type(chosen).model_fields
    return chosen.model_copy(
        update={name: fields[name].default for name in opening_settings(chosen)}
    )


def source_digest(home: Path, tool: ToolSettings, content: bytes | None = None) -> Digest | None:
    """Of what it would run, and of the secrets it would be given; None if it needs no trust.

    `content` is its file or document, if it has been read: what is run is then what was asked.

    Files of the home that a command names count with what is in them, and with the code beside
    them; so does the code of the folder that `-m` looks into.
    """
    kind = tool.chosen_kind
    if kind == "python":
        given = file_of(home, tool) if content is None else content
        told = {"kind": kind, "module": tool.module, "content": digest(given) if tool.file else ""}
        return _digest(told)
    if kind == "openapi":
        if not (tool.keys or tool.trusted):
            return None
        secrets = {"kind": kind, "document": tool.document, "url": tool.url, "keys": tool.keys}
        given = document_of(home, tool) if content is None else content
        document = digest(given)  # it says where the keys go
        told = {**secrets, "hosts": tool.hosts, "content": document}
        return _digest(told | _vouched(tool))
    if tool.url:
        told = {"kind": kind, "url": tool.url, "key": tool.key_env, "header": tool.header}
        return _digest(told | _vouched(tool))
    folder = home / tool.cwd if tool.cwd else home
    files = {word: found for word in tool.command if (found := _named(home, folder, word))}
    told = {"kind": kind, "command": tool.command, "cwd": tool.cwd, "env": tool.env}
    beside = {(folder / word).resolve().parent for word in files}
    if "-m" in tool.command and folder.resolve().is_relative_to(home.resolve()):
        beside.add(folder.resolve())
    code = {str(path): content for path, content in _code(home.resolve(), beside)}
    return _digest({**told, "files": files, "code": code} | _vouched(tool))


def _vouched(tool: ToolSettings) -> dict[str, object]:
    """Said only where it is so: what was trusted before stays trusted."""
    return {"trusted": True} if tool.trusted else {}


def content_of(home: Path, tool: ToolSettings) -> bytes:
    """The file or the document of a tool; nothing if it has none."""
    return document_of(home, tool) if tool.chosen_kind == "openapi" else file_of(home, tool)


def document_of(home: Path, tool: ToolSettings) -> bytes:
    """The document of a web service, as it is now."""
    return _content(home / tool.document, _MOST_DOCUMENT, "name the document of the service")


def file_of(home: Path, tool: ToolSettings) -> bytes:
    """The file with functions, as it is now; b"" for a module."""
    if not tool.file:
        return b""
    return _content(inside(home, tool.file).resolve(), _MOST_BYTES, "name a file inside the home")


def _named(home: Path, folder: Path, word: str) -> Digest:
    """What a word of a command holds, if it is a file of the home; "" if it is not."""
    try:
        path = folder / word
        if path.is_file() and path.resolve().is_relative_to(home.resolve()):
            return digest(path.read_bytes())
    except (OSError, ValueError):
        return ""  # it is no file that could be read, so it is not run either
    return ""


def _code(home: Path, folders: set[Path]) -> Iterator[tuple[Path, Digest]]:
    """Every file in there that could be loaded as code, by its place in the home."""
    found = {path for folder in folders for path in _loadable(folder)}
    size = 0
    for path in sorted(found):
        where = path.relative_to(home)
        if path.is_symlink():
            yield where, f"-> {path.readlink()}"
        if path.is_file():
            size += path.stat().st_size
            if len(found) > _MOST_FILES or size > _MOST_CODE:
                raise SettingsError(
                    f"there is more code beside it than can be looked at ({path.parent})",
                    hint="keep the program outside of the home, or in a folder of its own",
                )
            yield where, digest(path.read_bytes())


def _loadable(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink() or (name in files and _is_code(path)):
                yield path


def _is_code(path: Path) -> bool:
    return path.suffix.lower() in _CODE or (path.is_file() and os.access(path, os.X_OK))


def _content(path: Path, most: int, hint: str) -> bytes:
    """All of a plain file. Whatever else the name leads to is not waited for."""
    try:
        descriptor = open_file(path, READ_LINKED)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise SettingsError(f"{path} cannot be read: it is no plain file", hint=hint)
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SettingsError(f"{path} cannot be read: {why}", hint=hint) from error
    if len(content) > most:
        raise SettingsError(f"{path} has more than {most} bytes", hint=hint)
    return content


def _digest(told: Mapping[str, object]) -> Digest:
    return digest(json.dumps(dict(told), sort_keys=True, separators=(",", ":")).encode())
