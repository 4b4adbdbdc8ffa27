"""What a kill, a full disk or a second process in the middle of a save leave behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from mentis.errors import StoreFull
from mentis.library.owner_files import PENDING
from mentis.library.shelf import Shelf
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions

from .conftest import SHIPPED, Desk, shipped_with

# Runs one edit again and again, each time on a fresh copy of the home, and kills itself at the
# first, second, third call that reaches the disk, until the edit comes through.
KILL = """
import json, os, shutil, signal, sys
from pathlib import Path
from mentis.library.edit import Editor
from mentis.library.layer import make_layer
from mentis.library.shelf import Shelf
from mentis.ports.clock import FixedClock
from mentis.stores.memory import RevisionsInMemory

folder, prepare, act = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
shipped = make_layer("shipped", json.loads((folder / "shipped.json").read_text()), {}, {})
revisions = RevisionsInMemory()

def editor_of(root):
    return Editor(Shelf(root, shipped=shipped), revisions, FixedClock())

def killed_at(number):
    calls = 0
    def wrap(real):
        def called(*args, **named):
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)
        return called
    for name in ("replace", "fsync", "unlink"):
        setattr(os, name, wrap(getattr(os, name)))

editor = editor_of(folder / "base")
exec(prepare)
number, status = 0, 1
while status:
    number += 1
    case = folder / f"case-{number}"
    shutil.copytree(folder / "base", case)
    child = os.fork()
    if not child:
        killed_at(number)
        editor = editor_of(case)
        exec(act)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
print(number)
"""
PREPARED = """
editor.create("mine", meta={"order": 5}, variants={"default": "M"})
editor.save("style", variants={"default": "Old."}, meta={"order": 21})
"""
EDITS = {
    "save": 'editor.save("style", meta={"order": 99}, variants={"default": "New."})',
    "first save": 'editor.save("mood", meta={"order": 99}, variants={"default": "New."})',
    "create": 'editor.create("other", meta={}, variants={"default": "O"})',
    "duplicate": 'editor.duplicate("style", "other")',
    "delete": 'editor.delete("mine")',
    "move": 'editor.move("style", "elsewhere.json")',
    "rename": 'editor.rename("mine", "yours")',
    "toggle": 'editor.toggle("mood")',
    "reorder": 'editor.reorder({"mine": 1, "style": 2, "mood": 3})',
    "undo": 'editor.undo("style")',
    "reset": 'editor.reset("style")',
    "factory reset": 'editor.factory_reset("full")',
    "undo of it": "editor.undo_reset()",
}


# One file, several, and a whole library; the others are like one of them.
SHORT = ("save", "rename", "factory reset")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in SHORT else pytest.mark.slow) for name in EDITS],
)
def test_a_kill_at_any_moment_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "shipped.json").write_text(json.dumps(SHIPPED))
    prepare = PREPARED + ('editor.factory_reset("full")' if name == "undo of it" else "")
    command = [sys.executable, "-c", KILL, str(tmp_path), prepare, EDITS[name]]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    count = int(done.stdout)
    assert count > 3, "it was never killed"
    base, through = tmp_path / "base", tmp_path / f"case-{count}"
    old, new = (Desk(root).shelf.current().library for root in (base, through))
    assert old != new
    seen: set[str] = set()
    for number in range(1, count):
        desk = Desk(tmp_path / f"case-{number}")
        assert desk.problems() == []
        library = desk.shelf.current().library
        assert library in (old, new), number
        seen.add(library.revision)
        desk.editor.toggle("talk")  # the next edit clears up what the killed one left
        assert not (desk.root / PENDING).exists()
        assert list(desk.root.rglob("*.tmp")) == []
        assert desk.problems() == []
    assert seen == {old.revision, new.revision}


SAVE = """
import json, sys
from pathlib import Path
from mentis.library.edit import Editor
from mentis.library.layer import make_layer
from mentis.library.shelf import Shelf
from mentis.ports.clock import FixedClock
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions

folder, start = Path(sys.argv[1]), int(sys.argv[2])
shipped = make_layer("shipped", json.loads((folder / "shipped.json").read_text()), {}, {})
with Database(folder / "mentis.db", busy_seconds=60) as database:
    shelf = Shelf(folder / "prompts", shipped=shipped)
    editor = Editor(shelf, SqliteRevisions(database), FixedClock(), busy_seconds=60)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(start, start + 15):
        editor.save("style", meta={"order": number}, variants={"default": f"text {number}"})
        editor.create(f"own-{number}", meta={}, variants={"default": "x"})
