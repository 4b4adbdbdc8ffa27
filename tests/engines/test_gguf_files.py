"""Model files in the folders of other programs, and those that were added."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.gguf_bytes import LLAMA, gguf_bytes, write_gguf

from mentis.engines.embedded import path_of
from mentis.engines.gguf_files import add_model, added_models, find_gguf, remove_added
from mentis.errors import EngineFailed, UsageError, WeightsMissing

VECTORS = {"general.architecture": "bert", "bert.context_length": 512}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def ollama_model(folder: Path, name: str, tag: str) -> None:
    content = gguf_bytes()
    digest = hashlib.sha256(content).hexdigest()
    manifest = folder / "manifests" / "registry.ollama.ai" / "library" / name / tag
    manifest.parent.mkdir(parents=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": f"sha256:{'0' * 64}"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}), encoding="utf-8")
    (folder / "blobs").mkdir()
    (folder / "blobs" / f"sha256-{digest}").write_bytes(content)


def test_files_are_found_where_each_program_keeps_them_and_the_largest_comes_first(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    write_gguf(home / ".lmstudio/models/acme/big/big-Q4.gguf", padding=9000)
    write_gguf(home / ".lmstudio/models/acme/big/mmproj-big.gguf")
    write_gguf(home / ".lmstudio/models/acme/vectors/v.gguf", VECTORS)
    write_gguf(home / ".cache/llama.cpp/split-00001-of-00002.gguf", padding=8000)
    write_gguf(home / ".cache/llama.cpp/split-00002-of-00002.gguf", padding=8000)
    blob = write_gguf(home / "blobs" / "abc", padding=7000)
    snapshot = home / ".cache/huggingface/hub/models--acme--m/snapshots/1f2e/m.gguf"
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(blob)
    (home / ".cache/llama.cpp/broken.gguf").write_bytes(b"<html>not found")
    ollama_model(home / ".ollama/models", "llama3.2", "3b")
    found = find_gguf({"HOME": str(home)})
    assert [(one.place, one.name) for one in found] == [
        ("LM Studio", "big-Q4"),
        ("llama.cpp", "split-00001-of-00002"),
        ("Hugging Face", "m"),
        ("Ollama", "llama3.2-3b"),
    ]
    assert {one.context for one in found} == {4096}


def test_the_folders_that_variables_name_are_looked_into(tmp_path: Path) -> None:
    write_gguf(tmp_path / "one" / "a.gguf")
    write_gguf(tmp_path / "two" / "b.gguf", padding=5)
    ollama_model(tmp_path / "three", "c", "latest")
    environ = {
        "HOME": str(tmp_path / "nobody"),
        "LLAMA_CACHE": str(tmp_path / "one"),
        "HF_HUB_CACHE": str(tmp_path / "two"),
        "OLLAMA_MODELS": str(tmp_path / "three"),
    }
    assert {one.name for one in find_gguf(environ)} == {"a", "b", "c-latest"}


def test_a_file_that_is_added_is_known_by_its_name_until_it_is_removed(
    tmp_path: Path, cache: Path
) -> None:
    file = write_gguf(tmp_path / "downloads" / "Qwen3 4B.gguf")
    added = add_model(file)
    assert (added.name, added.path) == ("Qwen3-4B", cache / "models/added/Qwen3-4B.gguf")
    assert path_of("Qwen3-4B") == added.path
    assert added_models() == (added,)
    with pytest.raises(UsageError, match="there is a model 'Qwen3-4B' already"):
        add_model(file)
    assert remove_added("Qwen3-4B") == added.path
    assert file.exists(), "a file that was linked stays where it is"
    with pytest.raises(WeightsMissing):
        path_of("Qwen3-4B")
    copy = add_model(file, name="mine", copied=True)
    file.unlink()
    assert copy.path.read_bytes() == gguf_bytes(LLAMA)


def test_what_is_no_model_that_answers_is_not_added(tmp_path: Path, cache: Path) -> None:
    other = tmp_path / "a.gguf"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(EngineFailed, match="is not a GGUF file"):
        add_model(other)
    with pytest.raises(EngineFailed, match="a model of vectors"):
        add_model(write_gguf(tmp_path / "v.gguf", VECTORS))
    with pytest.raises(EngineFailed, match="a part of a model"):
        add_model(write_gguf(tmp_path / "c.gguf", {"general.architecture": "clip"}))
    with pytest.raises(UsageError, match="cannot be the name"):
        add_model(write_gguf(tmp_path / "m.gguf"), name="../m")
    assert not cache.exists()
