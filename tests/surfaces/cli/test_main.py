from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mentis.errors import UsageError
from mentis.surfaces.cli import main as cli_main
from mentis.surfaces.cli.main import COMMANDS, cli, run
from mentis.surfaces.cli.output import emit, say, show_error

from .conftest import Mentis


def walk(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return [(" ".join(path), command)]
    context = click.Context(command)
    found: list[tuple[str, click.Command]] = []
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        found += walk(inner, (*path, name))
    return found


LEAVES = walk(cli)
GROUPS = sorted({path.rpartition(" ")[0] for path, _ in LEAVES if " " in path})


def crash(*_: object, **__: object) -> None:
    raise ZeroDivisionError("the secret is hunter2222")


def test_help_lists_every_command_with_the_words_of_the_command_itself(mentis: Mentis) -> None:
    done = mentis("--help")
    assert done.code == 0
    context = click.Context(cli)
    for name, (_, text) in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=200) == text
        assert f"  {name} " in done.out


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_every_command_has_help_and_a_json_form(
    path: str, command: click.Command, mentis: Mentis
) -> None:
    done = mentis(*path.split(), "--help")
    assert done.code == 0
    assert done.out.startswith("Usage: mentis")
    options = {opt for parameter in command.params for opt in parameter.opts}
    assert "--json" in options or path == "completion", "a script is its own format"


