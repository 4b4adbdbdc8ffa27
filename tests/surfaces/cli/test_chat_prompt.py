"""`mentis chat` at a terminal: what is typed, what is shown, and what is never sent."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread

import anyio
import pytest

from mentis import Parts
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.surfaces.cli import chat_loop
from mentis.talk import idle_plan
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .chat_screen import ALT_ENTER, CTRL_C, CTRL_D, UP, ChatScreen, pasted
from .conftest import Mentis
from .test_chat import scripted, typed

MARKDOWN = """Three things, and **none** takes long:

1. water the *tomatoes*
2. cut back the `lavender`

```python
pots.move(shade)
```

That is all."""


@pytest.fixture
def chat(home: Path) -> ChatScreen:
    return ChatScreen(home)


def history(home: Path, session: str = "main", persona: str | None = None) -> list[str]:
    agent = Agent.open(home, persona=persona, parts=Parts(environ={}))
    try:
        return [turn.text for turn in agent.history(session=session)]
    finally:
        agent.close()


# Talking


def test_an_answer_is_shown_as_markdown_under_the_name_and_its_entry_in_one_line(
    chat: ChatScreen,
) -> None:
    scripted(chat.home, MARKDOWN)
    assert chat("What shall I do?\r", CTRL_D) == 0
    greeting, *shown = chat.stream.lines
    assert greeting.startswith("Ada (home/ada), session main.")
    receipt = next(line for line in shown if line.startswith("[entry"))
    assert shown[: shown.index(receipt)] == [
        "",
        "you> What shall I do?",
        "Ada: Three things, and none takes long:",
        "",
        " 1. water the tomatoes",
        " 2. cut back the lavender",
        "",
        "    pots.move(shade)",
        "",
        "That is all.",
    ]
    assert receipt.startswith("[entry 0, ")
    assert f"\x1b[2m{receipt}" in chat.stream.raw, "it is dim"


def test_words_are_wrapped_at_the_width(chat: ChatScreen) -> None:
    scripted(chat.home, "It was a word and a word. " * 8)
    chat.columns = 40
    assert chat("Hello\r", CTRL_D) == 0
    said = [line for line in chat.stream.lines if "word" in line]
    assert said[0] == "Ada: It was a word and a word. It was a"
    assert max(map(len, said)) <= 40


def test_the_line_with_the_entry_can_be_switched_off(chat: ChatScreen, mentis: Mentis) -> None:
    off = ("settings", "set", "conversations.receipt", "false")
    assert mentis("--home", chat.home, *off).code == 0
    assert chat("Hello\r", CTRL_D) == 0
    assert "[entry" not in chat.stream.everything


def test_what_would_steer_the_terminal_is_shown_and_not_obeyed(chat: ChatScreen) -> None:
    scripted(chat.home, "Look: \x1b[2J\x1b]0;owned\x07 and [a link](https://b.example)")
    assert chat("Hello\r", CTRL_D) == 0
    assert "Look: \\x1b[2J" in chat.stream.everything.replace("\n", " ")
    assert "owned\x07" not in chat.stream.raw
    assert "https://b.example" in chat.stream.everything, "where a link leads is said"


def test_a_paste_of_several_lines_is_one_message(chat: ChatScreen) -> None:
    assert chat(pasted("one\r\ntwo\nthree"), "\r", "four", ALT_ENTER, "five\r", CTRL_D) == 0
    assert history(chat.home)[::2] == ["one\ntwo\nthree", "four\nfive"]


def test_a_line_that_is_folded_is_told_apart_from_one_that_was_begun(chat: ChatScreen) -> None:
    chat.columns = 30
    assert chat(pasted("a b " * 10 + "\nnext"), "\r", CTRL_D) == 0
    said = [line for line in chat.stream.lines if "a b" in line or "next" in line]
    assert said == ["you> a b a b a b a b a b a b a", "      b a b a b a b", "...> next"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
def test_a_message_that_is_typed_while_it_starts_is_sent(chat: ChatScreen) -> None:
    from tests.terminal import at_terminal

    scripted(chat.home, "Already?")
    code = f"""
import select, sys
from mentis.surfaces.cli import chat_loop
opening = chat_loop.open_talk
def slow(*args, **options):
    print("OPENING", flush=True)
    assert select.select([sys.stdin], [], [], 30)[0], "nothing was typed"
    return opening(*args, **options)
chat_loop.open_talk = slow
from mentis.surfaces.cli.main import main
main(["--home", {str(chat.home)!r}, "chat"])
"""
    presses = [("OPENING", "Hello\r"), ("[entry 0", CTRL_D)]
    status, seen = at_terminal(code, cwd=chat.home, environ=os.environ, presses=presses)
    assert status == 0, seen
    assert history(chat.home) == ["Hello", "Already?"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
def test_a_message_that_is_typed_before_the_program_listens_is_sent(chat: ChatScreen) -> None:
    """The terminal makes a line feed of Enter as long as nobody tells it otherwise."""
    from tests.terminal import at_terminal

    scripted(chat.home, "Already?")
    code = f"""
