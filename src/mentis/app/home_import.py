"""Moving in: a file or folder of another program becomes part of a home, as one change that can be
undone.

Nothing that comes so is trusted as the owner's own words before the owner promotes it. The original
is kept in `imports/NUMBER/` of the home, with a record of what was made of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.bounded import read_bounded
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.errors import BadInput, HomeError, UsageError
from mentis.exchange.memory_lines import write_lines
from mentis.home.parts import Parts
from mentis.memories.memories import open_memories
from mentis.memories.screening import open_screener
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.settings.sources import load_settings
from mentis.status.statuses import open_statuses
from mentis.stores.files.home import Home, find_home
from mentis.talk.imports import free_name, store_conversation, withdraw_conversation
from mentis.values.cognition import REVIEW
from mentis.values.entry import Draft
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .import_plan import ArrivalLimits, HomeImportPlan, ImportArrival, ImportWish, PersonaArrival
from .import_recognise import recognise
from .import_screening import screen_arrival
from .import_source import LARGEST, ImportSource

__all__ = ["HomeImport", "HomeImportPlan", "import_file", "plan_file_import", "undo_import"]

_LOCK_SECONDS = 5.0
_RECORD, _FOLDER = "import.json", "imports"


@dataclass(frozen=True, slots=True)
class HomeImport(Value):
    """An import that was made, or taken back (`undone`), or whose entries stay (`recorded`);
    `entry` is where the record says so. `files` are of the home, by their place in it; `memories`
    are ids, by persona, and `sessions` the conversations that it made, by persona. `broken_off` are
    the imports that something had ended in the middle, and that were taken back before it.
    """

    number: int
    plan: HomeImportPlan
    blocks: tuple[str, ...]
    entry: int = -1
    state: str = "begun"
    personas: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    memories: tuple[tuple[str, str], ...] = ()
    sessions: tuple[tuple[str, str], ...] = ()
    broken_off: tuple[int, ...] = ()


def plan_file_import(
    home: str | Path,
    file: str | Path,
    *,
    persona: str = "",
    only: Sequence[str] = (),
    parts: Parts | None = None,
) -> HomeImportPlan:
    """What importing a file or folder would do; nothing is written. BadInput for what is not
    recognised. `only` are titles or ids of conversations; without them all are taken.
    """
    source = ImportSource(Path(file))
    with Personas.open(home, parts=parts) as personas:
        arrival = _arrival(source, _wish(personas, persona, only, parts))
        _check(arrival, personas, home, parts)
    return arrival.plan


def import_file(
    home: str | Path,
    file: str | Path,
    *,
    persona: str = "",
    only: Sequence[str] = (),
    parts: Parts | None = None,
) -> HomeImport:
    """Import a file or folder as one change; `undo_import` takes it back. The original is kept. An
    earlier import that was broken off, by a crash say, is taken back first.
    """
    source = ImportSource(Path(file))
    place = find_home(Path(home))
    with _locked(place), Personas.open(home, parts=parts) as personas:
        broken = [one for one in reversed(_imports(place)) if one.state == "begun"]
        for one in broken:
            _take_back(place, one, personas, parts)
        arrival = _arrival(source, _wish(personas, persona, only, parts))
        _check(arrival, personas, home, parts)
        made = HomeImport(
            _next(place),
            arrival.plan,
            tuple(arrival.blocks),
            personas=tuple(one.id for one in arrival.personas),
            files=tuple(arrival.files),
            memories=tuple((one.id, each.id) for one in arrival.personas for each in one.memories),
            sessions=_free_sessions(arrival, personas),
            broken_off=tuple(one.number for one in broken),
        )
        folder, original = _folder(place, made.number), source.original()
        folder.mkdir(parents=True, mode=0o700)
        write_atomic(folder / f"original{original.suffix}", original.data)
        _keep(place, made)
        try:
            return _make(place, made, arrival, personas=personas, parts=parts)
        except BaseException:
            _take_back(place, made, personas, parts)
            raise


def _arrival(source: ImportSource, wish: ImportWish) -> ImportArrival:
    arrival = recognise(source, wish)
    if not arrival.conversations:
        return arrival
    return screen_arrival(arrival, open_screener(wish.personas.home.path))


def undo_import(home: str | Path, *, parts: Parts | None = None) -> HomeImport:
    """Take back the newest import that still stands. What was changed of it since is kept beside
    the original; conversations stay in the record.
    """
    place = find_home(Path(home))
    with _locked(place):
        standing = [one for one in _imports(place) if one.state not in ("undone", "recorded")]
        if not standing:
            raise UsageError("there is no import to undo", hint="nothing was changed")
        with Personas.open(home, parts=parts) as personas:
            return _take_back(place, standing[-1], personas, parts)


def standing_imports(home: str | Path) -> tuple[HomeImport, ...]:
    """The imports that were not taken back, the oldest first."""
    return tuple(one for one in _imports(find_home(Path(home))) if one.state == "done")


def import_original(home: str | Path, number: int) -> bytes | None:
    """The file of an import, as it came; None where it is not kept any more."""
    folder = _folder(find_home(Path(home)), number)
    found = sorted(folder.glob("original*"))
    return read_bounded(found[0], LARGEST) if found else None


def _free_sessions(arrival: ImportArrival, personas: Personas) -> tuple[tuple[str, str], ...]:
    """A name that no session of its persona has, for each conversation."""
    found: list[tuple[str, str]] = []
    taken: dict[str, set[str]] = {}
    for persona_id, one in arrival.conversations:
        if persona_id not in taken:
            taken[persona_id] = set(personas.record(persona_id).sessions())
        name = free_name(one.name, taken[persona_id])
        taken[persona_id].add(name)
        found.append((persona_id, name))
    return tuple(found)


def _wish(personas: Personas, persona: str, only: Sequence[str], parts: Parts | None) -> ImportWish:
    settings = load_settings(personas.home.path, (parts or Parts()).variables).model
    limits = ArrivalLimits(settings.limits.memory_chars, settings.memories.text_chars)
    return ImportWish(personas, limits, persona, tuple(only))


def _check(
    arrival: ImportArrival, personas: Personas, home: str | Path, parts: Parts | None
) -> None:
    """What becomes personas needs ids that are free, and what is for a persona one that is there;
    nothing that is there already is written over.
    """
    plan = arrival.plan
    for one in arrival.personas:
        personas.check_free(one.id)
    if plan.persona and not arrival.personas:
        personas.pick(plan.persona)
    place = find_home(Path(home))
    for name in arrival.files:
        if inside(place.path, name).exists():
            hint = "take the earlier import back, or rename what is there"
            raise BadInput(f"there is a file {name} already", hint=hint)
    with Prompts.open(home, parts=parts) as prompts:
        taken = [one for one in arrival.blocks if one in prompts.loaded_library.owner.prompts]
    if taken:
        hint = "take the earlier import back, or give the book or the persona another name"
        raise BadInput(f"there is a block {taken[0]!r} already", hint=hint, blocks=taken[:20])


def _make(
    place: Home,
    made: HomeImport,
    arrival: ImportArrival,
    *,
    personas: Personas,
    parts: Parts | None,
) -> HomeImport:
    plan, words = made.plan, f"import {made.number} of {made.plan.file}"
    for one in arrival.personas:
        _make_persona(one, personas, words)
    for name, data in arrival.files.items():
        path = inside(place.path, name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, data)
    if arrival.blocks:
        with Prompts.open(place.path, parts=parts) as prompts:
            prompts.editor.write(arrival.blocks, words=words)
    for one in arrival.personas:
        if one.memories:
            with open_memories(place.path, one.id, parts) as memories:
                memories.import_lines(write_lines(one.memories))
    for (persona_id, session), (_, held) in zip(made.sessions, arrival.conversations, strict=True):
        record = personas.record(persona_id)
        store_conversation(record, held, session=session, imported=made.number, source=plan.digest)
    if arrival.windows:
        with open_statuses(place.path, plan.persona, parts) as statuses:
            statuses.import_history(arrival.windows)
    told: JsonObject = {"what": "import", "file": plan.file, "digest": plan.digest}
    told |= {"format": f"{plan.format} {plan.version}".strip(), "blocks": len(made.blocks)}
    told |= {"files": len(made.files), "memories": len(made.memories)}
    told |= {"sessions": len(made.sessions)} if made.sessions else {}
    who = plan.persona or personas.ids()[0]
    entry = personas.note(who, Draft("persona", "owner", {"persona": told}))
    state = "recorded" if arrival.windows else "done"
    return _keep(place, replace(made, entry=entry, state=state))


def _make_persona(one: PersonaArrival, personas: Personas, words: str) -> None:
    personas.create(one.id, name=one.name, fields=one.fields)
    if one.picture is not None:
        personas.put_picture(one.id, one.picture)
    if one.files:
        memory = personas.memory(one.id)
        for name, text in one.files.items():
            memory.write(name, text, words=f"{words}{REVIEW}", force=True)


def _take_back(
    place: Home, made: HomeImport, personas: Personas, parts: Parts | None
) -> HomeImport:
    for persona_id, session in made.sessions:
        withdraw_conversation(personas.record(persona_id), session)
    for persona_id in (one for one in made.personas if place.persona(one).exists()):
        mine = [memory_id for one, memory_id in made.memories if one == persona_id]
        with open_memories(place.path, persona_id, parts) as memories:
            for memory_id in mine:
                with suppress(UsageError):  # it was known before, or forgotten since
                    memories.forget(memory_id)
    for persona_id in made.personas:
        folder = place.persona(persona_id).parent
        _set_aside(folder, _folder(place, made.number) / "personas" / persona_id)
    for name in made.files:
        _set_aside(inside(place.path, name), inside(_folder(place, made.number) / "files", name))
    _drop_empty(place, made.files)
    if made.blocks:
        with Prompts.open(place.path, parts=parts) as prompts:
            there = [one for one in made.blocks if one in prompts.loaded_library.owner.prompts]
            words = f"import {made.number} taken back"
            prompts.editor.write(dict.fromkeys(there), words=words)
    return _keep(place, replace(made, state="undone"))


def _set_aside(path: Path, kept: Path) -> None:
    if not path.exists():
        return
    if kept.exists():
        raise HomeError(f"{kept} is in the way", hint="move it elsewhere, and try again")
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.move(path, kept)


def _drop_empty(place: Home, names: tuple[str, ...]) -> None:
    """Folders that were made for files, where nothing is in them any more."""
    folders = {folder for name in names for folder in Path(name).parents}
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        path = place.path / folder
        if len(folder.parts) > 1 and path.is_dir() and not any(path.iterdir()):
            path.rmdir()


# The records of imports


def _folder(place: Home, number: int) -> Path:
    return inside(place.path, f"{_FOLDER}/{number:04}")


def _keep(place: Home, made: HomeImport) -> HomeImport:
    told = json.dumps(json.loads(to_json(made)), indent=2, ensure_ascii=False)
    write_atomic(_folder(place, made.number) / _RECORD, f"{told}\n")
    return made


def _imports(place: Home) -> list[HomeImport]:
    found = sorted(inside(place.path, _FOLDER).glob(f"*/{_RECORD}"))
    return [from_json(HomeImport, read_bounded(path, LARGEST)) for path in found]


def _next(place: Home) -> int:
    folders = inside(place.path, _FOLDER).glob("[0-9]*")
    return max((int(one.name) for one in folders if one.name.isdecimal()), default=0) + 1


@contextmanager
def _locked(place: Home) -> Generator[None]:
    folder = inside(place.path, _FOLDER)
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise unwritable(folder, error) from error
    with write_lock(folder / ".lock", seconds=_LOCK_SECONDS):
        yield
