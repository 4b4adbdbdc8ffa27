"""An answer on a screen: what is finished stays, the rest is drawn again, a line says what runs."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from mentis.home.events import MODEL_ASKED, Event
from mentis.surfaces.cli.answer_screen import AnswerAside, AnswerScreen, RunningStep
from mentis.surfaces.cli.chat_prompt import SlashCompleter
from mentis.surfaces.cli.chat_terminal import WordChoice
from mentis.surfaces.cli.live_region import LiveRegion
from mentis.surfaces.cli.markdown_stream import MarkdownStream, markdown_lines, with_name
from mentis.values.reply import (
    AgainDelta,
    CallDelta,
    Delta,
    EndDelta,
    ReasoningDelta,
    ResultDelta,
    StepDelta,
    TextDelta,
)

from .chat_screen import ScreenStream

STYLE = re.compile(r"\x1b\[[0-9;]*m")
TEXT = """# Plan

Some *words*, and more of them
in a second line.

- one
- two
  - inside

3. three
4. four

| a | b |
|---|---|
| 1 | 2 |

```python
x = 1

y = 2
```

> quoted

End."""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


# Markdown


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, len(TEXT) - 1), max_size=40))
def test_markdown_in_any_pieces_is_handed_over_whole_and_looks_the_same(cuts: list[int]) -> None:
    stream, places = MarkdownStream(), sorted({0, *cuts, len(TEXT)})
    told, lines = "", list[str]()
    for begin, end in pairwise(places):
        stream.add(TEXT[begin:end])
        piece = stream.take_finished()
        pieces = [piece] if piece is not None else []
        pieces += [stream.take_rest()] if end == len(TEXT) else []
        for one in pieces:
            told += one.text
            lines += [*([] if one.goes_on or not lines else [""]), *markdown_lines(one.text, 80)]
    assert told == TEXT
    assert lines == markdown_lines(TEXT, 80)


def test_a_name_stands_before_plain_words_and_above_everything_else() -> None:
    def shown(text: str) -> list[str]:
        return [STYLE.sub("", line) for line in markdown_lines(with_name("A*da", text), 80)]

    assert shown("Good *morning*") == ["A*da: Good morning"]
    assert shown("- one\n- two") == ["A*da:", "", " • one", " • two"]


def test_one_empty_line_stands_before_a_table_and_after_it() -> None:
    shown = markdown_lines("Water:\n\n| plant | litres |\n|---|---|\n| basil | 1 |\n\nDone.", 40)
    assert [STYLE.sub("", line).rstrip() for line in shown] == [
        "Water:",
        "",
        "plant  litres",
        "─────────────",
        "basil  1",
        "",
        "Done.",
    ]


# The screen


def test_what_was_drawn_is_drawn_again_in_place_and_folded_lines_are_counted() -> None:
    stream, size = ScreenStream(20, 6), [20, 6]
    region = LiveRegion(stream, lambda: (size[0], size[1]))
    region.draw(["one", "two"])
    region.print(["stays"])
    region.draw(["three"])
    assert stream.lines == ["stays", "three"]
    with region.set_aside():
        stream.write("said\n")
    assert stream.lines == ["stays", "said", "three"]
    region.draw([str(number) for number in range(10)])
    assert stream.lines == ["stays", "said", "6", "7", "8", "9"], "the newest of what does not fit"
    region.draw(())
    assert stream.lines == ["stays", "said"]


def test_a_terminal_made_narrower_is_cleared_of_what_it_folded() -> None:
    stream, columns = ScreenStream(20, 6), [20]
    region = LiveRegion(stream, lambda: (columns[0], 6))
    region.draw(["fifteen letters"])
    columns[0] = 10
    before = len(stream.raw)
    region.draw(["short"])
    assert stream.raw[before:].startswith("\r\x1b[1A\x1b[J"), "up over the row it was folded into"


def screen(stream: ScreenStream, clock: Clock) -> AnswerScreen:
    size = stream.screen.columns, stream.screen.lines
    return AnswerScreen("Ada", LiveRegion(stream, lambda: size), RunningStep(clock))


def test_the_step_that_runs_is_told_until_words_come() -> None:
    clock = Clock()
    step = RunningStep(clock)
    step.begin("reading memory")
    steps: list[Event | Delta] = [
        Event(MODEL_ASKED, {"route": "default", "model": "m-1"}),
        ReasoningDelta("hm"),
        CallDelta(0, "weather"),
        CallDelta(0, "", '{"city"'),
        ResultDelta("weather", "done"),
        StepDelta(2),
        AgainDelta(("it",), keeps=False),
        TextDelta("It"),
    ]
    told = [step.text]
    for one in steps:
        step.hear(one) if isinstance(one, Event) else step.follow(one)
        told.append(step.text)
    assert told == [
        "reading memory",
        "asking m-1",
        "thinking",
        "calling weather",
        "calling weather",
        "reading what came of it",
        "reading what came of it",
        "asking again",
        "",
    ]
    step.begin("thinking")
    assert step.line() == "⠋ thinking ..."
    clock.now += 12.3
    assert step.line(plain=True) == "\\ thinking ... 12 s"


def test_words_are_drawn_while_they_come_and_calls_stand_between_them() -> None:
    stream, clock = ScreenStream(40, 12), Clock()
    answer = screen(stream, clock)
    answer(TextDelta("First.\n\nLet me **lo"))
    answer.draw()
    assert stream.lines == ["Ada: First.", "", "Let me **lo"]
    answer(TextDelta("ok**."))
    answer.draw()
    assert stream.lines == ["Ada: First.", "", "Let me look."]
    answer(CallDelta(0, "weather", '{"city": "Bonn"}'))
    answer.draw()
    assert stream.lines[3:] == ['  -> weather(city="Bonn")', "⠋ calling weather ..."]
    answer(ResultDelta("weather", "done", "17 degrees", key="k"))
    answer(StepDelta(2))
    answer(TextDelta("Warm."))
    answer(EndDelta("end"))
    answer.draw()
    assert stream.lines[3:] == [
        '  -> weather(city="Bonn")',
        "  <- weather: done 17 degrees",
        "",
        "Warm.",
    ]
    assert answer.keys == {"k"}


def test_an_answer_beside_the_prompt_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    printed = AnswerAside("Ada", lambda: 40)
    for delta in (TextDelta("I forgot "), TextDelta("*something*."), EndDelta("end")):
        printed(delta)
    assert capsys.readouterr().out == "Ada: I forgot something.\n"


# Completion


def completions(text: str) -> list[str]:
    words = WordChoice(
        {"session": "go to one", "save": "keep it"},
        lambda name: ("evening", "main") if name == "session" else (),
    )
    found = SlashCompleter(words).get_completions(Document(text), CompleteEvent())
    return [one.text for one in found]


def test_commands_and_the_names_behind_them_are_completed_and_messages_are_not() -> None:
    assert completions("/s") == ["/session", "/save"]
    assert completions("/session e") == ["evening"]
    assert completions("/save e") == []
    assert completions("and/or s") == []
    assert completions("/s\nmore") == []