import select, sys
print("STARTING", flush=True)
assert select.select([sys.stdin], [], [], 30)[0], "nothing was typed"
from mentis.surfaces.cli.main import main
main(["--home", {str(chat.home)!r}, "chat"])
"""
    presses = [("STARTING", "Hello\nthere\r"), ("[entry 0", CTRL_D)]
    status, seen = at_terminal(
        code, cwd=chat.home, environ=os.environ, presses=presses, listening=False
    )
    assert status == 0, seen
    assert history(chat.home) == ["Hello\nthere", "Already?"]


def test_what_was_typed_is_there_again_for_the_owner_of_the_home_alone(chat: ChatScreen) -> None:
    assert chat("Hello\r", CTRL_D) == 0
    file = chat.home / "chat-history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert chat(UP, " again\r", CTRL_D) == 0
    assert history(chat.home)[2] == "Hello again"


def test_a_talk_that_goes_on_shows_where_it_was(chat: ChatScreen) -> None:
    scripted(chat.home, "A long answer. " * 20)
    assert chat("Hello\r", CTRL_D) == 0
    assert chat(CTRL_D) == 0
    assert chat.stream.lines[1] == "you: Hello"
    assert chat.stream.lines[2].startswith("Ada: A long answer.")
    assert chat.stream.lines[2].endswith("…")
    assert chat.stream.lines[3:] == ["", "you>"]


def test_the_persona_writes_once_more_above_an_open_prompt(
    chat: ChatScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(chat.home, "One.", "I forgot something. [afterthought_ok]", "And *three*.")
    with (chat.home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[features]\nafterthoughts = true\n[afterthought]\nmode = "frequent"\n')
    monkeypatch.setattr(idle_plan, "PHASES", ((0.0, 0.0), (3600.0, 3600.0)))
    with chat.terminal() as type_text:

        def leave() -> None:
            chat.stream.wait_for("stop: end", after="And three.")
            type_text(f"{CTRL_C}{CTRL_D}")

        leaving = Thread(target=leave)
        type_text("Hello\rhalf a mess")
        leaving.start()
        assert chat.run() == 0
        leaving.join()
    shown = chat.stream.lines
    assert shown.index("Ada: And three.") < shown.index("you> half a mess")


def test_ctrl_c_at_the_prompt_begins_it_anew(chat: ChatScreen) -> None:
    assert chat("not this", CTRL_C, "Hello\r", CTRL_D) == 0
    assert history(chat.home) == ["Hello", "One."]


class EndlessProvider(ScriptedProvider):
    """Says a few words, has Ctrl-C pressed, and goes on for ever."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        async def events() -> AsyncIterator[str]:
            yield json.dumps({"choices": [{"delta": {"content": "Once upon a time"}}]})
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)
            await anyio.sleep_forever()

        yield events()


def test_ctrl_c_ends_the_answer_and_keeps_what_came_of_it(
    chat: ChatScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_loop, "call_parts", lambda: Parts(provider=EndlessProvider()))
    assert chat("Tell me a story\r", "/quit\r") == 0
    assert history(chat.home) == ["Tell me a story", "Once upon a time"]
    assert "Ada: Once upon a time" in chat.stream.lines
    assert "stop: interrupted, the part above is kept]" in chat.stream.everything


def test_one_answer_on_a_terminal_is_drawn_as_those_of_a_conversation(chat: ChatScreen) -> None:
    scripted(chat.home, "It was **one** word. " * 6)
    chat.columns = 40
    with chat.terminal():
        assert chat.run("Hello") == 0
    shown = chat.stream.lines
    assert shown[0] == "Ada: It was one word. It was one word."
    assert max(map(len, shown)) <= 40
    assert any(line.startswith("[entry 0") for line in shown)


# Slash commands


def test_no_slash_command_is_sent_and_an_unknown_one_is_told_with_a_suggestion(
    chat: ChatScreen,
) -> None:
    typed_keys = ["/help\r", "/hlep\r", "/\r", "//shrug\r", "/etc/hosts is a file\r", "/quit\r"]
    assert chat(*typed_keys) == 0
    shown = chat.stream.everything
    assert "there is no command /hlep: did you mean /help?" in shown
    for name in ("help", "retry", "edit", "undo", "swipe", "session", "persona", "route", "why"):
        assert f"\n/{name}" in shown
    assert history(chat.home) == ["/shrug", "One.", "/etc/hosts is a file", "Two."]


