"""A witness: it holds a checkpoint against the last one, keeps it, and cosigns it."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.ledger.checkpoint import read_note, signature_line
from mentis.ledger.cosignature import cosign
from mentis.ledger.signature import decode_key
from mentis.ledger.witnessing import WitnessRefusal, read_request, refuse_request
from mentis.ports.clock import Clock
from mentis.stores.files.witness_folder import SeenCheckpoint, WitnessFolder


@dataclass(frozen=True, slots=True)
class LogWitness:
    """Cosigns what goes on from what it has seen. It may be asked by several threads at once."""

    folder: WitnessFolder
    clock: Clock

    def add_checkpoint(self, body: bytes) -> str | WitnessRefusal:
        """The line of the cosignature; it is given only once the checkpoint is on the disk."""
        request = read_request(body)
        note = request.note
        origin = note.checkpoint.origin
        keys = [decode_key(key) for key in self.folder.keys_of(origin)]
        if not keys:
            return WitnessRefusal(404, f"the log {origin} is not watched here")
        facts, signer = self.folder.facts(), self.folder.signer()
        with self.folder.changing():
            seen = self.folder.seen(origin)
            known = read_note(seen.note) if seen else None
            if refusal := refuse_request(request, keys, known):
                return refusal
            line = cosign(note, facts.name, signer, time=int(self.clock.now().timestamp()))
            own = (signature_line(one) for one in note.signatures if one.name == origin)
            self.folder.note_seen(SeenCheckpoint(origin, f"{note.text}\n{''.join(own)}{line}"))
        return line

    def checkpoints(self, origin: str) -> str:
        """The last one of this log and of each below it, one after the other."""
        return "".join(one.note for one in self.folder.seen_below(origin))
