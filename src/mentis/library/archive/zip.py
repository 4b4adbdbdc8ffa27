"""A zip of named bytes: written the same way every time, read within limits and suspicion."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mentis.errors import BadInput
from mentis.values.value import Value

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can say, so that no clock gets in
_FILE = stat.S_IFREG | 0o644
_UNIX = 3
_BOMB_FROM = 1_000_000  # below this a good ratio is only repetition
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
# What the zip module raises for bytes that are no zip, or not the one they say they are.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class Limits(Value):
    """The most an archive may be. A member of 1 MB and more must not shrink below 1 : `ratio`."""

    archive_bytes: int = 50_000_000
    members: int = 20_000
    member_bytes: int = 5_000_000
    total_bytes: int = 100_000_000
    ratio: int = 200


def pack(members: Mapping[str, bytes]) -> bytes:
    """The same bytes for the same members, whatever their order, the time or the machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = _UNIX
            info.external_attr = _FILE << 16
            archive.writestr(info, members[name])
    return buffer.getvalue()


def unpack(
    data: bytes, limits: Limits, wanted: Callable[[str], bool]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The wanted members, and the names of the others. A suspicious archive is refused whole."""
    if len(data) > limits.archive_bytes:
        raise _too_much(f"the archive has {len(data)} bytes", limits.archive_bytes)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = _safe(archive.infolist(), limits)
            read = dict(_read(archive, infos, limits, wanted))
    except _BROKEN as error:
        message = f"the archive cannot be read: {error or type(error).__name__}"
        raise BadInput(message, hint="export it anew; it is not a zip, or damaged") from None
    return read, tuple(info.filename for info in infos if not wanted(info.filename))


def _safe(infos: list[zipfile.ZipInfo], limits: Limits) -> list[zipfile.ZipInfo]:
    """The files among the members; all of them are looked at first, before anything is read."""
    if len(infos) > limits.members:
        raise _too_much(f"the archive has {len(infos)} members", limits.members)
    seen: set[str] = set()
    for info in infos:
        if reason := _suspicion(info, seen):
            hint = "do not import it, unless you know who made it; then pack it anew"
            member = info.orig_filename
            raise BadInput(f"member {member!r} {reason}", hint=hint, member=member)
        seen.add(info.filename)
    return [info for info in infos if not info.is_dir()]


def _suspicion(info: zipfile.ZipInfo, seen: set[str]) -> str:
    name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
    strange = not name or _CONTROL.search(name) is not None
    reasons = {
        "has a name with control characters or backslashes": strange,
        "has an absolute name": name.startswith("/") or _DRIVE.match(name) is not None,
        "leads out of its folder": not {".", ".."}.isdisjoint(name.split("/")),
        "is a link or a device, not a file": kind not in (0, stat.S_IFREG, stat.S_IFDIR),
        "is in the archive twice": info.filename in seen,
        "is encrypted": bool(info.flag_bits & _ENCRYPTED),
        "is packed in an unusual way": info.compress_type not in _METHODS,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _read(
    archive: zipfile.ZipFile,
    infos: list[zipfile.ZipInfo],
    limits: Limits,
    wanted: Callable[[str], bool],
) -> Iterator[tuple[str, bytes]]:
    """What is counted is what really comes out: the sizes a zip declares may be lies."""
    left = limits.total_bytes
    for info in infos:
        if not wanted(info.filename):
            continue
        with archive.open(info) as member:
            content = member.read(limits.member_bytes + 1)
        if len(content) > limits.member_bytes:
            raise _too_much(f"member {info.filename!r} is too large", limits.member_bytes)
        if len(content) >= _BOMB_FROM and len(content) > limits.ratio * info.compress_size:
            raise _too_much(f"member {info.filename!r} grows too much", limits.ratio)
        left -= len(content)
        if left < 0:
            raise _too_much("the archive is too large once unpacked", limits.total_bytes)
        yield info.filename, content


def _too_much(what: str, limit: int) -> BadInput:
    return BadInput(f"{what}; the limit is {limit}", hint="import it in parts", limit=limit)
