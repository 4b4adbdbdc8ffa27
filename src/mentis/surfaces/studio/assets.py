"""Files of the studio that every page loads: they come with the package, and from nowhere else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from mentis.errors import RequestRefused

PREFIX = "/studio/static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_IMPORT = re.compile(rb'(^import (?:[^;"]* from )?")\./([\w-]+\.js)"', re.MULTILINE)
_YEAR = "public, max-age=31536000, immutable"


async def send_asset(request: Request) -> Response:
    """One file, by its name; under an address with its version it never changes."""
    name = str(request.path_params["name"])
    content = _contents().get(name)
    if content is None:
        raise RequestRefused(f"there is no file {name[:80]!r}", hint="reload the page", status=404)
    headers = {"content-security-policy": "default-src 'none'"}
    headers["cache-control"] = (
        _YEAR if request.query_params.get("v") == version(name) else "no-cache"
    )
    return Response(content, headers=headers, media_type=_TYPES[name[name.rindex(".") :]])


def asset_url(name: str) -> str:
    """The address of a file, with its version."""
    return f"{PREFIX}/{name}?v={version(name)}"


def asset_text(name: str) -> str:
    """A file, to be put into a page that is kept."""
    return _contents()[name].decode()


@cache
def version(name: str) -> str:
    return _digest(_contents()[name])


@cache
def _contents() -> dict[str, bytes]:
    """All of them, read once: there are few, and they are small."""
    top = files("mentis.surfaces.studio") / "static"
    folders = {"": top, "vendor/": top / "vendor"}
    found = {
        prefix + file.name: file.read_bytes()
        for prefix, folder in folders.items()
        for file in folder.iterdir()
        if file.is_file() and file.name[file.name.rfind(".") :] in _TYPES
    }
    return {name: _with_versions(name, found) for name in found}


def _with_versions(name: str, found: Mapping[str, bytes]) -> bytes:
    """A file whose imports name versions, too: so it is another one when one of those is."""
    if not name.endswith(".js") or "/" in name:
        return found[name]

    def versioned(match: re.Match[bytes]) -> bytes:
        content = _with_versions(match[2].decode(), found)
        return match[1] + b"./" + match[2] + f'?v={_digest(content)}"'.encode()

    return _IMPORT.sub(versioned, found[name])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
