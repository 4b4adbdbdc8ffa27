"""The pictures of the talk in a terminal are what it shows. UPDATE_PICTURES=1 draws them anew."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from tests.rounds import Rounds, calls, says
from tests.surfaces.cli.chat_screen import CTRL_D, ChatScreen

from mentis import Parts, create_home, tool
from mentis.act.functions import as_handler
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.surfaces.cli import chat_loop

GUIDE = Path(__file__).parents[2] / "docs/guides/talk-in-a-terminal.md"
UPDATE = bool(os.environ.get("UPDATE_PICTURES"))
_HASH = re.compile(r"(?<=\[entry \d, )[0-9a-f]{12}")
_FRAME = re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏](?= )")
PLAN = """Three things, and **none** of them takes long:

1. water the *tomatoes*, slowly and at the roots, before the sun stands over the wall
2. cut back the lavender
3. move the pots:

```python
for pot in pots:
    pot.move(shade)
```
"""


def picture(name: str) -> re.Match[str]:
    text = GUIDE.read_text(encoding="utf-8")
    found = re.search(
        rf"(?<=<!-- picture: {name} -->\n```text\n).*?(?=^```\n)", text, re.DOTALL | re.MULTILINE
    )
    assert found is not None, name
    return found


def check_picture(name: str, lines: list[str]) -> None:
    shown = "".join(f"{line}\n" for line in lines)
    shown = _FRAME.sub("⠹", _HASH.sub("3f9a0c1d2e4b", shown))
    found = picture(name)
    if UPDATE:
        text = found.string[: found.start()] + shown + found.string[found.end() :]
        GUIDE.write_text(text, encoding="utf-8")
    else:
        assert shown == found[0], "look at it, then draw it anew with UPDATE_PICTURES=1"


@pytest.fixture
def chat(tmp_path: Path) -> ChatScreen:
    home = create_home(tmp_path / "my-home")
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    route = '[routes]\ndefault = { url = "http://127.0.0.1:9/v1", model = "llama3.2" }\n'
    (home / "mentis.toml").write_text(toml.replace("[routes]\n", route, 1), encoding="utf-8")
    return ChatScreen(home)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def play(*rounds: list[object], weather: Callable[[str], str] | None = None) -> None:
        @tool(name="weather")
        def told(city: str) -> str:
            """The weather of a city."""
            return weather(city) if weather else f"17 degrees in {city}, light rain"

        parts = Parts(
            provider=Rounds(*rounds),
            handlers=(as_handler(told),),
            clock=FixedClock(),
            ids=CountingIds(),
        )
        monkeypatch.setattr(chat_loop, "call_parts", lambda: parts)

    return play


def test_a_talk_looks_as_in_the_guide(chat: ChatScreen, play: Callable[..., None]) -> None:
    asked = [*says("Let me look. "), *calls(("c1", "weather", {"city": "Bonn"}))]
    play(says(PLAN), asked, says("It rains a little: **leave the tomatoes**, they get enough."))
    assert chat("What shall I do in the garden?\r", "Will it rain?\r", CTRL_D) == 0
    check_picture("talk", chat.stream.lines)


def test_a_step_that_runs_looks_as_in_the_guide(
    chat: ChatScreen, play: Callable[..., None]
) -> None:
    seen: list[list[str]] = []

    def weather(city: str) -> str:
        chat.stream.wait_for("calling weather")
        seen.append(chat.stream.lines)
        return f"17 degrees in {city}"

    play([*calls(("c1", "weather", {"city": "Bonn"}))], says("Mild."), weather=weather)
    assert chat("Will it rain?\r", CTRL_D) == 0
    check_picture("running", seen[0][2:])


def test_the_commands_look_as_in_the_guide(chat: ChatScreen, play: Callable[..., None]) -> None:
    play()
    seen: list[list[str]] = []
    with chat.terminal() as type_text:

        def look() -> None:
            chat.stream.wait_for("/session")
            seen.append(chat.stream.lines)
            type_text("\x15\x04")

        looking = Thread(target=look)
        type_text("/s")
        looking.start()
        assert chat.run() == 0
        looking.join()
    check_picture("commands", seen[0][2:])


def test_help_and_a_slip_look_as_in_the_guide(chat: ChatScreen, play: Callable[..., None]) -> None:
    play()
    assert chat("/hepl\r", "/help\r", CTRL_D) == 0
    check_picture("help", chat.stream.lines[2:])


def test_what_the_model_was_told_looks_as_in_the_guide(
    chat: ChatScreen, play: Callable[..., None]
) -> None:
    play(says("Good morning! Did you sleep well?"))
    chat.rows = 60
    assert chat("Good morning!\r", "/why\r", CTRL_D) == 0
    lines = chat.stream.lines
    check_picture("why", lines[lines.index("you> /why") :])


def test_the_bill_looks_as_in_the_guide(chat: ChatScreen, play: Callable[..., None]) -> None:
    play(says("Good morning! Did you sleep well?"))
    chat.columns, chat.rows = 120, 40
    assert chat("Good morning!\r", "/cost\r", CTRL_D) == 0
    check_picture("cost", chat.stream.lines[2:])