"""


def test_two_processes_saving_at_once_lose_nothing_and_readers_never_see_half(
    tmp_path: Path,
) -> None:
    (tmp_path / "shipped.json").write_text(json.dumps(SHIPPED))
    Database(tmp_path / "mentis.db").close()
    shelf = Shelf(tmp_path / "prompts", shipped=shipped_with())
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", SAVE, str(tmp_path), str(start)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for start in (100, 200)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    seen: set[str] = set()
    while any(writer.poll() is None for writer in writers):
        loaded = shelf.current()
        style = loaded.library.block("style")
        assert loaded.problems == ()
        assert style is not None
        assert style.variants["default"].content in (f"text {style.order:.0f}", "Be calm.")
        seen.add(style.variants["default"].content)
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert len(seen) > 1
    with Database(tmp_path / "mentis.db") as database:
        desk = Desk(tmp_path / "prompts", SqliteRevisions(database))
        revisions = desk.editor.history("style")
        assert [revision.number for revision in revisions] == list(range(1, 31))
        assert {revision.words for revision in revisions} == {"save"}
        assert len(desk.ids()) == 4 + 30


@contextmanager
def mounted(folder: Path, options: str) -> Generator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(file: Path, *, leave: int) -> None:
    """Take all the space there is but for some pages."""
    with suppress(OSError), file.open("ab", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)
    with file.open("rb+") as filler:
        filler.truncate(max(file.stat().st_size - 4096 * leave, 0))


def test_a_disk_that_fills_up_in_the_middle_of_a_save_keeps_the_old_state(tmp_path: Path) -> None:
    """With no page free, one, two and so on: wherever it stops, nothing is lost."""
    with mounted(tmp_path / "small", "size=400k") as small:
        desk = Desk(small / "prompts")
        desk.own("mine")
        desk.editor.save("style", variants={"default": "Old." * 500}, meta={"order": 1})
        (small / "filler").touch()
        outcomes: list[bool] = []
        for pages in range(12):
            fill(small / "filler", leave=pages)
            before = desk.files()
            with suppress(StoreFull):
                desk.editor.save("style", variants={"default": f"{pages}" * 2000})
                desk.editor.reorder({"style": pages + 2, "mine": pages})
            saved = desk.text("style") == f"{pages}" * 2000
            outcomes.append(saved)
            assert saved or desk.files() == before
            assert desk.problems() == []
            assert list(desk.root.rglob("*.tmp")) == []
        assert outcomes[0] is False
        assert outcomes[-1] is True


def test_a_file_of_50_megabytes_is_named_and_not_read(desk: Desk) -> None:
    desk.own("mine")
    desk.write("huge.json", b'{"huge": "' + b"x" * 50_000_000 + b'"}')
    (found,) = desk.problems()
    assert "the file has 50000012 bytes, and 5000000 is the limit" in found
    assert desk.text("mine") == "Mine."


def test_a_file_of_50_megabytes_is_read_where_the_limit_allows_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "prompts", max_file_bytes=60_000_000)
    desk.own("mine", "x" * 50_000_000)
    assert len(desk.text("mine")) == 50_000_000


def many(desk: Desk, count: int) -> None:
    entries = ",".join(
        f'"b{n}":{{"name":"B","type":"text","target":"system_prompt","position":"system_prompt",'
        f'"order":{n},"enabled":true,"domain_file":"many.json"}}'
        for n in range(count)
    )
    texts = ",".join(f'"b{n}":{{"variants":{{"default":{{"content":"x"}}}}}}' for n in range(count))
    desk.write("_meta/user_manifest.json", f'{{"version":"2.0","prompts":{{{entries}}}}}')
    desk.write("many.json", f"{{{texts}}}")


@pytest.mark.slow
def test_100_000_blocks_are_over_the_limit_and_that_is_said(desk: Desk) -> None:
    many(desk, 100_000)
    assert desk.ids() == ["law", "style", "mood", "talk"]
    assert "is the limit; nothing in it is in force" in desk.problems()[0]


def test_20_000_blocks_load_where_the_limit_allows_it(tmp_path: Path) -> None:
    """100,000 load as well; that takes seconds, which a test need not."""
    desk = Desk(tmp_path / "prompts", max_file_bytes=60_000_000)
    many(desk, 20_000)
    assert len(desk.ids()) == 20_004
    assert desk.problems() == []
