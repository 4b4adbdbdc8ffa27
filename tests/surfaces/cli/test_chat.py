from __future__ import annotations

import io
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.app.agent import Agent
from mentis.engines.weights import find_weights
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.net.recording import Exchange, to_file
from mentis.record.verify_home import verify_home
from mentis.surfaces.cli import talk
from mentis.surfaces.cli.chat import ChatChoice, chat
from mentis.values.digest import digest

from .conftest import SCRIPT, Done, Mentis

Start = Callable[..., subprocess.Popen[str]]


def history(home: Path) -> list[tuple[str, str]]:
    agent = Agent.open(home, parts=Parts(environ={}))
    try:
        return [(turn.text, turn.state) for turn in agent.history()]
    finally:
        agent.close()


def test_one_turn_prints_the_answer_and_its_entry(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "chat", "Good", "morning!")
    assert (done.code, done.out) == (0, "One.\n")
    assert done.err.startswith("[entry 0, ")
    assert history(home) == [("Good morning!", "complete"), ("One.", "complete")]


def test_options_are_set_for_one_turn_and_what_is_not_sent_is_said(
    mentis: Mentis, home: Path
) -> None:
    options = ("--set", "top_p=0.5", "--set", "stop=END", "--set", "reasoning_budget=2048")
    done = mentis("--home", home, "chat", "Hello", *options)
    assert done.code == 0
    assert "not sent: the format openai-chat has no reasoning_budget [option]" in done.err
    shown = mentis("--home", home, "render", "Hello", *options, "--set", "body.metadata.a=1")
    payload = shown.json()
    assert (payload["top_p"], payload["stop"], payload["metadata.a"]) == (0.5, ["END"], 1)


@pytest.mark.parametrize("given", ["top_p", "top_p=7", "tpo_p=1", "headers.Authorization=x"])
def test_an_option_that_is_none_is_refused_before_the_turn(
    mentis: Mentis, home: Path, given: str
) -> None:
    done = mentis("--home", home, "chat", "Hello", "--set", given)
    assert done.code != 0
    assert "--set" in done.err
    assert history(home) == []


def test_a_server_that_keeps_everything_waiting_is_named(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"{sys.executable} -S -E -c 'import sys; sys.stdin.read()'"
    assert mentis("--home", home, "tools", "add", "slow", "--command", command).code == 0
    said = list[str]()
    with talk.open_talk(home) as talking:

        def say(text: str) -> None:
            said.append(text)
            talking.agent.interrupt()

        monkeypatch.setattr(talk, "PATIENCE", 0.01)
        monkeypatch.setattr(talk, "say", say)
        result = talking.ask("Good morning!", session="main")
    assert said == ["connecting to slow ..."]
    assert result.reply.stop == "interrupted"


def test_the_json_form_has_text_stop_and_entry(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "chat", "Hi", "--json").json()
    assert (done["text"], done["stop"], done["session"]) == ("One.", "end", "main")


WEATHER = '{"type": "object", "properties": {"degrees": {"type": "integer"}}}'


def scripted(home: Path, *replies: str) -> None:
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    written = toml.replace('["One.", "Two.", "Three."]', json.dumps(replies))
    assert written != toml
    (home / "mentis.toml").write_text(written, encoding="utf-8")


def test_an_answer_in_the_form_of_a_schema_is_printed_as_an_object(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "weather.json").write_text(WEATHER, encoding="utf-8")
    scripted(home, '{"degrees": 17}')
    given = ("--schema", tmp_path / "weather.json")
    done = mentis("--home", home, "chat", "How warm?", *given, "--json")
    assert (done.code, done.json()["output"]) == (0, {"degrees": 17})


def test_an_answer_that_is_not_in_its_form_fails_and_says_why_in_a_line(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "weather.json").write_text(WEATHER, encoding="utf-8")
    scripted(home, "warm", "very warm", "hot")
    given = ("--schema", tmp_path / "weather.json")
    done = mentis("--home", home, "chat", "How warm?", *given)
    assert done.code == 1
    assert "not in the form that was asked for" in done.err
    assert "[output-invalid]" in done.err


@pytest.mark.parametrize("written", ["{", "[1]", '{"type": 3}'])
def test_a_file_that_holds_no_schema_is_refused_before_anybody_is_asked(
    mentis: Mentis, home: Path, tmp_path: Path, written: str
) -> None:
    (tmp_path / "weather.json").write_text(written, encoding="utf-8")
    done = mentis("--home", home, "chat", "How warm?", "--schema", tmp_path / "weather.json")
    assert done.code != 0
    assert "[bad-input]" in done.err
    assert history(home) == []


def test_a_message_on_standard_input_is_taken(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("From a pipe.\n"))
    assert mentis("--home", home, "chat").out == "One.\n"
    assert history(home)[0][0] == "From a pipe.\n"


def test_nothing_to_say_is_an_error(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "chat")
    assert done.code == 1
    assert "[bad-input]" in done.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str | type[BaseException]) -> None:
    """Somebody at a terminal types these lines; an exception is a key pressed at the prompt."""
    waiting = iter(lines)

    def read(_prompt: str) -> str:
        line = next(waiting)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", read)


