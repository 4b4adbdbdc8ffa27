"""The header of a GGUF file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.gguf_bytes import LLAMA, gguf_bytes, write_gguf

from mentis.engines.gguf import GgufHeader, read_gguf
from mentis.errors import EngineFailed, WeightsMissing


def test_the_header_says_which_model_it_is_and_how_much_it_holds(tmp_path: Path) -> None:
    header = read_gguf(write_gguf(tmp_path / "a.gguf"))
    assert header == GgufHeader("A little llama", "llama", 4096, template=True)
    assert header.writes


@pytest.mark.parametrize(
    "values",
    [
        {"general.architecture": "nomic-bert", "nomic-bert.context_length": 2048},
        {"general.architecture": "clip", "general.type": "mmproj"},
        {"general.architecture": "llama", "general.type": "adapter"},
        {},
    ],
)
def test_a_model_of_vectors_and_a_part_of_a_model_do_not_write(
    tmp_path: Path, values: dict[str, str | int]
) -> None:
    assert not read_gguf(write_gguf(tmp_path / "a.gguf", values)).writes


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04zip", "is not a GGUF file"),
        (b"", "is not a GGUF file"),
        (gguf_bytes()[:60], "ends in the middle"),
        (gguf_bytes(version=1), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "keys"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60), "a text of"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<I", 77), "type 77"),
        (
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 4, 2**60),
            "a list of",
        ),
        (
            gguf_bytes({f"k{index}": "x" * 900_000 for index in range(80)}),
            "longer than",
        ),
    ],
)
def test_a_file_that_is_none_or_is_damaged_is_refused_and_says_how(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "a.gguf").write_bytes(content)
    with pytest.raises(EngineFailed, match=said):
        read_gguf(tmp_path / "a.gguf")


def test_a_file_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match="no model file"):
        read_gguf(tmp_path / "a.gguf")


def test_a_name_that_the_header_lacks_is_that_of_the_file(tmp_path: Path) -> None:
    values = {key: value for key, value in LLAMA.items() if key != "general.name"}
    assert read_gguf(write_gguf(tmp_path / "Tiny-Q4.gguf", values)).name == "Tiny-Q4"
