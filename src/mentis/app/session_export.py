"""A conversation as a file: lines of JSON as SillyTavern has them, or Markdown to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self, TypeAlias, cast

from mentis.errors import UsageError
from mentis.exchange.chats import Chat, ChatLine, is_chat, read_chat, row_of, write_rows
from mentis.home.parts import Parts
from mentis.prompts.personas import Personas
from mentis.record.agent_record import AgentRecord
from mentis.record.claims import object_in
from mentis.record.threads import is_message, standing_numbers, title_of
from mentis.stores.files.home import Home, checked_id, find_home
from mentis.talk.sessions import versions_of
from mentis.values.json import JsonObject
from mentis.values.part import MediaPart, ToolCallPart, ToolResultPart
from mentis.values.persona import Persona
from mentis.values.turn import Turn

from .file_export import ExportDraft, FileExport
from .home_import import import_original
from .import_chat import resolver

SessionFormat: TypeAlias = Literal["jsonl", "markdown"]


def export_session(
    home: str | Path,
    session: str = "main",
    *,
    persona: str | None = None,
    format: SessionFormat = "jsonl",  # noqa: A002  # as the option is called
    parts: Parts | None = None,
) -> FileExport:
    """What still counts of a conversation, with the other answers that its messages have had.
    Nothing is written.
    """
    draft = ExportDraft()
    with Personas.open(home, parts=parts) as personas:
        chosen = personas.pick(persona)
        record, whose = personas.record(chosen), personas.read(chosen)
        turns = record.turns(checked_id(session, "session"))
        times = _times(record, session)
    if not turns:
        raise UsageError(f"there is no session {session!r}", hint="`mentis sessions list`")
    lines = [*_lines(turns, times, whose.name, draft)]
    if format == "markdown":
        data = _markdown(title_of(turns) or session, lines, draft).encode()
        return FileExport("Markdown", data, "text/markdown", len(lines), tuple(draft.losses))
    header, rows = _with_originals(find_home(Path(home)), turns, lines, whose)
    told: JsonObject = {"session": session, "title": title_of(turns)}
    metadata = cast("JsonObject", header.get("chat_metadata") or {})
    header = {**header, "chat_metadata": {**metadata, "mentis": told}}
    data = write_rows([header, *rows])
    kind, losses = "application/x-ndjson", tuple(draft.losses)
    return FileExport("SillyTavern chat", data, kind, len(lines), losses)


def _with_originals(
    home: Home, turns: Sequence[Turn], lines: Sequence[ChatLine], whose: Persona
) -> tuple[JsonObject, list[JsonObject]]:
    """A header, and each line as a row: what came from such a file has all that it had there."""
    user = next((one.name for one in lines if one.is_user), "User")
    header: JsonObject = {"user_name": user, "character_name": whose.name}
    known: dict[int, OriginalRows] = {}
    rows: list[JsonObject] = []
    for one in lines:
        origin, row = turns[one.line].origin, row_of(one)
        if origin is not None:
            if origin.imported not in known:
                known[origin.imported] = OriginalRows.of(home, origin.imported, whose)
                header = known[origin.imported].header or header
            row = known[origin.imported].take(one) or row
        rows.append(row)
    return header, rows


class OriginalRows:
    """The rows of a chat that was imported, each to be found by who says what in it."""

    def __init__(self, chat: Chat | None, whose: Persona) -> None:
        self.header: JsonObject = {} if chat is None else chat.header
        self._rows: dict[tuple[str, str], list[ChatLine]] = {}
        for line in chat.lines if chat else ():
            plain = resolver(line, chat, whose) if chat else str
            said = replace(line, text=plain(line.text), swipes=tuple(map(plain, line.swipes)))
            self._rows.setdefault((line.name, said.text), []).append(said)

    @classmethod
    def of(cls, home: Home, number: int, whose: Persona) -> Self:
        data = import_original(home.path, number)
        chat = read_chat(data) if data is not None and is_chat(data) else None
        return cls(chat, whose)

    def take(self, line: ChatLine) -> JsonObject | None:
        """The row of this line, used up; with other swipes where it has had more answers since."""
        found = self._rows.get((line.name, line.text))
        if not found:
            return None
        held = found.pop(0)
        row = dict(held.row)
        if {*line.others} != {*held.others}:
            row |= {"swipes": list(line.swipes), "swipe_id": line.chosen}
        return row


def _times(record: AgentRecord, session: str) -> dict[int, str]:
    """When each message was recorded, by its number."""
    found: dict[int, str] = {}
    for entry in record.ledger.entries(record.agent):
        if entry.kind != "turn":
            continue
        told = object_in(entry, "turn")
        number = told.get("number")
        if told.get("session") == session and isinstance(number, int) and "import" not in told:
            found.setdefault(number, entry.time)
    return found


def _lines(
    turns: Sequence[Turn], times: Mapping[int, str], name: str, draft: ExportDraft
) -> Iterator[ChatLine]:
    """The lines of what counts; of an answer its versions are swipes."""
    time, asked = "", -1
    for number in standing_numbers(turns):
        turn = turns[number]
        if turn.kind not in ("said", "hidden"):
            if turn.kind != "title" and turn.parts and turn.text.strip():
                draft.lose(f"{turn.kind} of the conversation", "the format has no place for it")
            continue
        _name_losses(turn, draft)
        if not turn.text.strip():
            continue
        if is_message(turn):
            time, asked = times.get(number, ""), number
        said = turn.origin.time if turn.origin else time
        swipes = _swipes(turns, number, asked) if turn.role == "assistant" else ()
        yield ChatLine(
            number,
            _speaker(turn, name),
            turn.text,
            is_user=turn.role == "user" and not turn.author,
            is_system=turn.kind == "hidden",
            time=said,
            swipes=swipes,
            chosen=len(swipes) - 1 if swipes else 0,
        )


def _speaker(turn: Turn, name: str) -> str:
    if turn.author:
        return turn.author
    if turn.origin is not None and turn.origin.name:
        return turn.origin.name
    return name if turn.role == "assistant" else "User"


def _swipes(turns: Sequence[Turn], number: int, asked: int) -> tuple[str, ...]:
    """The answers in this place, the one that counts last; none where there is but one."""
    if asked == number - 1:
        others = [one.text for one in versions_of(turns, asked) if not one.current]
    else:
        others = [*_taken_back(turns, number)][::-1]
    rest = [text for text in others if text.strip() and text != turns[number].text]
    return (*rest, turns[number].text) if rest else ()


def _taken_back(turns: Sequence[Turn], number: int) -> Iterator[str]:
    """What stood in the place of an answer before an undo, the newest first."""
    while number >= 2:
        undo, before = turns[number - 1], turns[number - 2]
        if undo.kind != "undo" or undo.replaces != number - 2 or before.role != "assistant":
            return
        yield before.text
        number -= 2


def _name_losses(turn: Turn, draft: ExportDraft) -> None:
    if any(isinstance(part, ToolCallPart | ToolResultPart) for part in turn.parts):
        draft.lose("calls of tools and their results", "the format has no place for them")
    if any(isinstance(part, MediaPart) for part in turn.parts):
        draft.lose("attachments", "the format names files, and does not hold them")


def _markdown(title: str, lines: Sequence[ChatLine], draft: ExportDraft) -> str:
    if any(one.is_system for one in lines):
        draft.lose("hidden messages", "left out: no model was told them")
    if any(one.others for one in lines):
        draft.lose("other answers", "only those that count are there")
    shown = (one for one in lines if not one.is_system)
    told = (f"**{one.name}**{f' ({one.time})' if one.time else ''}\n\n{one.text}" for one in shown)
    return "\n\n".join((f"# {title}", *told)) + "\n"