def test_a_defect_in_a_slash_command_is_reported_and_the_conversation_goes_on(
    chat: ChatScreen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MENTIS_STATE", str(tmp_path / "state"))

    def broken(_chat: object, name: str, _words: str) -> bool:
        raise ZeroDivisionError(name)

    monkeypatch.setattr(chat_loop, "run_command", broken)
    assert chat("/why\r", "Hello\r", CTRL_D) == 0
    (report,) = (tmp_path / "state").iterdir()
    assert "this is a defect in Mentis: ZeroDivisionError: why" in chat.stream.everything
    assert "command: mentis chat /why" in report.read_text(encoding="utf-8")
    assert history(chat.home) == ["Hello", "One."]


def test_an_answer_is_asked_for_again_gone_back_to_said_anew_and_taken_back(
    chat: ChatScreen,
) -> None:
    keys = ["Hello\r", "/retry\r", "/swipe\r", "/edit\r", " there\r", "/undo\r", "/undo\r"]
    assert chat(*keys, CTRL_D) == 0
    shown = chat.stream.everything
    assert "Ada: Two." in shown
    assert "[answer 1 of 2; this one counts now]" in shown
    assert "taken back, and no longer told: Hello there" in shown
    assert "nothing was said here yet [usage]" in shown
    assert history(chat.home) == [
        "Hello", "One.", "Hello", "Two.", "Hello", "One.", "Hello there", "Three.", ""
    ]  # fmt: skip


def test_a_single_answer_has_no_other_to_go_to(chat: ChatScreen) -> None:
    assert chat("Hello\r", "/swipe\r", CTRL_D) == 0
    assert "the last message has one answer: /retry asks for another" in chat.stream.everything


def test_one_goes_to_another_session_persona_and_route_and_none_is_lost(
    chat: ChatScreen, mentis: Mentis
) -> None:
    mentis("--home", chat.home, "persona", "new", "bob", "--name", "Bob")
    with (chat.home / "mentis.toml").open("a") as file:
        file.write('\n[routes.other]\nreplies = ["From elsewhere."]\n')
    keys = ["Hello\r", "/session evening\r", "Good evening\r", "/session\r", "/persona bob\r"]
    keys += ["Hello Bob\r", "/persona eve\r", "/route other\r", "Who?\r", "/route none\r"]
    assert chat(*keys, CTRL_D, args=("--persona", "ada")) == 0
    shown = chat.stream.everything
    assert "session evening: a new one" in shown
    assert "evening *" in shown
    assert "there is no persona 'eve'" in shown
    assert "there is no route 'none'" in shown
    assert "Bob: From elsewhere." in shown
    assert history(chat.home, "main", "ada") == ["Hello", "One."]
    assert history(chat.home, "evening", "ada") == ["Good evening", "Two."]
    assert history(chat.home, "evening", "bob") == ["Hello Bob", "One.", "Who?", "From elsewhere."]


def test_the_last_turn_is_explained_and_this_session_is_priced(chat: ChatScreen) -> None:
    chat.rows = 60
    keys = ["Hello\r", "/session evening\r", "Hello\r", "/why\r", "/cost\r", "/why 0\r"]
    assert chat(*keys, CTRL_D) == 0
    shown = chat.stream.everything
    first, rest = shown.split("you> /why\n")[1].split("you> /cost\n")
    assert first.startswith("entry 1, turn, session evening")
    assert "constitution" in first
    assert "what it was told" in first
    assert "price" in first
    assert "entry 1, turn, evening" in rest
    assert "entry 0, turn, main" not in rest.split("you> /why 0")[0]


def test_what_it_remembers_is_shown_and_searched(chat: ChatScreen, mentis: Mentis) -> None:
    mentis("--home", chat.home, "memory", "add", "Lena plays the cello.")
    mentis("--home", chat.home, "persona", "files", "memory", "--text", "- Likes tea.")
    assert chat("/memory\r", "/memory cello\r", CTRL_D) == 0
    listed, found = chat.stream.everything.split("you> /memory cello\n")
    assert "- Likes tea." in listed
    assert "1 memory in all" in listed
    assert "Lena plays the cello." in found


def test_a_conversation_is_saved_and_no_file_is_overwritten(
    chat: ChatScreen, tmp_path: Path
) -> None:
    file = tmp_path / "talk.md"
    assert chat("/save\r", "Hello\r", f"/save {file}\r", f"/save {file}\r", CTRL_D) == 0
    assert file.read_text() == "# Ada, main\n\n**You:**\n\nHello\n\n**Ada:**\n\nOne.\n"
    assert "File exists" in chat.stream.everything.replace("\n", "")
    assert chat(f"/save {tmp_path / 'talk.json'}\r", CTRL_D) == 0
    assert [one["role"] for one in json.loads((tmp_path / "talk.json").read_text())] == [
        "user",
        "assistant",
    ]


def test_where_the_output_is_kept_commands_work_and_nothing_is_styled(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "Hello", "/retry", "/nothing", "/quit")
    done = mentis("--home", home, "chat")
    assert (done.code, done.out) == (0, "One.\nTwo.\n")
    assert "there is no command /nothing" in done.err
    assert "\x1b" not in done.out + done.err
