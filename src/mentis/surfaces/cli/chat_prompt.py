"""The prompt of a conversation at a terminal: history, editing keys, completion, a screen.

Loaded only where the extra `chat` is installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from mentis.system.terminals import keys_unseen, typed_before

from .answer_screen import AnswerTerminal
from .chat_terminal import YOU, WordChoice
from .output import say

_MORE = "...> "
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class PromptTerminal(AnswerTerminal):
    """A prompt with history, editing keys and completion; answers are drawn while they come."""

    def __init__(self, history: Path) -> None:
        self._session = _open_session(history)
        super().__init__(self._size)
        self._kept = ExitStack()  # keys that are pressed before there is a prompt
        self.keep_keys()
        store_typeahead(self._session.input, _early_keys(typed_before()))

    def keep_keys(self) -> None:
        self._kept.close()
        self._kept.enter_context(keys_unseen())

    def close(self) -> None:
        self._kept.close()

    def greet(self, name: str, agent: str, session: str) -> None:
        say(f"{name} ({agent}), session {session}. /help lists commands, Ctrl-D ends.", dim=True)

    def recall(self, said: Sequence[tuple[str, str]]) -> None:
        for name, text in said:
            line = f"{name}: {' '.join(text.split())}"
            width = self._size()[0]
            say(line if len(line) <= width else f"{line[: width - 1]}…", dim=True)

    def read(self, words: WordChoice, *, default: str = "") -> str:
        say("")
        self._kept.close()
        with patch_stdout(raw=True):  # what is said meanwhile stands above the prompt
            return self._session.prompt(completer=SlashCompleter(words), default=default)

    def _size(self) -> tuple[int, int]:
        found = self._session.output.get_size()
        return found.columns, found.rows


def _open_session(history: Path) -> PromptSession[str]:
    def beside(_width: int, _line: int, folded: int) -> StyleAndTextTuples:
        """A line that was begun is told apart from one that the terminal folded."""
        return [("class:prompt", " " * len(_MORE) if folded else _MORE)]

    return PromptSession(
        [("class:prompt", YOU)],
        history=_open_history(history),
        multiline=True,  # a paste is one message, whatever lines it has
        prompt_continuation=beside,
        key_bindings=_keys(),
        enable_suspend=True,
        enable_open_in_editor=True,
        complete_while_typing=True,
        reserve_space_for_menu=6,
        style=Style.from_dict({"prompt": "bold"}),
        color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
    )


def _open_history(path: Path) -> History:
    """The owner's alone; where it cannot be written, this talk has its own."""
    try:
        opened = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | _NO_LINK, 0o600)
    except OSError:
        return InMemoryHistory()
    os.close(opened)
    return FileHistory(path)


def _keys() -> KeyBindings:
    """Enter sends; Alt-Enter and Ctrl-J begin a new line."""
    keys = KeyBindings()

    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    keys.add("enter")(send)
    keys.add("escape", "enter")(new_line)
    keys.add("c-j")(new_line)
    return keys


def _early_keys(typed: str) -> list[KeyPress]:
    """Keys of somebody who did not wait: one message, which Enter at its end sends."""
    presses: list[KeyPress] = []
    parser = Vt100Parser(presses.append)
    parser.feed(f"{typed[:-1]}\r" if typed.endswith("\n") else typed)
    parser.flush()
    return presses


class SlashCompleter(Completer):
    """Completes slash commands, and the names that may follow them."""

    def __init__(self, words: WordChoice) -> None:
        self._words = words

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002  # their signature
    ) -> Iterator[Completion]:
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, space, begun = text[1:].partition(" ")
        if not space:
            for one, told in self._words.commands.items():
                if one.startswith(name):
                    yield Completion(f"/{one}", -len(text), display_meta=told)
            return
        for one in self._words.names(name):
            if one.startswith(begun):
                yield Completion(one, -len(begun))
