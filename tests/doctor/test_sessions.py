"""Sessions of Claude Code and Codex: what they cost, what broke, and why."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.doctor.calls import LogPlace
from mentis.doctor.diagnosis import diagnose
from mentis.doctor.lines import LogFile
from mentis.doctor.places import find_usual_logs
from mentis.doctor.report import DoctorReport
from mentis.doctor.report_data import saved_since
from mentis.errors import BadInput

from .logs import BEGIN, HAIKU, ClaudeSession, CodexSession, long_session, write_lines


def causes(report: DoctorReport) -> dict[str, tuple[int, int]]:
    return {one.cause: (one.count, one.tokens) for one in report.breaks}


def test_an_answer_on_several_lines_is_one_call_and_its_last_count_holds(tmp_path: Path) -> None:
    made = ClaudeSession()
    made.answer(1000, out=300, copies=3)
    made.answer(1000, out=10)
    made.write(tmp_path)
    total = diagnose([tmp_path]).total
    assert (total.calls, total.usage.output) == (2, 310)
    assert total.usage.input == 21_000 + 22_000
    assert total.usage.cache_read == 20_997


def test_a_session_that_was_resumed_into_another_file_counts_once(tmp_path: Path) -> None:
    made = ClaudeSession()
    made.answer(1000)
    first = diagnose([made.write(tmp_path)]).total
    made.answer(500)
    copied = write_lines(tmp_path / "-home-u-shop" / "resumed.jsonl", made.lines)
    report = diagnose([tmp_path, copied])
    assert (report.total.calls, report.repeated) == (2, 1)
    assert report.total.usage.input > first.usage.input
    assert not report.breaks


def test_each_break_has_the_cause_that_the_log_tells(tmp_path: Path) -> None:
    made = ClaudeSession()
    made.answer(5000)
    made.clock += 1000
    made.answer(100, found=0)  # after more than five minutes
    made.model = HAIKU
    made.answer(100, found=0)
    made.compact(30_000)
    made.answer(100)
    made.say("<command-name>/mcp</command-name>")
    made.answer(100, found=0)
    made.version = "2.1.301"
    made.answer(100, found=0)
    made.answer(100, found=9000)
    made.write(tmp_path)
    assert causes(diagnose([tmp_path])) == {
        "idle": (1, 24_997),
        "model": (1, 25_097),
        "compacted": (1, 5197),
        "tools": (1, 30_097),
        "upgrade": (1, 30_197),
        "unknown": (1, 21_297),
    }


def test_a_cache_that_is_kept_for_an_hour_is_not_over_after_ten_minutes(tmp_path: Path) -> None:
    made = ClaudeSession(hour=True)
    made.answer(5000)
    made.clock += 600
    made.answer(100, found=0)
    made.write(tmp_path)
    assert causes(diagnose([tmp_path])) == {"unknown": (1, 24_997)}


def test_what_an_hour_of_cache_costs_is_its_own_price(tmp_path: Path) -> None:
    made = [ClaudeSession(hour=hour) for hour in (False, True)]
    for number, one in enumerate(made):
        one.answer(10_000)
        one.write(tmp_path / str(number))
    short, long = (diagnose([tmp_path / str(number)]).total for number in range(2))
    assert long.written == pytest.approx(short.written * 2 / 1.25)
    assert (long.long_writes, short.long_writes) == (29_997, 0)


def test_the_growing_context_costs_most_and_is_said_first(tmp_path: Path) -> None:
    long_session().write(tmp_path)
    report = diagnose([tmp_path])
    first = report.findings[0]
    assert first.id == "context"
    assert first.usd > report.total.usd / 2
    assert first.saving is not None
    assert 0 < first.saving < first.usd
    assert first.patch is not None
    assert first.patch.key == ("env", "CLAUDE_CODE_AUTO_COMPACT_WINDOW")
    assert report.carried[0].name == "results of Bash"
    assert report.carried[0].usd == pytest.approx(first.usd, rel=0.3)


def test_long_results_are_told_with_what_shorter_ones_would_save(tmp_path: Path) -> None:
    made = ClaudeSession()
    for number in range(20):
        made.answer(200, tool=(f"toolu_{number}", "Read"))
        made.result(f"toolu_{number}", "x" * (60_000 if number == 0 else 400))
    made.answer(15_000)
    made.write(tmp_path)
    found = {one.id: one for one in diagnose([tmp_path]).findings}
    one = found["results:Read"]
    assert one.saving is not None
    assert one.saving < one.usd
    assert one.patch is not None
    assert one.patch.key[-1] == "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS"


def test_counts_of_codex_that_are_told_again_are_no_calls(tmp_path: Path) -> None:
    made = CodexSession()
    made.count((12_000, 0, 300, 100))
    made.count((14_000, 11_900, 200, 50), times=3)
    made.add("event_msg", {"type": "token_count", "info": None, "rate_limits": {}})
    made.count((16_000, 0, 100, 0))
    made.write(tmp_path)
    report = diagnose([tmp_path])
    total = report.total
    assert (total.calls, total.usage.input, total.usage.cache_read) == (3, 42_000, 11_900)
    assert (total.usage.output, total.usage.reasoning) == (600, 150)
    assert causes(report) == {"unknown": (1, 14_000)}
    assert report.programs[0].name == "codex"
    assert report.models[0].name == "gpt-5.6"


def test_where_only_the_totals_grow_their_difference_is_the_call(tmp_path: Path) -> None:
    made = CodexSession()
    for line in ((100, 0, 10, 0), (250, 90, 30, 0)):
        made.count(line)
    for line in made.lines:
        info = line["payload"].get("info")  # type: ignore[attr-defined]  # made above
        if info:
            del info["last_token_usage"]
    made.write(tmp_path)
    assert diagnose([tmp_path]).total.usage.input == 350


def test_a_packed_log_reads_as_the_plain_one_and_a_cut_one_up_to_there(tmp_path: Path) -> None:
    plain = long_session(calls=30).write(tmp_path / "plain")
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    whole, same = diagnose([plain]), diagnose([packed])
    assert same.total == whole.total
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(packed.read_bytes()[:-40])
    report = diagnose([cut])
    assert 0 < report.total.calls <= whole.total.calls
    assert [one.why for one in report.notes] == ["ends in the middle: read up to there"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_what_a_windows_program_wrote_is_read(tmp_path: Path, encoding: str) -> None:
    plain = long_session(calls=5).write(tmp_path / "plain")
    other = tmp_path / "other.jsonl"
    other.write_text(plain.read_text("utf-8"), encoding=encoding)
    assert diagnose([other]).total == diagnose([plain]).total


def test_broken_lines_are_counted_and_the_others_are_read(tmp_path: Path) -> None:
    path = long_session(calls=4).write(tmp_path)
    lines = path.read_bytes().splitlines()
    deep = b"[" * 5000 + b"]" * 5000
    odd = [b'{"type": "user", "sessionId"', b"\xff\xfe\x00", deep, b"null", b"7"]
    path.write_bytes(b"\n".join([lines[0], *odd, *lines[1:]]))
    report = diagnose([path])
    assert report.total.calls == 4
    assert "not JSON, the first is line 2" in report.notes[0].why


def test_a_line_that_is_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.doctor.lines.MOST_LINE", 4096)
    made = ClaudeSession()
    made.answer(100)
    made.say("x" * 50_000)
    made.answer(100)
    path = made.write(tmp_path)
    log = LogFile(path)
    assert [number for number, _ in log.lines()] == [1, 3]
    assert log.faults.long == 1
    assert diagnose([path]).total.calls == 2


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_break_the_reader(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.jsonl"
    path.write_bytes(b"\n".join(pieces))
    diagnose([path])


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_JSON = st.recursive(
    _PLAIN,
    lambda one: (
        st.lists(one, max_size=3)
        | st.dictionaries(
            st.sampled_from(["usage", "content", "type", "id", "info", "input_tokens", "model"]),
            one,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "user",
                    "assistant",
                    "system",
                    "event_msg",
                    "session_meta",
                    "turn_context",
                    "response_item",
                    "summary",
                ]
            ),
            _JSON,
            _JSON,
        ),
        max_size=5,
    )
)
def test_no_shape_breaks_the_readers(
    tmp_path_factory: pytest.TempPathFactory, items: list[tuple[str, object, object]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "shapes.jsonl"
    ours: list[dict[str, object]] = [
        {"type": kind, "sessionId": one, "message": two, "timestamp": one}
        for kind, one, two in items
    ]
    theirs: list[dict[str, object]] = [
        {"type": kind, "payload": {"type": "token_count", "info": two}, "timestamp": one}
        for kind, one, two in items
    ]
    for lines in (ours, theirs):
        diagnose([write_lines(path, lines)])


def test_without_paths_the_usual_places_are_looked_at(tmp_path: Path) -> None:
    claude = long_session(calls=2).write(tmp_path / ".claude" / "projects")
    codex = CodexSession()
    codex.count((100, 0, 1, 0))
    rollout = codex.write(tmp_path / "elsewhere" / "sessions")
    (tmp_path / ".claude" / "projects" / "notes.txt").write_text("no log")
    environ = {"CODEX_HOME": str(tmp_path / "elsewhere")}
    assert find_usual_logs(environ, tmp_path) == (claude, rollout)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no"):
        diagnose([tmp_path / "nothing.jsonl"])
    with pytest.raises(BadInput, match="no log in what was named"):
        diagnose([tmp_path])


def test_a_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "other.jsonl", [{"a": number} for number in range(300)])
    report = diagnose([path])
    assert report.total.calls == 0
    assert "no log that is known" in report.notes[0].why


def test_sub_agents_have_threads_of_their_own(tmp_path: Path) -> None:
    made = ClaudeSession()
    made.answer(1000)
    made.write(tmp_path)
    agent = ClaudeSession(prefix=9000)
    agent.number = 100
    agent.answer(500)
    agent.answer(500)
    for line in agent.lines:
        line.update(isSidechain=True, agentId="a1b2")
    write_lines(tmp_path / "-home-u-shop" / "agent-a1b2.jsonl", agent.lines)
    report = diagnose([tmp_path])
    assert not report.breaks
    assert report.total.calls == 3
    assert report.session_count == 1


def test_a_break_is_found_at_its_line(tmp_path: Path) -> None:
    made = ClaudeSession()
    made.answer(5000)
    made.answer(100, found=0)
    path = made.write(tmp_path)
    (group,) = diagnose([tmp_path]).breaks
    assert group.dearest[0].place == LogPlace(str(path), 2)
    assert group.evidence == {"usage": 1}
    assert group.dearest[0].usd > 0


def test_scenarios_say_what_the_same_calls_would_have_cost(tmp_path: Path) -> None:
    made = ClaudeSession(prefix=60_000)
    for _ in range(6):
        made.answer(100)
        made.clock += 900
        made.found = 0
    made.write(tmp_path)
    report = diagnose(
        [tmp_path],
        what_if=(
            "plan",
            "order",
            "life=1h",
            "life=5m",
            "life=none",
            "compact=20k",
            "model=anthropic/claude-haiku-4-5",
            "model=openai/of-nobody",
        ),
    )
    usd = {one.name: one.usd for one in report.scenarios}
    total = report.total.usd
    assert usd["plan"] == usd["order"] == pytest.approx(total)
    assert usd["life=1h"] is not None
    assert usd["life=1h"] < total / 2
    assert usd["life=none"] is not None
    assert usd["life=none"] < total  # nothing was ever found: to write it was for nothing
    assert usd["model=anthropic/claude-haiku-4-5"] == pytest.approx(total / 5)
    assert usd["model=openai/of-nobody"] is None
    finding = next(one for one in report.findings if one.id == "break:idle")
    assert finding.saving == pytest.approx(total - usd["life=1h"])
    assert finding.patch is not None
    assert finding.patch.key[-1] == "ENABLE_PROMPT_CACHING_1H"


@pytest.mark.parametrize("told", ["", "hope", "plan=1", "life=2h", "compact=1", "model=x", "life"])
def test_a_scenario_that_there_is_not_is_refused(tmp_path: Path, told: str) -> None:
    with pytest.raises(BadInput):
        diagnose([tmp_path], what_if=(told,))


def test_an_hour_that_nobody_needs_is_a_finding(tmp_path: Path) -> None:
    made = ClaudeSession(hour=True)
    for _ in range(5):
        made.answer(9000)
    made.write(tmp_path)
    found = {one.id: one for one in diagnose([tmp_path]).findings}
    assert found["life"].saving is not None
    assert found["life"].patch is not None
    assert found["life"].patch.key[-1] == "FORCE_PROMPT_CACHING_5M"


def test_what_a_change_saved_is_measured_by_what_a_call_cost(tmp_path: Path) -> None:
    made = ClaudeSession(prefix=80_000)
    for _ in range(4):
        made.answer(100)
    changed = made.clock
    made.prefix = made.size = 20_000
    made.found = 19_000
    for _ in range(4):
        made.answer(100)
    made.write(tmp_path)
    time = (BEGIN + timedelta(seconds=changed)).timestamp()
    effect = diagnose([tmp_path], since=(time, "a shorter prompt")).effect
    assert effect is not None
    assert (effect.before.calls, effect.after.calls) == (4, 4)
    saved = saved_since(effect)
    assert saved == pytest.approx(effect.before.usd - effect.after.usd)
    assert saved is not None
    assert saved > 0


def test_a_folder_that_cannot_be_opened_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_session(calls=2).write(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir()
    listed = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path == closed:
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    report = diagnose([tmp_path])
    assert report.total.calls == 2
    assert [one.why for one in report.notes] == ["this folder cannot be opened"]


def test_of_many_sessions_the_dearest_are_kept_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.doctor.examination._MOST_THREADS", 3)
    monkeypatch.setattr("mentis.doctor.examination._MOST_CELLS", 2)
    for number in range(30):
        made = ClaudeSession(f"{number:036d}", model=f"claude-opus-4-{number % 4 + 5}")
        made.answer(100 * number)
        made.answer(10)
        made.write(tmp_path)
    report = diagnose([tmp_path])
    assert (report.total.calls, report.session_count, len(report.sessions)) == (60, 30, 20)
    assert sum(one.sum.calls for one in report.models) == 60
    assert sum(one.sum.usage.input for one in report.days) == report.total.usage.input
