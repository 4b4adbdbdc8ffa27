"""A recorder that is killed in mid-batch: what is an entry is whole, with its bodies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from mentis.home.create import create_home
from mentis.record.call_bodies import read_body
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.stores.files.blobs import FileBlobs
from mentis.values.json import json_object

from .killed_recorder import BATCH, BEFORE, batch_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_in_a_batch_all_its_calls_are_entries_with_their_bodies_or_none_is(
    tmp_path: Path, stride: int
) -> None:
    home, folder = create_home(tmp_path / "house"), tmp_path / "killed"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.recorder.killed_recorder"]
    subprocess.run([*command, str(home), str(folder), str(stride)], cwd=ROOT, check=True)
    left = sorted(
        (one for one in folder.iterdir() if not one.suffix), key=lambda one: int(one.name)
    )
    counts = [_check(one) for one in left]
    assert len(counts) > 2
    assert {counts[0], counts[-1]} == {BEFORE, BEFORE + BATCH}
    assert counts == sorted(counts)


def _check(home: Path) -> int:
    """How many calls there are."""
    with open_record(home, "recorded/agent", readonly=True) as record:
        entries = [one for one in record.store.entries(record.agent) if one.kind == "call"]
    blobs, calls = FileBlobs(home / "blobs"), batch_of(0, BEFORE + BATCH)
    for entry, call in zip(entries, calls, strict=False):
        for field, said in (("request", call.request), ("answer", call.answer)):
            body = cast("str", json_object(entry.body[field])["body"])
            assert read_body(blobs, body) == said.content(), f"{home.name}: {entry.index} {field}"
    assert all(verdict.intact for verdict in verify_home(home, persona="recorded/agent"))
    return len(entries)
