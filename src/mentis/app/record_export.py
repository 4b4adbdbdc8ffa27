"""Handing a record over: digests alone, or with the texts that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mentis.errors import ReplayError
from mentis.home.identity import RECORDED
from mentis.home.parts import Parts
from mentis.home.server import open_blobs
from mentis.record.export import RecordExport, write_export
from mentis.record.record import Record
from mentis.record.redaction import RedactionRule
from mentis.record.texts import Disclosure, PromptReader, RecordTexts

from .agent import Agent


def export_record(
    record: Record,
    path: Path,
    *,
    with_texts: bool = False,
    rules: Sequence[RedactionRule] = (),
) -> RecordExport:
    """Everything an auditor needs in one file, with a checkpoint of now and a report to read.

    `with_texts` puts conversations, prompts and results beside their digests. What `rules` find is
    left out, of the texts and of the entries, and named with the rule. It blocks.
    """
    if not with_texts:
        return write_export(record, path, Disclosure(rules=rules) if rules else None)
    with ExitStack() as stack:
        texts = RecordTexts(
            record.agent,
            record.talk,
            open_blobs(record.home, record.database),
            _prompts(record, stack),
        )
        return write_export(record, path, Disclosure(texts, rules))


def _prompts(record: Record, stack: ExitStack) -> PromptReader | None:
    """Puts prompts together again. What another program sent is kept as it was."""
    if record.persona.startswith(RECORDED):
        return None
    parts = Parts(environ=record.environ)
    agent = Agent.open(record.home.path, persona=record.persona, parts=parts)
    stack.callback(agent.close)

    def read(index: int, step: int) -> bytes:
        replayed = agent.replay(index, step=step)
        if not replayed.payload:
            raise ReplayError(
                f"the prompt of entry {index} cannot be put together as it was",
                hint="`mentis replay` says where it differs",
            )
        return replayed.rendering.body()

    return read