def test_on_a_terminal_the_conversation_goes_on_until_the_end_of_input(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "First", "   ", KeyboardInterrupt, "Second", EOFError)
    done = mentis("--home", home, "chat")
    assert (done.code, done.out) == (0, "One.\nTwo.\n")
    assert "home/ada" in done.err


def test_a_persona_with_a_greeting_begins_a_new_conversation_and_no_other(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mentis("--home", home, "persona", "new", "bob", "--set", "greeting=Ahoy.")
    for words in ("Ahoy.\nOne.\n", "One.\n"):
        typed(monkeypatch, "Hello", EOFError)
        assert mentis("--home", home, "chat", "--persona", "bob").out == words
    told: Any = mentis("--home", home, "render", "So?", "--persona", "bob").json()
    assert next(one["content"] for one in told["messages"] if one["role"] == "assistant") == "Ahoy."


def test_a_turn_that_fails_does_not_end_the_conversation(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "1", "2", "3", "one too many", "/quit")
    done = mentis("--home", home, "chat")
    assert done.code == 0
    assert "number 4 was asked for" in done.err


def test_a_word_ends_the_conversation_too(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "/quit")
    assert mentis("--home", home, "chat").code == 0
    assert history(home) == []


def test_two_processes_on_one_home_leave_one_whole_chain(
    home: Path, process: Start, tmp_path: Path
) -> None:
    started = [process("--home", home, "chat", "Hi", "--session", name) for name in ("a", "b")]
    for one in started:
        out, err = one.communicate(timeout=60)
        assert (one.returncode, out) == (0, "One.\n"), err
    (verdict,) = verify_home(home)
    assert (verdict.intact, verdict.entries) == (True, 2)


def test_a_locked_database_is_named_and_nothing_is_lost(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_STORE__BUSY_SECONDS", "0")
    with closing(sqlite3.connect(home / "mentis.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        done = mentis("--home", home, "chat", "Hi")
        other.execute("ROLLBACK")
    assert done.code == 1
    assert "[store-locked]" in done.err
    assert "store.busy_seconds" in done.err
    assert mentis("--home", home, "chat", "Hi").code == 0


def test_a_home_of_a_newer_version_is_refused(mentis: Mentis, home: Path) -> None:
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 999")
    assert "[store-too-new]" in mentis("--home", home, "chat", "Hi").err
    (home / "mentis.toml").write_text("format = 999\nsomething_new = 1\n")
    assert "[home-too-new]" in mentis("--home", home, "chat", "Hi").err


def test_a_home_that_is_a_file_is_named(mentis: Mentis, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = mentis("--home", tmp_path / "file", "chat", "Hi")
    assert done.code == 1
    assert "this is a file" in done.err


def test_a_missing_extra_says_how_to_get_it(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = create_home(tmp_path / "home")
    weights = tmp_path / "model.gguf"
    weights.write_bytes(b"GGUF and nothing else")
    monkeypatch.setenv("MENTIS_ROUTES__DEFAULT__MODEL", str(weights))
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    done = mentis("--home", home, "chat", "Hi")
    assert done.code == 1
    assert "[engine-missing]" in done.err
    assert "pip install 'mentis[embedded]'" in done.err


def test_missing_weights_say_how_to_get_them(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = create_home(tmp_path / "home")
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    done = mentis("--home", home, "chat", "Hi")
    assert done.code == 1
    assert "[weights-missing]" in done.err
    assert "mentis models install" in done.err


@contextmanager
def mounted(folder: Path, options: str) -> Generator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def write_script(home: Path) -> None:
    toml = (home / "mentis.toml").read_text()
    (home / "mentis.toml").write_text(toml.replace("[routes]", SCRIPT))


def test_a_full_disk_is_named_and_the_record_stays_whole(mentis: Mentis, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=800k") as small:
        home = create_home(small / "home")
        write_script(home)
        assert mentis("--home", home, "chat", "Hi").code == 0
        subprocess.run(["dd", "if=/dev/zero", f"of={small}/filler"], check=False)
        done = mentis("--home", home, "chat", "long " * 4000)
        assert done.code == 1
        assert "[store-full]" in done.err
        assert mentis("init", small / "second").code == 1
        (small / "filler").unlink()
        assert mentis("--home", home, "status", "verify").code == 0
        assert mentis("--home", home, "chat", "Hi").code == 0


def test_a_read_only_home_is_named_before_the_model_is_called(
    mentis: Mentis, tmp_path: Path
) -> None:
    with mounted(tmp_path / "fixed", "size=4m") as fixed:
        home = create_home(fixed / "home")
        write_script(home)
        assert mentis("--home", home, "chat", "Hi").code == 0
        subprocess.run(["mount", "-o", "remount,ro", str(fixed)], check=True)
        done = mentis("--home", home, "chat", "Hi")
        assert done.code == 1
        assert "[home-unwritable]" in done.err
        assert done.out == ""
        assert mentis("--home", home, "status", "verify").code == 0


@pytest.mark.model
def test_ctrl_c_during_the_answer_keeps_the_part_and_marks_it(
    tmp_path: Path, process: Start
) -> None:
    find_weights("smollm2-135m")
    home = create_home(tmp_path / "home")
    talking = process(
        "--home",
        home,
        "chat",
        "Tell me a very long story about the sea.",
        MENTIS_ROUTES__DEFAULT__MAX_TOKENS="2000",
    )
    assert talking.stdout is not None
    assert talking.stderr is not None
    with talking, talking.stdout, talking.stderr:
        first = talking.stdout.read(12)
        talking.send_signal(signal.SIGINT)
        rest, err = talking.stdout.read(), talking.stderr.read()
    assert talking.returncode == 130, err
    assert "the part above is kept" in err
    asked, answered = history(home)
    assert asked[1] == "complete"
    assert answered == ((first + rest).rstrip("\n"), "interrupted")
    (verdict,) = verify_home(home)
    assert (verdict.intact, verdict.entries) == (True, 1)


PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 20


def request_of(done: Done) -> dict[str, Any]:
    return cast("dict[str, Any]", done.json()["request"])


def test_a_file_and_the_message_it_answers_go_along(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.txt").write_text("the words inside")
    given = ("--attach", tmp_path / "a.png", "--attach", tmp_path / "b.txt", "--reply-to", "Which?")
    rendered = mentis("render", "See", *given, "--home", home)
    assert "> Which?" in rendered.out
    assert "the words inside" in rendered.out
    request = request_of(mentis("compose", "See", *given, "--json", "--home", home))
    assert [part["name"] for part in request["attachments"]] == ["a.png", "b.txt"]
    assert mentis("call", "--message", "See", *given, "--home", home).out == "One.\n"
    done = mentis("chat", "See", *given, "--json", "--home", home)
    assert (done.code, done.json()["model_calls"]) == (0, 1)
    later = request_of(mentis("compose", "And now?", "--json", "--home", home))
    kinds = [part["kind"] for part in later["conversation_history"][0]["parts"]]
    assert kinds == ["image", "document", "text"]


def test_a_file_that_is_not_there_is_named_and_nothing_is_recorded(
    mentis: Mentis, home: Path
) -> None:
    done = mentis("chat", "See", "--attach", "missing.png", "--home", home)
    assert done.code == 1
    assert "missing.png cannot be read" in done.err
    assert mentis("status", "verify", "--json", "--home", home).json()["chains"] == []


def test_an_answer_given_once_more_is_told_from_a_live_one(
    mentis: Mentis, home: Path, log: str
) -> None:
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    (home / "mentis.toml").write_text(f"{toml}\n[fallback]\nrepeat_seconds = 600\n")
    assert mentis("chat", "Hello?", "--home", home).out == "One.\n"
    closed = 'default = { url = "http://127.0.0.1:9/v1", model = "m", attempts = 1 }'
    (home / "mentis.toml").write_text(
        f"[routes]\n{closed}\n[fallback]\nrepeat_seconds = 600\n{log}", encoding="utf-8"
    )
    done = mentis("chat", "Hello?", "--home", home)
    assert (done.code, done.out) == (0, "One.\n")
    assert "nobody answered: this is the answer of entry 0, once more" in done.err
    assert "stop: repeated" in done.err
    assert mentis("chat", "Hello?", "--json", "--home", home).json()["repeats"] == 0


def test_an_error_in_the_middle_of_an_answer_starts_on_its_own_line(
    mentis: Mentis, home: Path, log: str
) -> None:
    said = b'data: {"choices":[{"delta":{"content":"hey"}}]}\n\n'
    headers = {"content-type": "text/event-stream"}
    broken = Exchange("openai", "m", "", digest(b""), b"", 200, said, headers, whole=False)
    (home / "tape").mkdir()
    (home / "tape" / "000001-x.json").write_bytes(to_file(broken))
    toml = '[routes.default]\nfolder = "tape"\nmatch = "order"\n'
    (home / "mentis.toml").write_text(toml + log, encoding="utf-8")
    done = mentis("chat", "Hello", "--home", home)
    assert (done.code, done.out) == (1, "hey\n")
    assert "breaks off" in done.err


def test_every_option_of_chat_is_a_field_of_one_value() -> None:
    exposed = {option.name for option in chat.params if option.expose_value}
    assert exposed == {one.name for one in fields(ChatChoice)}
