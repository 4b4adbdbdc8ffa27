from __future__ import annotations

from pathlib import Path

import pytest

from mentis.engines.engine import check_gguf, choose_threads
from mentis.errors import EngineFailed, WeightsMissing


@pytest.mark.parametrize(
    ("asked", "cpus", "load", "threads"),
    [
        (3, 2, 9.0, 3),  # what the route says is done
        (0, 1, 0.0, 1),
        (0, 2, 0.0, 1),  # a small machine
        (0, 8, 4.1, 1),  # a busy one
        (0, 4, 0.1, 2),
        (0, 64, 1.0, 4),
    ],
)
def test_threads_follow_the_route_then_the_machine(
    asked: int, cpus: int, load: float, threads: int
) -> None:
    assert choose_threads(asked, cpus, load) == threads


def test_a_folder_is_no_model_file(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing):
        check_gguf(tmp_path)


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04"])
def test_the_first_bytes_must_say_gguf(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(EngineFailed, match="not a GGUF file"):
        check_gguf(path)


def test_a_file_that_begins_right_passes(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF\x03")
    check_gguf(path)
