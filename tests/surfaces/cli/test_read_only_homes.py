"""A home on a disk that takes nothing, read-only or full, is read by what only reads."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import click
import pytest
from tests.evidence_home import evidence_home

from mentis.ledger.guardian.examples import good_window
from mentis.record.record import open_record
from mentis.stores.sqlite.database import Database
from mentis.surfaces.cli.main import cli, run
from mentis.values.entry import Draft

# Every command stands in one of these lists: what reads a home, with arguments that only read; what
# writes into it, or asks a model, whose answer is recorded; and what needs none. {out} is a folder
# elsewhere, {act} and {turn} name what the home has.
READS: dict[str, tuple[str, ...]] = {
    "acts log": ("",),
    "acts pending": ("",),
    "acts result": ("{act}",),
    "acts show": ("{act}",),
    "assemble": ("'plan a week'",),
    "backup": ("{out}/home.backup",),
    "beat log": ("",),
    "compose": ("", "Hello", "Hello --session weather"),
    "cost": ("", "--by session"),
    "eval run": ("--min-score 0",),
    "export": ("{out}/record.zip", "{out}/texts.zip --with-texts", "{out}/spans --format otel"),
    "fork": ("{turn} --block last_encounter={out}/words.txt",),
    "guardian check": ("{out}/window.json",),
    "guardian explain": ("S2-CHAIN-LINK",),
    "guardian prove": ("",),
    "guardian rules": ("",),
    "ledger anchor list": ("",),
    "ledger audit": ("{out}/before.zip",),
    "ledger checkpoint": ("--list",),
    "ledger export": ("{out}/again.zip",),
    "ledger proof": ("{turn}",),
    "ledger show": ("", "{turn}"),
    "manifest check": ("",),
    "mcp": ("",),
    "memory export": ("{out}/memories.jsonl",),
    "memory hygiene": ("",),
    "memory list": ("",),
    "memory quarantine": ("",),
    "memory search": ("sea",),
    "memory why": ("sea",),
    "people list": ("",),
    "people show": ("Bob",),
    "persona diff": ("",),
    "persona export": ("{out}/ada.mentis", "{out}/ada.png"),
    "persona files": ("", "memory", "soul"),
    "persona history": ("memory", "memory --diff"),
    "persona list": ("",),
    "persona log": ("",),
    "persona review": ("",),
    "persona show": ("",),
    "prompts check": ("",),
    "prompts conflicts": ("",),
    "prompts diff": ("last_encounter",),
    "prompts export": ("{out}/prompts.zip",),
    "prompts history": ("last_encounter",),
    "prompts list": ("",),
    "prompts lore": ("Hello",),
    "prompts placeholder list": ("",),
    "prompts preview": ("",),
    "prompts search": ("the",),
    "prompts show": ("last_encounter",),
    "prompts usages": ("colour",),
    "prompts what-if": ("last_encounter --text Hi --entry {turn}",),
    "recall": ("'plan a week'",),
    "render": ("Hello",),
    "replay": ("{turn}",),
    "routes check": ("--offline",),
    "routes learned": ("",),
    "routes list": ("",),
    "routes trust": ("",),
    "screening explain": ("Hello --text-only",),
    "screening test": ("Hello --text-only",),
    "eval screening": ("{out}/labelled.jsonl --text-only",),
    "sense failed": ("",),
    "sense list": ("",),
    "sessions export": ("{out}/talk.jsonl weather", "{out}/talk.md weather"),
    "sessions answers": ("weather",),
    "sessions list": ("",),
    "sessions search": ("warm",),
    "sessions show": ("weather",),
    "settings": ("",),
    "skills check": ("",),
    "skills list": ("",),
    "state diff": ("1 2",),
    "state history": ("",),
    "state review": ("",),
    "state show": ("",),
    "status check": ("{out}/window.json",),
    "status context": ("",),
    "status export": ("{out}/windows.jsonl",),
    "status health": ("",),
    "status latest": ("",),
    "status list": ("",),
    "status stats": ("",),
    "status verify": ("",),
    "channels list": ("",),
    "tokens list": ("",),
    "tools check": ("",),
    "tools list": ("", "--connect"),
    "tools show": ("read_result",),
    "trust": ("",),
    "trust list": ("",),
    "upgrade": ("",),
    "verify": ("",),
    "why": ("", "{turn}"),
}
# The exit code of these says how things stand, and a home that takes nothing is not well.
TELLS = {"status health": 1, "manifest check": 1}
ASKS = {
    "afterthought",
    "beat now",
    "call",
    "channels run",
    "chat",
    "compare",
    "deliver",
    "eval answers",
    "persona autofill",
    "persona update",
    "run",
    "sessions edit",
    "sessions summarise",
    "sessions title",
    "tick",
}
WRITES = ASKS | {
    *(f"acts {name}" for name in ("approve", "deny", "release", "run")),
    *("adopt", "import", "init", "live", "manifest build", "record", "restore", "serve", "studio"),
    *(f"channels {name}" for name in ("add", "pair", "rm", "trust")),
    *(f"ledger {name}" for name in ("accept-rollback", "erase", "repair", "rotate")),
    *(f"ledger anchor {name}" for name in ("add", "push", "quorum", "remove")),
    "ledger settle-clock",
    *("move", "send", "view", "worker", "workers drain", "workers list"),
    *(f"memory {name}" for name in ("add", "forget", "import", "promote", "rebuild", "supersede")),
    *("models choose", "people rm", "people set"),
    *(
        f"persona {name}"
        for name in ("checkout", "commit", "greeting", "new", "promote", "reset", "undo", "use")
    ),
    *(f"prompts {name}" for name in ("copy", "edit", "import", "new", "order", "reset", "rm")),
    *(
        f"prompts {name}"
        for name in ("promote", "toggle", "undo", "placeholder new", "placeholder rm")
    ),
    *("routes add", "routes remove", "screening calibrate"),
    *(f"sense {name}" for name in ("add", "drop", "retry")),
    *("sessions undo", "settings set", "settings unset"),
    *(f"state {name}" for name in ("accept", "add", "rm", "undo")),
    *(f"status {name}" for name in ("add", "import", "watch", "write")),
    *(f"tokens {name}" for name in ("new", "person", "revoke")),
    *(f"tools {name}" for name in ("add", "call", "remove", "trust")),
    "trust revoke",
}
NO_HOME = {
    *(
        "completion",
        "demo",
        "doctor",
        "eval memory",
        "eval selection",
        "ledger auditor",
        "normalise",
        "routes presets",
    ),
    *(f"models {name}" for name in ("add", "find", "install", "list", "path", "rm", "serve")),
    *("models", "record ca remove", "record ca show", "version"),
    *(f"witness {name}" for name in ("init", "serve", "show", "watch")),
}


def commands(group: click.Group, *above: str) -> Iterator[str]:
    context = click.Context(group)
    if group.invoke_without_command and above:
        yield " ".join(above)
    for name in group.list_commands(context):
        match group.get_command(context, name):
            case click.Group() as inner:
                yield from commands(inner, *above, name)
            case _:
                yield " ".join((*above, name))


def test_of_every_command_it_is_said_whether_it_only_reads() -> None:
    listed = [*READS, *WRITES, *NO_HOME]
    assert sorted(listed) == sorted(commands(cli))


def mount(*arguments: str) -> str | None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    return done.stderr.strip() or "mount failed" if done.returncode else None


Told = Callable[[Path, str], tuple[int, str, str]]


@pytest.fixture
def told(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def tell(home: Path, line: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["--home", str(home), *shlex.split(line)])
        shown, said = capfd.readouterr()
        return code, shown, said

    return tell


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if reason := mount("-t", "tmpfs", "-o", "size=48m", "tmpfs", str(disk)):
        pytest.skip(f"mounting is not allowed here: {reason}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.fixture
def filled(disk: Path, told: Told) -> Path:
    home = evidence_home(disk / "home")
    for line in (
        "settings set acts.builtin '[\"read_result\"]'",
        "memory add 'Ada likes the sea.'",
        "people set Bob 'A friend.'",
        "state add 'Swim' --goal swim",
        "state add 'Swam'",
        "prompts edit last_encounter --text Again. --yes",
        "prompts placeholder new colour --default red",
        "persona files memory --text 'It rains.'",
        "persona commit -m 'as we began'",
        "sense add 'A bird.'",
    ):
        code, _, error = told(home, line)
        assert code == 0, (line, error)
    return home


@pytest.fixture
def out(tmp_path: Path, filled: Path, told: Told) -> Path:
    out = tmp_path / "out"
    out.mkdir()
    (out / "words.txt").write_text("Other words.", encoding="utf-8")
    (out / "window.json").write_text(json.dumps(good_window()), encoding="utf-8")
    label = {"text": "Hello", "label": 0, "lang": "en"}
    (out / "labelled.jsonl").write_text(json.dumps(label) + "\n", encoding="utf-8")
    assert told(filled, f"export {out}/before.zip")[0] == 0
    return out


def read_only(disk: Path) -> None:
    assert mount("-o", "remount,ro", str(disk)) is None


def full(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            return


@pytest.mark.needs_mount
@pytest.mark.parametrize("end", [read_only, full])
def test_every_command_that_only_reads_works_on_a_disk_that_takes_nothing(
    end: Callable[[Path], None], filled: Path, out: Path, told: Told
) -> None:
    _, listed, _ = told(filled, "acts log --json")
    names = {"out": out, "act": json.loads(listed)["acts"][0]["key"], "turn": 2}
    lines = {
        f"{name} {arguments}".format(**names): TELLS.get(name, 0)
        for name, several in READS.items()
        for arguments in several
    }
    end(filled.parent)
    failed: dict[str, str] = {}
    for line, expected in lines.items():
        code, _, error = told(filled, line)
        if code != expected or "defect" in error:
            failed[line] = error
    assert not failed, "\n".join(map(str, failed.items()))


@pytest.mark.needs_mount
@pytest.mark.parametrize(("end", "code"), [(read_only, "home-unwritable"), (full, "store-full")])
def test_no_model_is_asked_where_the_answer_cannot_be_recorded(
    end: Callable[[Path], None], code: str, filled: Path, told: Told
) -> None:
    """Nobody listens where the route leads, so that whoever asks has another error."""
    end(filled.parent)
    given = {
        "beat now": "reflection",
        "call": "--message Hi",
        "chat": "Hi",
        "persona autofill": "core_trait kind",
        "run": "--ticks 1 --interval 0.01",
        "sessions edit": "weather 0 Hi",
        "sessions title": "weather",
        "tick": "",
    }
    failed: dict[str, str] = {}
    for name, arguments in given.items():
        done, _, error = told(filled, f"{name} {arguments}")
        if done == 0 or f"[{code}]" not in error or "no answer" in error:
            failed[name] = error
    assert not failed, "\n".join(map(str, failed.items()))


@pytest.mark.needs_mount
@pytest.mark.parametrize("end", [read_only, full])
def test_what_only_the_log_of_the_database_holds_is_read_too(
    end: Callable[[Path], None], disk: Path, filled: Path, told: Told
) -> None:
    with Database(filled / "mentis.db"):
        assert told(filled, "memory add 'It snowed in May.'")[0] == 0
        aside = Path(shutil.copytree(filled, disk / "aside"))
    shutil.rmtree(filled)
    (aside / "mentis.db-shm").unlink()
    aside.rename(filled)
    assert (filled / "mentis.db-wal").stat().st_size
    end(disk)
    code, shown, error = told(filled, "memory list")
    assert (code, "It snowed in May." in shown) == (0, True), error
    assert told(filled, "verify")[0] == 0


@pytest.mark.needs_mount
def test_an_export_from_a_read_only_home_says_what_no_checkpoint_has_seen(
    disk: Path, filled: Path, out: Path, told: Told
) -> None:
    with open_record(filled) as record:
        record.store.append(record.agent, [Draft("note", "test", {})], record.stamp())
    read_only(disk)
    code, _, error = told(filled, f"export {out}/record.zip")
    assert code == 0
    assert "no checkpoint of now" in error
    assert told(filled, f"ledger audit {out}/record.zip")[0] == 0
