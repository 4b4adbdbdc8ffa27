"""A witness of C2SP tlog-witness as an anchor: it is asked for its cosignature, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from mentis.errors import BadCheckpoint, RolledBack, SettingsError, StoreError
from mentis.ledger.checkpoint import MAX_NOTE, read_note, split_notes
from mentis.ledger.cosignature import cosignatures_in, parse_witness_key
from mentis.ledger.witnessing import SIZE_TYPE, write_request
from mentis.net.client import open_blocking_client
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.ports.witness import Growth, no_growth
from mentis.values.checkpoint import KeptNote

if TYPE_CHECKING:
    import httpx2

_SECONDS = 5.0  # a turn may wait for it
OK, _CONFLICT, _UNPROVEN = 200, 409, 422
_MOST = 64 * MAX_NOTE  # the logs of a home


class WitnessAnchor:
    """`name` is its address and its key: `https://witness.example/w1#NAME+ID+KEY`."""

    def __init__(self, name: str, origin: str) -> None:
        self._origin = origin
        self._url, mark, key = name.partition("#")
        if not mark:
            raise SettingsError(
                f"`ledger.anchors`: witness:{name} names no key",
                hint="use witness:URL#NAME+ID+KEY; the witness prints its key",
            )
        self.key = parse_witness_key(key)
        check_target(self._url, with_key=False)

    def tell(self, checkpoint: str, growth: Growth = no_growth) -> str:
        """The checkpoint with the cosignature below it."""
        says = read_note(checkpoint).checkpoint
        answer = self._submit(0, checkpoint, growth)
        size = _size_in(answer)
        if size is not None and size > says.size:
            raise RolledBack(
                f"witness {self.key.name} has seen {size} entries of {says.origin}, and"
                f" {says.size} are here",
                hint="this is an older copy, or another one has gone on; `mentis verify` says what"
                " is missing",
            )
        if size:
            answer = self._submit(size, checkpoint, growth)
            if answer.status_code in (_CONFLICT, _UNPROVEN):
                raise RolledBack(
                    f"witness {self.key.name} has seen another ledger of {size} entries of"
                    f" {says.origin}: {answer.status_code} {answer.text[:200].strip()}",
                    hint="this is an older copy that went on; `mentis verify` says what is missing",
                )
        return self._signed(checkpoint, answer)

    def seen(self, checkpoint: str) -> int | None:
        """How many entries it has seen, by the protocol alone: it refuses with that what would go
        on from nothing. None where it says no size.
        """
        return _size_in(self._submit(0, checkpoint, no_growth))

    def last(self) -> str | None:
        notes = self.notes()
        return notes[-1].note if notes else None

    def notes(self) -> tuple[KeptNote, ...]:
        """What it has seen last of each log of this home. Not every witness tells that."""
        answer = self._ask("GET", f"/checkpoints?{urlencode({'origin': self._origin})}")
        if answer.status_code != OK:
            return ()
        notes = split_notes(answer.text)
        if not all(cosignatures_in(read_note(note), [self.key]) for note in notes):
            raise BadCheckpoint(
                f"witness {self.key.name} shows what it has not cosigned",
                hint="its key has changed, or somebody stands between: ask whoever runs it",
            )
        return tuple(KeptNote(note, f"witness {self.key.name}", outside=True) for note in notes)

    def _submit(self, old: int, checkpoint: str, growth: Growth) -> httpx2.Response:
        return self._ask("POST", "/add-checkpoint", write_request(old, growth(old), checkpoint))

    def _signed(self, checkpoint: str, answer: httpx2.Response) -> str:
        if answer.status_code != OK:
            raise StoreError(
                f"witness {self.key.name} refused the checkpoint: {answer.status_code}"
                f" {answer.text[:200].strip()}",
                hint="let it watch this log: mentis witness watch FOLDER ORIGIN --key KEY",
            )
        signed = f"{checkpoint}{answer.text}"
        if not cosignatures_in(read_note(signed), [self.key]):
            raise BadCheckpoint(
                f"witness {self.key.name} answered with no cosignature by its key",
                hint="compare the key with what the witness prints: mentis witness show FOLDER",
            )
        return signed

    def _ask(self, method: str, path: str, body: bytes = b"") -> httpx2.Response:
        import httpx2

        url, outside = f"{self._url.rstrip('/')}{path}", not is_loopback(host_of(self._url))
        try:
            with (
                open_blocking_client(seconds=_SECONDS, through_proxy=outside) as client,
                client.stream(method, url, content=body) as answer,
            ):
                return httpx2.Response(
                    answer.status_code, headers=answer.headers, content=self._read(answer)
                )
        except httpx2.HTTPError as error:
            raise StoreError(
                f"witness {self.key.name} at {self._url} does not answer: {error}",
                hint="what has no cosignature yet is sent again with the next checkpoint, or with"
                " `mentis ledger anchor push`",
            ) from error

    def _read(self, answer: httpx2.Response) -> bytes:
        content = bytearray()
        for piece in answer.iter_bytes():
            content += piece
            if len(content) > _MOST:
                raise StoreError(f"witness {self.key.name} says more than a witness does")
        return bytes(content)


def _size_in(answer: httpx2.Response) -> int | None:
    typed = answer.headers.get("content-type", "").partition(";")[0].strip() == SIZE_TYPE
    text = answer.text.strip()
    return int(text) if answer.status_code == _CONFLICT and typed and text.isdecimal() else None
