"""Moving in: a file of another program becomes part of a home, as one change that can be undone.

Nothing that comes so is trusted as the owner's own words before the owner promotes it. The original
is kept in `imports/NUMBER/` of the home, with a record of what was made of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.codec.forms import from_json, to_json
from mentis.codec.media_types import type_of
from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.bounded import read_bounded
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.errors import BadInput, HomeError, UsageError
from mentis.exchange.cards import KEYWORDS, card_in_picture, is_card, read_card, read_json
from mentis.exchange.lorebooks import lorebook_dialect, read_lorebook
from mentis.exchange.png_text import is_png, with_texts
from mentis.home.parts import Parts
from mentis.library.archive.zip import Limits, unpack
from mentis.prompts.personas import LARGEST_PICTURE, Personas
from mentis.prompts.prompts import Prompts
from mentis.stores.files.home import Home, find_home
from mentis.values.digest import digest
from mentis.values.entry import Draft
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .import_card import card_draft
from .import_lore import add_lorebook
from .import_plan import ArrivalDraft, HomeImportPlan, ImportArrival, id_of

__all__ = ["HomeImport", "HomeImportPlan", "import_file", "plan_file_import", "undo_import"]

LARGEST = 60_000_000  # of a file that is imported
_LOCK_SECONDS = 5.0
_RECORD, _FOLDER, _PERSONA = "import.json", "imports", "persona"
_CARD_IN_ZIP = "card.json"
_KNOWN = "character cards (JSON, PNG, CHARX) and lorebooks (JSON)"


@dataclass(frozen=True, slots=True)
class HomeImport(Value):
    """An import that was made, or taken back (`undone`); `entry` is where the record says so."""

    number: int
    plan: HomeImportPlan
    blocks: tuple[str, ...]
    entry: int = -1
    state: str = "begun"


def plan_file_import(
    home: str | Path, file: str | Path, *, persona: str = "", parts: Parts | None = None
) -> HomeImportPlan:
    """What importing a file would do; nothing is written. BadInput for what is not recognised."""
    path = Path(file)
    arrival = _arrival(_read(path), path.name, persona)
    with Personas.open(home, parts=parts) as personas:
        _check(arrival, personas, home, parts)
    return arrival.plan


def import_file(
    home: str | Path, file: str | Path, *, persona: str = "", parts: Parts | None = None
) -> HomeImport:
    """Import a file as one change; `undo_import` takes it back. The original is kept."""
    path = Path(file)
    data = _read(path)
    arrival = _arrival(data, path.name, persona)
    place = find_home(Path(home))
    with _locked(place), Personas.open(home, parts=parts) as personas:
        _check(arrival, personas, home, parts)
        made = HomeImport(_next(place), arrival.plan, tuple(arrival.blocks))
        folder = _folder(place, made.number)
        folder.mkdir(parents=True, mode=0o700)
        write_atomic(folder / f"original{path.suffix.lower()[:8]}", data)
        made = _keep(place, made)
        try:
            return _make(place, made, arrival, personas=personas, parts=parts)
        except BaseException:
            _take_back(place, made, parts)
            raise


def undo_import(home: str | Path, *, parts: Parts | None = None) -> HomeImport:
    """Take back the newest import that still stands. What was changed of it since is kept beside
    the original; conversations stay in the record.
    """
    place = find_home(Path(home))
    with _locked(place):
        standing = [one for one in _imports(place) if one.state != "undone"]
        if not standing:
            raise UsageError("there is no import to undo", hint="nothing was changed")
        return _take_back(place, standing[-1], parts)


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise BadInput(f"{path} is a folder, and no format of a folder is known", hint=_hint())
    try:
        return read_bounded(path, LARGEST)
    except OSError as error:
        hint = "check what it is, and its permissions"
        raise BadInput(f"{path}: cannot be read: {error.strerror}", hint=hint) from error


def _hint() -> str:
    return f"recognised are: {_KNOWN}"


def _arrival(data: bytes, name: str, persona: str) -> ImportArrival:
    """What a file is, by its bytes, and what becomes of it."""
    picture, document = _document(data, name)
    if lorebook_dialect(document) is not None:
        return _book_arrival(data, name, cast("JsonObject", document), persona)
    if not is_card(document):
        raise BadInput(f"{name}: nothing in it is recognised", hint=_hint())
    card = read_card(cast("JsonObject", document))
    chosen = persona or id_of(card.nickname or card.name)
    draft = card_draft(card, chosen)
    if picture is not None:
        _take_picture(picture, draft)
    plan = HomeImportPlan(
        file=name,
        digest=digest(data),
        format="character card",
        version=f"V{card.version}",
        name=card.nickname or card.name,
        persona=chosen,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=tuple(draft.shown),
    )
    return ImportArrival(plan, draft.fields, draft.blocks, draft.picture)


def _book_arrival(data: bytes, name: str, document: JsonObject, persona: str) -> ImportArrival:
    book, draft = read_lorebook(document, Path(name).stem), ArrivalDraft()
    add_lorebook(book, draft, id_of(book.name), persona=persona)
    plan = HomeImportPlan(
        file=name,
        digest=digest(data),
        format="lorebook",
        version=book.dialect,
        name=book.name,
        persona=persona,
        parts=tuple(draft.parts),
        losses=tuple(draft.losses),
        shown=(f"description: {book.description}",) if book.description else (),
    )
    return ImportArrival(plan, {}, draft.blocks)


def _check(
    arrival: ImportArrival, personas: Personas, home: str | Path, parts: Parts | None
) -> None:
    """A card needs an id that is free, a lorebook a persona that is there, if it names one; and
    nothing that is there already is written over.
    """
    plan = arrival.plan
    if plan.format == "character card":
        personas.check_free(plan.persona)
    elif plan.persona:
        personas.pick(plan.persona)
    with Prompts.open(home, parts=parts) as prompts:
        taken = [one for one in arrival.blocks if one in prompts.loaded_library.owner.prompts]
    if taken:
        hint = "take the earlier import back, or give the book or the persona another name"
        raise BadInput(f"there is a block {taken[0]!r} already", hint=hint, blocks=taken[:20])


def _document(data: bytes, name: str) -> tuple[bytes | None, object]:
    """The picture, if there is one, and the JSON."""
    if is_png(data):
        found = card_in_picture(data)
        if found is None:
            hint = "a program that saves pictures anew takes the card out; get the first one"
            raise BadInput(f"{name}: the picture holds no character card", hint=hint)
        return data, read_json(found, f"{name}: the card in the picture")
    if data.startswith(b"PK"):
        return _packed(data, name)
    return None, read_json(data, name)


def _packed(data: bytes, name: str) -> tuple[bytes | None, object]:
    limits = Limits(archive_bytes=LARGEST, member_bytes=20_000_000)
    members, _ = unpack(data, limits, lambda one: one == _CARD_IN_ZIP or _is_icon(one))
    if _CARD_IN_ZIP not in members:
        raise BadInput(f"{name}: the zip file holds no {_CARD_IN_ZIP}", hint=_hint())
    icons = sorted(one for one in members if one != _CARD_IN_ZIP)
    picture = members[icons[0]] if icons else None
    return picture, read_json(members[_CARD_IN_ZIP], f"{name}: {_CARD_IN_ZIP}")


def _is_icon(name: str) -> bool:
    return name.startswith("assets/icon/") and name.lower().endswith((".png", ".jpg", ".webp"))


def _take_picture(picture: bytes, draft: ArrivalDraft) -> None:
    if is_png(picture):  # without the card in it, which is kept in the original
        picture = with_texts(picture, {}, without=KEYWORDS)
    if len(picture) > LARGEST_PICTURE:
        draft.lose("picture", f"it has more than {LARGEST_PICTURE} bytes; kept in the original")
    else:
        draft.picture = picture


def _make(
    place: Home,
    made: HomeImport,
    arrival: ImportArrival,
    *,
    personas: Personas,
    parts: Parts | None,
) -> HomeImport:
    plan = made.plan
    told: JsonObject = {"what": "import", "file": plan.file, "digest": plan.digest}
    told |= {"format": f"{plan.format} {plan.version}", "blocks": len(made.blocks)}
    if plan.format == "character card":
        _make_persona(arrival, personas)
    if arrival.blocks:
        with Prompts.open(place.path, parts=parts) as prompts:
            prompts.editor.write(arrival.blocks, words=f"import {made.number} of {plan.file}")
    who = plan.persona or personas.ids()[0]
    entry = personas.note(who, Draft("persona", "owner", {"persona": told}))
    return _keep(place, made, entry=entry, state="done")


def _make_persona(arrival: ImportArrival, personas: Personas) -> None:
    plan = arrival.plan
    path = personas.create(plan.persona, name=plan.name, fields=arrival.fields)
    if arrival.picture is not None:
        ending = {"image/jpeg": "jpg", "image/webp": "webp"}.get(type_of(arrival.picture), "png")
        write_atomic(path.with_name(f"avatar.{ending}"), arrival.picture)


def _take_back(place: Home, made: HomeImport, parts: Parts | None) -> HomeImport:
    brought = made.plan.format == "character card"
    folder = place.persona(made.plan.persona).parent if brought else None
    if folder is not None and folder.exists():
        kept = _folder(place, made.number) / _PERSONA
        if kept.exists():
            raise HomeError(f"{kept} is in the way", hint="move it elsewhere, and try again")
        shutil.move(folder, kept)
    if made.blocks:
        with Prompts.open(place.path, parts=parts) as prompts:
            there = [one for one in made.blocks if one in prompts.loaded_library.owner.prompts]
            words = f"import {made.number} taken back"
            prompts.editor.write(dict.fromkeys(there), words=words)
    return _keep(place, made, entry=made.entry, state="undone")


# The records of imports


def _folder(place: Home, number: int) -> Path:
    return inside(place.path, f"{_FOLDER}/{number:04}")


def _keep(place: Home, made: HomeImport, *, entry: int = -1, state: str = "begun") -> HomeImport:
    made = HomeImport(made.number, made.plan, made.blocks, entry, state)
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
