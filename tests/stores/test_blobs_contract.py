"""What every `BlobStore` does, and what is special about files."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mentis.errors import HomeUnwritable, OutsideHome, StoreDamaged
from mentis.ports.blob_store import BlobStore
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.memory import BlobsInMemory
from mentis.stores.postgres.blobs import PostgresBlobs
from mentis.stores.postgres.database import PostgresDatabase
from mentis.values.digest import digest

CONTENT = b"a result " * 2000


@pytest.fixture(params=["memory", "files", "postgres"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "postgres":
        return PostgresBlobs(request.getfixturevalue("postgres"))
    return BlobsInMemory() if request.param == "memory" else FileBlobs(tmp_path / "blobs")


@pytest.fixture
def files(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path / "blobs")


def test_a_changed_row_is_damage_and_keeping_it_again_mends_it(postgres: PostgresDatabase) -> None:
    rows = PostgresBlobs(postgres)
    name = rows.keep(CONTENT)
    with postgres.session() as connection:
        connection.execute("UPDATE blobs SET data = 'something else'")
    with pytest.raises(StoreDamaged, match="is not what was kept there"):
        rows.read(name)
    assert rows.keep(CONTENT) == name
    assert (rows.read(name), rows.names()) == (CONTENT, (name,))


def file_of(tmp_path: Path, content: bytes = CONTENT) -> Path:
    figures = digest(content).removeprefix("sha256:")
    return tmp_path / "blobs" / figures[:2] / figures


def test_what_is_kept_comes_back_by_its_digest(blobs: BlobStore) -> None:
    name = blobs.keep(CONTENT)
    assert name == digest(CONTENT) == blobs.keep(CONTENT)
    assert blobs.read(name) == CONTENT
    assert blobs.keep(b"") == digest(b"")
    assert blobs.read(digest(b"")) == b""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(start=st.integers(-5, 25000), length=st.none() | st.integers(-5, 25000))
def test_any_part_of_it_can_be_read(blobs: BlobStore, start: int, length: int | None) -> None:
    rest = CONTENT[max(start, 0) :]
    expected = rest if length is None else rest[: max(length, 0)]
    assert blobs.read(blobs.keep(CONTENT), start=start, length=length) == expected


@pytest.mark.parametrize("name", [digest(b"other"), "", "sha256:../../etc/passwd", "md5:00", "."])
def test_what_is_not_here_is_none(blobs: BlobStore, name: str) -> None:
    blobs.keep(CONTENT)
    assert blobs.read(name) is None
    assert blobs.forget(name) is False


def test_what_is_forgotten_is_really_gone(blobs: BlobStore) -> None:
    name = blobs.keep(CONTENT)
    assert blobs.forget(name) is True
    assert blobs.read(name) is None
    assert blobs.forget(name) is False
    assert blobs.keep(CONTENT) == name


def test_files_are_for_their_owner_alone_and_nothing_else_is_left(
    files: FileBlobs, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(files.keep, [CONTENT] * 16))) == 1
    found = [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert found == [file_of(tmp_path)]
    assert stat.S_IMODE(found[0].stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_a_changed_file_is_damage_and_keeping_it_again_mends_it(
    files: FileBlobs, tmp_path: Path
) -> None:
    name = files.keep(CONTENT)
    file_of(tmp_path).write_bytes(b"something else")
    with pytest.raises(StoreDamaged, match="is not what was kept there"):
        files.read(name)
    assert files.keep(CONTENT) == name
    assert files.read(name) == CONTENT


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_followed(files: FileBlobs, tmp_path: Path, kind: str) -> None:
    name = files.keep(CONTENT)
    path = file_of(tmp_path)
    path.unlink()
    if kind == "link":
        (tmp_path / "private").write_bytes(CONTENT)
        path.symlink_to(tmp_path / "private")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(StoreDamaged, match="is no plain file"):
        files.read(name)


@pytest.mark.parametrize("depth", [0, 1])
def test_a_folder_that_leads_elsewhere_is_refused(
    files: FileBlobs, tmp_path: Path, depth: int
) -> None:
    (tmp_path / "home").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    inner = FileBlobs(tmp_path / "home" / "blobs")
    link = tmp_path / "home" / "blobs"
    if depth:
        link.mkdir()
        link = link / file_of(tmp_path).name[:2]
    link.symlink_to(elsewhere)
    with pytest.raises(OutsideHome):
        inner.keep(CONTENT)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HomeUnwritable):
        FileBlobs(tmp_path / "blobs").keep(CONTENT)


@pytest.mark.parametrize("harm", ["gone", "changed", "another"])
def test_what_was_seen_and_is_not_the_same_any_more_is_written_again(
    files: FileBlobs, tmp_path: Path, harm: str
) -> None:
    files.keep(CONTENT)
    kept = file_of(tmp_path)
    os.utime(kept, (1, 1))  # long ago, so that it counts as seen
    files.keep(CONTENT)
    if harm == "gone":
        kept.unlink()
    elif harm == "changed":
        kept.write_bytes(b"x" * len(CONTENT))
    else:
        kept.rename(kept.with_suffix(".old"))
        kept.write_bytes(b"y")
    files.keep(CONTENT)
    assert kept.read_bytes() == CONTENT
