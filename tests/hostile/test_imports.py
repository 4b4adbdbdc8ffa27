"""Imports that are killed, in SQLite and in PostgreSQL: all of it is there, or none."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from mentis.app.home_import import standing_imports, undo_import
from mentis.errors import LibraryError, MentisError, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.origin import hash_window, window_text
from mentis.library.archive.write import export_set
from mentis.memories.memories import open_memories
from mentis.ports.screener import ListedScreener
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.record.threads import standing_numbers
from mentis.status.statuses import open_statuses
from mentis.stores.postgres.database import PostgresDatabase

PARTS = Parts(screener=ListedScreener({}))
PROGRAM = Path(__file__).with_name("killed_import.py")
COUNT = 30
LINES = "\n".join(json.dumps({"id": f"m{n:02}", "text": f"note {n}"}) for n in range(COUNT))
FEW = 6  # places at which it is killed in `make test`; all of them are spread over the import


class Killer:
    """A process whose children take a file over, and are killed on the way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, home: Path, step: int) -> int:
        """How many steps it took; 0 where it was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{home} {step}\n")
        self._process.stdin.flush()
        steps = 0
        while (line := self._process.stdout.readline()) != "end\n":
            assert line, "it is gone"
            steps = int(line.split()[1])
        return steps


@contextmanager
def killer(kind: str, file: Path) -> Generator[Killer]:
    command = [sys.executable, str(PROGRAM), kind, str(file)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield Killer(process)
        assert process.stdin is not None
        process.stdin.close()


def places(steps: int, count: int) -> range:
    """So many, spread over all steps."""
    return range(1, steps + 1, max(1, steps // count))


def history() -> bytes:
    entries: list[dict[str, Any]] = []
    prev: str | None = None
    for number in range(COUNT):
        time, salt = f"2026-01-01T00:00:{number:02}+00:00", f"{number:032x}"
        shown = {"goal": f"goal {number}", "confidence": 0.9, "prev_window_hash": prev}
        prev = hash_window(window_text(shown), time, salt)
        head = {"entry_index": number + 1, "timestamp": time, "salt": salt, "source": "manual"}
        window = {"window_hash": prev, "status_window": {**shown, "window_hash": prev}}
        recipe = "sha256(canonical_without_window_hash|timestamp|salt)"
        entries.append({**head, **window, "hash_algo": recipe, "metadata": {}})
    return json.dumps({"version": "1.0", "total_entries": COUNT, "entries": entries}).encode()


def texts(home: Path, environ: dict[str, str] | None = None) -> list[str]:
    parts = Parts(screener=ListedScreener({}), environ=environ or {})
    with open_memories(home, parts=parts) as memories:
        return sorted(one.text for one in memories.list())


WHOLE = sorted(f"note {n}" for n in range(COUNT))


@pytest.mark.parametrize("count", [FEW, pytest.param(40, marks=pytest.mark.slow)])
def test_memories_whose_import_is_killed_anywhere_are_all_there_or_none_and_come_again(
    tmp_path: Path, count: int
) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text(LINES, encoding="utf-8")
    seen: set[int] = set()
    with killer("memories", file) as child:
        steps = child.run(create_home(tmp_path / "whole"), 0)
        assert steps > count
        for step in places(steps, count):
            home = create_home(tmp_path / "home")
            assert child.run(home, step) == 0
            found = texts(home)
            assert found in ([], WHOLE), step
            seen.add(len(found))
            child.run(home, 0)
            assert texts(home) == WHOLE, step
            shutil.rmtree(home)
    assert 0 in seen


@pytest.mark.parametrize("count", [FEW, pytest.param(40, marks=pytest.mark.slow)])
def test_a_history_whose_import_is_killed_anywhere_verifies_and_is_whole_the_next_time(
    tmp_path: Path, count: int
) -> None:
    file = tmp_path / "history.json"
    file.write_bytes(history())
    with killer("history", file) as child:
        steps = child.run(create_home(tmp_path / "whole"), 0)
        assert steps > count
        for step in places(steps, count):
            home = create_home(tmp_path / "home")
            assert child.run(home, step) == 0
            with open_statuses(home) as statuses:
                assert statuses.verify().intact, step
                before = statuses.stats().total_entries
                done = statuses.import_history(file.read_bytes())
                assert (done.added + before, done.total) == (COUNT, COUNT), step
                assert statuses.verify().intact
            shutil.rmtree(home)


def own_texts(home: Path) -> dict[str, object]:
    """What the owner's layer says of each block, as the next turn would read it."""
    with Prompts.open(home) as prompts:
        assert not prompts.loaded_library.problems
        return dict(prompts.loaded_library.owner.documents)


def home_of(path: Path, *blocks: str) -> Path:
    home = create_home(path)
    with Prompts.open(home) as prompts:
        for name in blocks:
            prompts.editor.create(name, meta={}, variants={"default": f"Say {name}."})
    return home


