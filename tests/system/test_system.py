"""Files, users, signals and sockets, on whatever system this is."""

from __future__ import annotations

import errno
import json
import os
import signal
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mentis.home.system import RandomIds
from mentis.loop.socket import SenseSocket
from mentis.system import signals as signals_module
from mentis.system.files import MAKE_NEW, READ, READ_LINKED, FolderHandle, open_file, refuse_link
from mentis.system.local_sockets import answers, is_socket, listen_by_key
from mentis.system.programs import has_process
from mentis.system.signals import handled

pytestmark = pytest.mark.anyio


def test_a_link_is_followed_only_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    link = tmp_path / "link"
    link.symlink_to("file")
    descriptor = open_file(link, READ_LINKED)
    assert os.read(descriptor, 9) == b"text"
    os.close(descriptor)
    for refused in (partial(open_file, link, READ), partial(refuse_link, link)):
        with pytest.raises(OSError, match="link") as raised:
            refused()
        assert raised.value.errno == errno.ELOOP
    refuse_link(tmp_path / "file")
    refuse_link(tmp_path / "missing")


def test_a_new_file_is_its_owners_alone_and_takes_no_others_place(tmp_path: Path) -> None:
    os.close(open_file(tmp_path / "new", MAKE_NEW))
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        open_file(tmp_path / "new", MAKE_NEW)


def test_what_is_reached_through_an_open_folder_stays_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_bytes(b"a")
    handle = FolderHandle(folder)
    try:
        folder.rename(tmp_path / "elsewhere")
        folder.mkdir()
        assert handle.names() == ["a"]
        assert handle.status("a").st_size == 1
        handle.unlink("a")
    finally:
        handle.close()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_whether_a_process_is_there_is_known_without_touching_it() -> None:
    assert has_process(os.getpid()) is True
    assert has_process(2**22 + 1) is False


async def test_signals_are_received_where_the_event_loop_has_no_handlers() -> None:
    received = signals_module._received  # pyright: ignore[reportPrivateUsage]  # the way of Windows
    before = signal.getsignal(signal.SIGTERM)
    with received() as came, anyio.fail_after(30):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
            assert await anext(came) is number
    assert signal.getsignal(signal.SIGTERM) is before


def ignore(_number: int, _frame: object) -> None: ...


def test_handlers_of_before_are_back_also_after_an_error() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ValueError, match="x"), handled({signal.SIGTERM: ignore}):
        raise ValueError("x")
    assert signal.getsignal(signal.SIGTERM) is before


async def test_a_socket_without_permissions_of_its_own_asks_for_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.loop.socket.listen_at", listen_by_key)
    path = tmp_path / "s"
    source = SenseSocket(path, RandomIds())
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            await tasks.start(source.serve)
            assert path.stat().st_mode & 0o777 == 0o600
            assert is_socket(path)
            assert await anyio.to_thread.run_sync(answers, path)
            place = json.loads(path.read_bytes())
            sense = b'{"text": "It rains.", "id": "one"}\n'
            async with await anyio.connect_tcp(place["host"], place["port"]) as stranger:
                await stranger.send(b"guessed\n" + sense)
                assert "key" in json.loads(await stranger.receive())["refused"]
            async with await anyio.connect_tcp(place["host"], place["port"]) as own:
                await own.send(place["key"].encode() + b"\n" + sense)
                while not len(source.queue):  # nothing tells of it
                    await anyio.lowlevel.checkpoint()
                await source.done([one.id for one in await source.take(9)])
                assert json.loads(await own.receive()) == {"taken": "one"}
            tasks.cancel_scope.cancel()
    assert not path.exists()


def test_a_socket_that_was_left_over_does_not_answer(tmp_path: Path) -> None:
    left = listen_by_key(tmp_path / "s", backlog=1)
    left.bound.close()
    assert is_socket(tmp_path / "s")
    assert not answers(tmp_path / "s")
    (tmp_path / "text").write_text("text")
    assert not is_socket(tmp_path / "text")