@pytest.mark.parametrize("path", GROUPS)
def test_no_line_of_help_is_cut_on_a_small_terminal(
    path: str, mentis: Mentis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = mentis(*path.split(), "--help").out
    listed = shown.partition("Commands:")[2]
    assert "..." not in listed
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_no_command_shows_a_first_screen_that_fits_a_small_terminal(mentis: Mentis) -> None:
    done = mentis()
    assert done.code == 2
    lines = done.err.splitlines()
    assert len(lines) < 24, "the next prompt is still in sight"
    assert all(len(line) <= 80 for line in lines)
    assert lines[2:9] == ["Start here:", *lines[3:9]]
    six = ["init", "chat", "studio", "why", "cost", "verify"]
    assert [line.split()[0] for line in lines[3:9]] == six
    for name in COMMANDS:
        assert re.search(rf"\b{name}\b", done.err), name


def test_help_is_grouped_and_what_a_newcomer_needs_comes_first(mentis: Mentis) -> None:
    titles = [line[:-1] for line in mentis("--help").out.splitlines() if line[:1].isupper()]
    assert titles[1:] == [
        *("Options", "Start here", "Talk", "Prompts and personas", "Memory", "Tools"),
        *("The record", "Living", "In and out", "Setup", "For developers"),
    ]


@pytest.mark.parametrize(
    ("short", "old"), [("verify", "status verify"), ("export", "ledger export")]
)
def test_what_is_used_every_day_stands_at_the_top_and_its_old_name_still_works(
    mentis: Mentis, short: str, old: str
) -> None:
    now, before = mentis(short, "--help").out, mentis(*old.split(), "--help").out
    assert now.splitlines()[1:] == before.splitlines()[1:]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["chta"], "Did you mean 'chat'?"),
        (["zzzz"], "No such command 'zzzz'."),
        (["chat", "--nope"], "No such option"),
        (["status", "verfy"], "No such command 'verfy'"),
        (["render", "--provider", "smoke"], "'smoke' is not"),
        (["completion", "tcsh"], "'tcsh' is not"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_was_wrong(
    mentis: Mentis, args: list[str], said: str
) -> None:
    done = mentis(*args)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_an_error_is_one_line_a_code_and_a_hint_on_stderr(mentis: Mentis, tmp_path: Path) -> None:
    done = mentis("--home", tmp_path / "nowhere", "chat", "hi")
    assert done.code == 1
    assert done.out == ""
    first, hint = done.err.splitlines()
    assert first == f"mentis: {tmp_path}/nowhere: there is no home here [home-missing]"
    assert hint == f"hint: make one with: mentis init {tmp_path}/nowhere"


def test_with_json_an_error_is_a_json_problem(mentis: Mentis, tmp_path: Path) -> None:
    done = mentis("--home", tmp_path / "nowhere", "chat", "hi", "--json")
    problem = json.loads(done.err)["error"]
    assert done.code == 1
    assert problem["code"] == "home-missing"
    assert problem["facts"] == {"path": str(tmp_path / "nowhere")}


@pytest.mark.parametrize(
    ("command", "said"),
    [("chat --nope", "No such option"), ("replay", "ENTRY"), ("prompts import x.zip", "x.zip")],
)
def test_with_json_wrong_usage_is_a_json_problem_too(
    mentis: Mentis, command: str, said: str
) -> None:
    done = mentis(*command.split(), "--json")
    problem = json.loads(done.err)["error"]
    assert (done.code, done.out, problem["code"]) == (2, "", "usage")
    assert said in problem["message"]


def test_the_home_may_be_named_before_or_after_the_command_or_in_the_environment(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = mentis("--home", home, "settings", "--json")
    after = mentis("settings", "--home", home, "--json")
    monkeypatch.setenv("MENTIS_HOME", str(home))
    variable = mentis("settings", "--json")
    assert before.out == after.out == variable.out
    assert before.json()["home"] == str(home)


def test_a_crash_prints_a_short_report_and_where_the_full_one_is(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_main.cli, "main", crash)
    monkeypatch.setenv("MENTIS_STATE", str(tmp_path))
    monkeypatch.setenv("SOME_API_KEY", "hunter2222")
    done = mentis("version")
    assert done.code == 1
    (report,) = tmp_path.glob("crash-*.txt")
    assert str(report) in done.err
    text = report.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "command: mentis version" in text
    assert "hunter2222" not in text


def test_a_crash_is_reported_even_where_the_state_folder_cannot_be_had(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MENTIS_STATE", str(tmp_path / "file"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(cli_main.cli, "main", crash)
    assert mentis("version").code == 1
    assert list(tmp_path.glob("crash-*.txt"))


def test_debug_shows_the_traceback(mentis: Mentis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_main.cli, "main", crash)
    with pytest.raises(ZeroDivisionError):
        mentis("--debug", "version")


INTERRUPTS = [KeyboardInterrupt(), BaseExceptionGroup("tasks", [KeyboardInterrupt()])]


@pytest.mark.parametrize("options", [(), ("--debug",)])
@pytest.mark.parametrize("error", INTERRUPTS, ids=lambda error: type(error).__name__)
def test_ctrl_c_is_no_verdict_and_exits_with_130(
    mentis: Mentis,
    monkeypatch: pytest.MonkeyPatch,
    *,
    error: BaseException,
    options: tuple[str, ...],
) -> None:
    """Exit code 1 of `status verify` would say that the record is broken."""

    def interrupt(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("mentis.record.verify_home.verify_home", interrupt)
    done = mentis(*options, "status", "verify")
    assert (done.code, done.out, done.err.strip()) == (130, "", "stopped")


def test_a_question_that_nobody_answers_is_no_ctrl_c(
    mentis: Mentis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: object, **__: object) -> None:
        raise EOFError

    monkeypatch.setattr("mentis.record.verify_home.verify_home", end)
    assert mentis("status", "verify").code == 1


# Loaded before anything of ours: presses Ctrl-C when this module is about to be loaded.
PRESS = """
import sys
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            exec("raise KeyboardInterrupt")
sys.meta_path.insert(0, Press())
"""


@pytest.mark.parametrize("name", ["click", "mentis.surfaces.cli.version"])
def test_ctrl_c_while_it_is_being_loaded_leaves_no_traceback(tmp_path: Path, name: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(PRESS.format(name=name), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mentis", "version"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "stopped")


HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    "command",
    [
        ("status", "latest", "--count", HUGE),
        ("ledger", "show", "--last", HUGE),
        ("replay", HUGE),
        ("fork", HUGE, "--block", "style=style.md"),
        ("state", "diff", HUGE),
        ("state", "history", "--last", HUGE),
        ("state", "undo", "--to", HUGE),
    ],
    ids=" ".join,
)
def test_a_number_that_no_database_counts_to_is_wrong_usage(
    mentis: Mentis, command: tuple[str, ...]
) -> None:
    done = mentis(*command)
    assert done.code == 2
    assert f"{HUGE} is not in the range" in done.err


@pytest.mark.parametrize("command", ["settings", "render --json", "version"])
def test_a_reader_that_goes_away_is_no_failure(home: Path, command: str) -> None:
    line = f"{sys.executable} -m mentis --home {home} {command} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert done.stderr.count("Traceback") + done.stderr.count("Exception ignored") == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_defect(home: Path, closed: str) -> None:
    line = f"{sys.executable} -m mentis --home {home} chat hi {closed}; echo $?"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert "defect" not in done.stderr


def test_a_full_output_device_is_named(home: Path) -> None:
    line = f"{sys.executable} -m mentis --home {home} settings > /dev/full"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "defect" not in done.stderr


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_what_the_encoding_cannot_say_is_written_as_its_escape(
    home: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    said = "x \u2603 \U0001f600"
    monkeypatch.setenv("MENTIS_ROUTES__DEFAULT__REPLIES", json.dumps([said]))
    shown: list[bytes] = []
    for command in ("chat hi", "sessions show main", "sessions show main --json"):
        raw = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding=encoding))
        assert run(["--home", str(home), *command.split()]) == 0, command
        shown.append(raw.getvalue())
    answer, table, as_json = shown
    assert answer.strip() in (said.encode(), rb"x \u2603 \U0001f600")  # click makes UTF-8 of ASCII
    assert rb"\u2603" in table or said.encode() in table
    assert json.loads(as_json)[-1]["parts"][0]["text"] == said


def test_what_would_steer_a_terminal_is_shown_instead(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    emit("plain \x1b[2J")
    assert capsys.readouterr().out == "plain \x1b[2J\n", "a file gets the text as it is"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    emit("a\tb\x1b]0;mine\x07")
    assert capsys.readouterr().out == "a\tb\\x1b]0;mine\\x07\n"


def test_talk_shows_a_terminal_what_would_steer_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say("skill a\x1b[2J\tb")
    show_error(UsageError("no \x1b]0;mine\x07", hint="\x9b2J"))
    assert run(["\x1b[2J"]) == 2
    told = capsys.readouterr().err
    assert "skill a\\x1b[2J\tb\n" in told
    assert "no \\x1b]0;mine\\x07" in told
    assert "hint: \\x9b2J" in told
    assert not {"\x1b", "\x07", "\x9b"} & set(told)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(mentis: Mentis, shell: str) -> None:
    done = mentis("completion", shell)
    assert done.code == 0
    assert "_MENTIS_COMPLETE" in done.out


def test_completion_knows_the_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mentis"],
        env={
            "_MENTIS_COMPLETE": "bash_complete",
            "COMP_WORDS": "mentis c",
            "COMP_CWORD": "1",
            "PATH": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert {line.partition(",")[2] for line in done.stdout.split()} == {
        "call",
        "channels",
        "chat",
        "compare",
        "compose",
        "cost",
        "completion",
    }


def test_the_version_is_printed(mentis: Mentis) -> None:
    assert mentis("version").out.startswith("mentis ")
    assert set(mentis("version", "--json").json()) == {"mentis", "python"}
    assert mentis("--version").code == 0
