"""Slash commands of a conversation. None of them is sent to the persona."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.errors import BadInput, UsageError
from mentis.record.threads import is_message, standing_numbers, told_turns
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, checked_id
from mentis.values.reply import TextDelta

from .memory_look import found_lines
from .memory_parts import memories_table, open_own, short
from .output import emit, say
from .report import show
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.ask.ask import OnDelta
    from mentis.turn.turn import TurnResult
    from mentis.values.turn import Role, Turn

    from .chat_loop import ChatTalk

_MOST_MEMORIES = 20


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """`run` takes the conversation and the words behind the name; it says whether a turn was
    made.
    """

    name: str
    words: str
    help: str
    run: Callable[[ChatTalk, str], bool | None]


def run_command(chat: ChatTalk, name: str, words: str) -> bool:
    """Whether a turn was made of it."""
    known = {one.name: one for one in COMMANDS} | {
        other: one for one in COMMANDS for other in _OTHER_NAMES.get(one.name, ())
    }
    if name in known:
        return bool(known[name].run(chat, words))
    close = get_close_matches(name, known, n=1)
    meant = f"did you mean /{close[0]}?" if close else "/help lists the commands."
    say(f"there is no command /{safe(name)}: {meant} To send it as a message: //{safe(name)}")
    return False


def argument_names(chat: ChatTalk, name: str) -> Iterable[str]:
    """What may follow a command, for completion."""
    match name:
        case "session":
            return chat.talk.agent.session_names()
        case "persona":
            return Home(chat.options.home).personas()
        case "route":
            return sorted(chat.settings.routes)
        case _:
            return ()


def _help(_chat: ChatTalk, _words: str) -> None:
    rows = [(f"/{one.name} {one.words}".rstrip(), one.help) for one in COMMANDS]
    width = max(len(name) for name, _ in rows)
    for name, told in rows:
        emit(f"{name.ljust(width)}  {told}")
    say("Enter sends, Alt-Enter begins a line, Ctrl-C ends an answer, Ctrl-D the talk.", dim=True)


# Saying it anew


def _retry(chat: ChatTalk, _words: str) -> bool:
    def again(*, on_delta: OnDelta | None) -> TurnResult:
        session, options = chat.place.session, chat.talk.options
        regenerate = partial(chat.talk.agent.regenerate, session=session, options=options)
        return chat.talk.wait_for(partial(regenerate, on_delta=on_delta))

    chat.hold(again)
    return True


def _edit(chat: ChatTalk, words: str) -> bool:
    number, turn = _last_message(chat)
    if not words:
        chat.draft = f"/edit {turn.text}"
        return False

    def edited(*, on_delta: OnDelta | None) -> TurnResult:
        session, options = chat.place.session, chat.talk.options
        edit = partial(chat.talk.agent.edit, number, words, session=session, options=options)
        return chat.talk.wait_for(partial(edit, on_delta=on_delta))

    chat.hold(edited)
    return True


def _undo(chat: ChatTalk, _words: str) -> None:
    _, turn = _last_message(chat)
    entry = chat.talk.wait_for(partial(chat.talk.agent.undo, session=chat.place.session))
    say(f"taken back, and no longer told: {safe(short(turn.text))}")
    say(f"[entry {entry.index}]", dim=True)


def _swipe(chat: ChatTalk, words: str) -> None:
    """To the answer of that place, or to the one before this one; the first follows the last."""
    agent, session = chat.talk.agent, chat.place.session
    found = agent.answer_versions(session=session)
    if len(found) < 2:
        say("the last message has one answer: /retry asks for another")
        return
    here = next(place for place, one in enumerate(found) if one.current)
    place = int(words) - 1 if words.isdecimal() else (here - 1) % len(found)
    if not 0 <= place < len(found):
        raise UsageError(f"there is no answer {words}", hint=f"there are {len(found)}")
    if place != here:
        restore = partial(agent.restore_answer, found[place].number, session=session)
        chat.talk.wait_for(restore)
    with chat.terminal.printer(chat.name, receipt=False) as printer:
        printer(TextDelta(found[place].text))
    say(f"[answer {place + 1} of {len(found)}; this one counts now]", dim=True)


def _last_message(chat: ChatTalk) -> tuple[int, Turn]:
    turns = chat.talk.agent.history(session=chat.place.session)
    numbers = [number for number in standing_numbers(turns) if is_message(turns[number])]
    if not numbers:
        raise UsageError("nothing was said here yet", hint="say something first")
    return numbers[-1], turns[numbers[-1]]


# Going elsewhere


def _session(chat: ChatTalk, words: str) -> None:
    agent = chat.talk.agent
    if words:
        chat.place = replace(chat.place, session=checked_id(words, "session"))
        say(f"session {words}: {'goes on' if words in agent.session_names() else 'a new one'}")
        chat.recall()
        return
    outlines = [agent.session_outline(name) for name in agent.session_names()]
    rows = [
        (_marked(one.name, chat.place.session), str(one.turns), short(one.title or one.begins))
        for one in outlines
    ]
    show(TextTable(("session", "messages", "about"), rows, right=("messages",)))


def _persona(chat: ChatTalk, words: str) -> None:
    home = Home(chat.options.home)
    if words:
        chosen = home.pick_persona(words)
        if chosen != chat.place.persona:
            chat.leave(replace(chat.place, persona=chosen))
        return
    for name in home.personas():
        emit(_marked(name, chat.place.persona or ""))


def _route(chat: ChatTalk, words: str) -> None:
    import os

    settings = load_settings(chat.options.home, os.environ)
    if words:
        settings.route(words)  # says what there is, where there is no such one
        chat.leave(replace(chat.place, route=words))
        return
    routes = [settings.route(name) for name in sorted(settings.model.routes)]
    rows = [(_marked(one.name, chat.place.route), one.backend, one.model) for one in routes]
    show(TextTable(("route", "backend", "model"), rows))


def _marked(name: str, current: str) -> str:
    return f"{name} *" if name == current else name


# Looking


def _why(chat: ChatTalk, words: str) -> None:
    from .why_show import explanation_lines

    if words and not words.isdecimal():
        raise UsageError(f"{words!r} is no number of an entry", hint="/why shows the last turn")
    show(explanation_lines(chat.talk.agent.why(int(words) if words else _last_entry(chat))))


def _last_entry(chat: ChatTalk) -> int:
    """The entry of the turn whose answer counts; also where it was told again since."""
    agent, session = chat.talk.agent, chat.place.session
    last, _ = _last_message(chat)
    versions = agent.answer_versions(session=session)
    number = next((one.number for one in versions if one.current), last)
    entries = agent.turn_entries([number], session=session)
    if not entries:
        raise UsageError("nothing was said here yet", hint="say something first")
    return max(entries.values())


def _cost(chat: ChatTalk, _words: str) -> None:
    from .cost_show import report_lines

    session = chat.place.session
    show(report_lines(chat.talk.agent.costs(by="model", dearest=3, session=session)))


def _memory(chat: ChatTalk, words: str) -> None:
    with open_own(chat.place.persona) as memories:
        if words:
            show(found_lines(chat.talk.wait_for(partial(memories.search, words))))
            return
        kept = memories.list()
    _show_files(chat)
    if kept:
        show(memories_table(kept[-_MOST_MEMORIES:]))
        count = "1 memory" if len(kept) == 1 else f"{len(kept)} memories"
        say(f"{count} in all: /memory WORDS searches them")
    else:
        say("there are no memories yet: mentis memory add keeps one")


def _show_files(chat: ChatTalk) -> None:
    from .persona import open_personas

    with open_personas() as personas:
        files = personas.memory(chat.talk.agent.persona.id).files()
    for file in files:
        if not file.empty:
            say(f"{file.name}.md", dim=True)
            emit(file.text.strip())


# Keeping


def _save(chat: ChatTalk, words: str) -> None:
    from mentis.talk.talk_data import turns_data

    session = chat.place.session
    turns = chat.talk.agent.history(session=session)
    path = Path(words or f"{session}.md").expanduser()
    if not turns:
        raise UsageError("nothing was said here yet", hint="say something first")
    if path.suffix == ".json":
        text = json.dumps(turns_data(turns), ensure_ascii=False, indent=2) + "\n"
    else:
        text = _transcript(chat, turns)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}", hint="choose another file: /save FILE"
        ) from error
    say(f"saved as {path}")


def _transcript(chat: ChatTalk, turns: tuple[Turn, ...]) -> str:
    """What counts of a conversation, in Markdown."""
    names: dict[Role, str] = {"user": "You", "assistant": chat.name}
    said = [turn for turn in told_turns(turns) if turn.kind == "said" and turn.text.strip()]
    lines = [f"**{turn.speaker(names)}:**\n\n{turn.text.strip()}\n" for turn in said]
    return "\n".join([f"# {chat.name}, {chat.place.session}\n", *lines])


def _quit(chat: ChatTalk, _words: str) -> None:
    chat.leave()


COMMANDS = (
    SlashCommand("help", "", "this list", _help),
    SlashCommand("retry", "", "ask for another answer to your last message", _retry),
    SlashCommand("edit", "[TEXT]", "say your last message in other words", _edit),
    SlashCommand("undo", "", "take back your last message and its answer", _undo),
    SlashCommand("swipe", "[NUMBER]", "go to another answer to your last message", _swipe),
    SlashCommand("session", "[NAME]", "list conversations, or go to one", _session),
    SlashCommand("persona", "[ID]", "list personas, or talk to another", _persona),
    SlashCommand("route", "[NAME]", "list routes, or ask another model", _route),
    SlashCommand("why", "[ENTRY]", "what the model was told, with trust and price", _why),
    SlashCommand("cost", "", "what this conversation cost", _cost),
    SlashCommand("memory", "[WORDS]", "what it remembers, or what fits the words", _memory),
    SlashCommand("save", "[FILE]", "write the conversation to a file (.md or .json)", _save),
    SlashCommand("quit", "", "end the talk, as Ctrl-D does", _quit),
)
_OTHER_NAMES = {"help": ("?", ""), "quit": ("exit",)}
