"""A conversation: what is typed is a message or a slash command, until somebody leaves.

The persona and the route may be changed on the way: then another agent is opened.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from mentis.errors import MentisError
from mentis.record.threads import is_message, told_turns
from mentis.settings.settings import SettingsModel
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home
from mentis.values.reply import TextDelta

from .approval_talk import TurnMaker, hold_turn
from .chat_commands import COMMANDS, argument_names, run_command
from .chat_terminal import ChatTerminal, WordChoice, open_terminal
from .crash import tell_defect
from .options import call_parts, given_message
from .output import say, show_error
from .persona import show_update
from .talk import Talk, open_talk
from .turn_show import show_end

if TYPE_CHECKING:
    from mentis.talk.afterthought import Afterthought
    from mentis.talk.idle_plan import IdleCycle
    from mentis.values.options import CallOptions
    from mentis.values.request import HistoryScope
    from mentis.values.tool import ToolDeclaration
    from mentis.values.turn import Role

# A path such as /etc/hosts is none.
_COMMAND = re.compile(r"/([A-Za-z?]*)(?:\s+(.*))?", re.DOTALL)
_NO_COMMAND = "//"  # how a message begins that is to begin with a slash


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """Whom one talks to, over which route, and in which conversation."""

    persona: str | None
    route: str
    session: str


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What holds wherever one talks. `attached` and `reply_to` go with the first message."""

    home: Path
    calls: CallOptions | None = None
    tools: Sequence[ToolDeclaration] = ()
    scope: HistoryScope | None = None
    go_on: bool = True
    attached: tuple[str, ...] = ()
    reply_to: str | None = None


def converse(place: ChatPlace, options: ChatOptions) -> int:
    """Talk until somebody leaves; the exit code."""
    goal: ChatPlace | None = place
    with closing(open_terminal(Home(options.home).chat_history)) as terminal:
        while goal is not None:
            terminal.keep_keys()
            opened = open_talk(
                options.home,
                persona=goal.persona,
                route=goal.route,
                options=options.calls,
                tools=options.tools,
                parts=terminal.hearing(call_parts()),
            )
            with opened as talk:
                talking = ChatTalk(talk, terminal, goal, options)
                goal = talking.run()
                options = talking.options
    return 0


class ChatTalk:
    """One agent, talked to until somebody leaves or goes elsewhere."""

    def __init__(
        self, talk: Talk, terminal: ChatTerminal, place: ChatPlace, options: ChatOptions
    ) -> None:
        self.talk = talk
        self.terminal = terminal
        self.place = replace(place, persona=talk.agent.persona.id)
        self.options = options
        self.draft = ""  # the next prompt begins with it
        self._goal: ChatPlace | None = self.place
        self._over = False
        self._ended = False  # from outside
        self._words = WordChoice(
            {one.name: one.help for one in COMMANDS}, partial(argument_names, self)
        )

    @property
    def settings(self) -> SettingsModel:
        """As they are now."""
        return load_settings(self.options.home, os.environ).model

    @property
    def name(self) -> str:
        return self.talk.name

    def leave(self, goal: ChatPlace | None = None) -> None:
        """Go there next; without a goal it is over."""
        self._goal, self._over = goal, True

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Asked to end, it ends the answer, and then the talk."""
        self._ended = True
        signal.default_int_handler(number, frame)

    def run(self) -> ChatPlace | None:
        """Where to go on."""
        signal.signal(signal.SIGTERM, self._end)
        talk, printer = self.talk, self.terminal.aside(self.name, receipt=self._receipt)

        def told_afterwards(thought: Afterthought | MentisError) -> None:
            """That it rather waits is nobody's business."""
            if isinstance(thought, MentisError):
                show_error(thought)
            elif thought.followup is not None:
                show_end(thought.followup, printer)

        self._begin()
        self.recall()
        quiet = talk.agent.idle_cycle(told_afterwards, on_delta=printer)
        upkeep = talk.agent.upkeep(show_update)
        with talk.keeping(upkeep), talk.beside(quiet):
            while not self._over and not self._ended:
                if self._take(quiet):
                    talk.note_message(quiet, self.place.session)
                    talk.note_message(upkeep, self.place.session)
        return None if self._ended else self._goal

    def recall(self) -> None:
        """Show the last message of this conversation, and its answer."""
        turns = told_turns(self.talk.agent.history(session=self.place.session))
        said = [turn for turn in turns if turn.kind == "said" and turn.text.strip()]
        asked = [turn for turn in said if is_message(turn)][-1:]
        names: dict[Role, str] = {"user": "you", "assistant": self.name}
        answered = [turn for turn in said[-1:] if turn not in asked]
        self.terminal.recall([(one.speaker(names), one.text) for one in (*asked, *answered)])

    def _begin(self) -> None:
        """Say who is talked to; in a new conversation, the first words of the persona too."""
        agent, session = self.talk.agent, self.place.session
        self.terminal.greet(self.name, agent.id, session)
        if not agent.last_turns(1, session=session) and (words := agent.greeting()):
            with self.terminal.printer(self.name, receipt=False) as printer:
                printer(TextDelta(f"{words}\n"))

    def hold(self, turn: TurnMaker) -> None:
        """Make a turn, show it, and ask about what waits for a yes."""
        show = partial(self.terminal.printer, self.name, receipt=self._receipt)
        persona, go_on = self.place.persona, self.options.go_on
        hold_turn(self.talk, turn, persona=persona, go_on=go_on, show=show)

    @property
    def _receipt(self) -> bool:
        return self.settings.conversations.receipt

    def _take(self, quiet: IdleCycle) -> bool:
        """Read once, and do what was typed; whether it was a message."""
        draft, self.draft = self.draft, ""
        try:
            text = self.terminal.read(self._words, default=draft)
        except EOFError:
            self.leave()
            return False
        except KeyboardInterrupt:
            if self._ended:
                self.leave()
            return False
        command = _COMMAND.fullmatch(text.strip())
        if not text.strip():
            return False
        self.talk.hush(quiet)
        try:
            if command is not None:
                return self._command(command[1].lower(), (command[2] or "").strip())
            self._send(text.removeprefix("/") if text.startswith(_NO_COMMAND) else text)
        except MentisError as error:  # it is told, and the conversation goes on
            show_error(error)
        except KeyboardInterrupt:
            say("stopped")
        return True

    def _command(self, name: str, words: str) -> bool:
        """Whether a turn was made of it. A defect in one command does not end the conversation."""
        try:
            return run_command(self, name, words)
        except (MentisError, EOFError, click.Abort, click.ClickException):
            raise
        except Exception as error:  # noqa: BLE001 - as at the edge of a command: it is reported
            tell_defect(error, ["chat", f"/{name}"])
            return False

    def _send(self, text: str) -> None:
        chosen = self.options
        message = given_message(text, chosen.attached, chosen.reply_to, scope=chosen.scope)
        self.options = replace(chosen, attached=(), reply_to=None)
        self.hold(partial(self.talk.ask, message, session=self.place.session))