def take_back(home: Path) -> None:
    """The last import, if there was one."""
    with Prompts.open(home) as prompts, suppress(LibraryError):
        prompts.editor.undo_write()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with blocks of several files, and a shipped one that is switched off."""
    home = home_of(tmp_path_factory.mktemp("theirs") / "home", "one", "two", "three")
    with Prompts.open(home) as prompts:
        prompts.editor.toggle("emotion")
        file = home.with_suffix(".zip")
        file.write_bytes(export_set(prompts.loaded_library))
    return file


@pytest.mark.parametrize("count", [FEW, pytest.param(60, marks=pytest.mark.slow)])
def test_prompts_whose_import_is_killed_anywhere_are_all_there_or_none_and_can_be_taken_back(
    tmp_path: Path, theirs: Path, count: int
) -> None:
    before = own_texts(home_of(tmp_path / "before", "mine"))
    with killer("prompts", theirs) as child:
        whole_home = home_of(tmp_path / "whole", "mine")
        steps = child.run(whole_home, 0)
        whole = own_texts(whole_home)
        assert steps > count
        assert whole != before
        for step in places(steps, count):
            home = home_of(tmp_path / "home", "mine")
            assert child.run(home, step) == 0
            assert own_texts(home) in (before, whole), step
            take_back(home)
            assert own_texts(home) == before, step
            child.run(home, 0)
            assert own_texts(home) == whole, step
            take_back(home)
            assert own_texts(home) == before, step
            shutil.rmtree(home)


def contents(home: Path) -> list[object]:
    """What a home has that an import may bring: personas and their memories, what sessions still
    tell, blocks, skills.
    """
    found: list[object] = [own_texts(home)]
    with Personas.open(home) as personas:
        for persona in personas.ids():
            with open_memories(home, persona, PARTS) as memories:
                texts = sorted(one.text for one in memories.list())
            record = personas.record(persona)
            turns = {one: record.turns(one) for one in record.sessions()}
            told = {
                one: sum(kept[n].kind == "said" for n in standing_numbers(kept))
                for one, kept in turns.items()
            }
            files = [personas.memory(persona).read(name).text for name in ("soul", "memory")]
            found.append((persona, texts, files, {one: n for one, n in told.items() if n}))
    skills = home / "skills"
    return [*found, sorted(str(one.relative_to(home)) for one in skills.rglob("*"))]


def fox_home(path: Path) -> Path:
    """A home with a persona, whose conversations others may bring."""
    home = create_home(path)
    with Personas.open(home) as personas:
        personas.create("fox", name="Fox")
    return home


def folder_file(path: Path) -> Path:
    day = "## Morning\nWe packed.\n\n## Evening\nWe left.\n"
    files = {"SOUL.md": "# Soul\nI say little.\n", "AGENTS.md": "Ask before sending.\n"}
    files |= {"IDENTITY.md": "- **Name:** Owl\n", "memory/2026-01-31.md": day}
    files |= {"skills/forms/SKILL.md": "---\nname: forms\ndescription: Fills.\n---\nDo it.\n"}
    for name, text in files.items():
        (path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "work" / name).write_text(text, encoding="utf-8")
    return path / "work"


def chat_file(path: Path) -> Path:
    rows: list[dict[str, object]] = [{"user_name": "Lena", "character_name": "Fox"}]
    rows.extend({"name": "Fox", "mes": f"Answer {n}.", "swipes": ["a"]} for n in range(COUNT))
    file = path / "Talk.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


@pytest.mark.parametrize("count", [FEW, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("write", [folder_file, chat_file])
def test_a_folder_or_chat_whose_import_is_killed_anywhere_is_taken_back_by_undo_or_the_next_import(
    tmp_path: Path, write: Callable[[Path], Path], count: int
) -> None:
    before, file = contents(fox_home(tmp_path / "before")), write(tmp_path)
    with killer("home", file) as child:
        whole_home = fox_home(tmp_path / "whole")
        steps = child.run(whole_home, 0)
        whole = contents(whole_home)
        assert steps > count
        assert whole != before
        for number, step in enumerate(places(steps, count)):
            home = fox_home(tmp_path / "home")
            assert child.run(home, step) == 0
            if is_whole := bool(standing_imports(home)):
                assert contents(home) == whole, step
            if is_whole or number % 2:
                with suppress(UsageError):  # it was killed before anything was written
                    undo_import(home, parts=PARTS)
                assert contents(home) == before, step
            child.run(home, 0)
            assert _renamed(contents(home)) == _renamed(whole), step
            undo_import(home, parts=PARTS)
            assert contents(home) == before, step
            shutil.rmtree(home)


def _renamed(found: list[object]) -> str:
    """With one name for the session: a name that was taken once is not given again."""
    return repr(found).replace("talk-2", "talk")


def test_memories_in_postgresql_survive_kills_of_the_client_and_of_the_connection(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    home, file, schema = create_home(tmp_path / "home"), tmp_path / "t.jsonl", "test_killed_imports"
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    toml = toml.replace("[ledger]\n", f'[ledger]\nschema_name = "{schema}"\n')
    toml += '\n[memories]\nstore = "postgres"\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    file.write_text(LINES, encoding="utf-8")
    environ = {"LEDGER_URL": postgres_url}
    assert texts(home, environ) == []
    try:
        with killer("memories", file) as child:
            for step in (400, 900, 1_500, 2_200, 3_000):
                child.run(home, step)
                assert texts(home, environ) in ([], WHOLE), step
        parts = Parts(screener=ListedScreener({}), environ=environ)
        with open_memories(home, parts=parts) as memories:
            memories.list()
            with PostgresDatabase(postgres_url, schema=schema) as other, other.session() as session:
                session.execute(
                    b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    b" WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            with suppress(MentisError):  # a connection that is gone is told, or replaced
                memories.import_lines(LINES.encode())
            memories.import_lines(LINES.encode())
            assert sorted(one.text for one in memories.list()) == WHOLE
        assert texts(home, environ) == WHOLE
    finally:
        with PostgresDatabase(postgres_url, schema=schema) as database, database.session() as last:
            last.execute(f"DROP SCHEMA {schema} CASCADE".encode())
