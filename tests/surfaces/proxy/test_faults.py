"""What goes wrong around the recorder never fails a call that could be passed on, and is told."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import httpx2
import pytest

from mentis.home.create import create_home
from mentis.record.foreign_calls import foreign_calls
from mentis.record.record import open_record
from mentis.recorder.recording import Recording, open_recording
from mentis.recorder.targets import make_target
from mentis.surfaces.cli.main import run
from mentis.surfaces.proxy.start import ProxyOptions, running_proxy

from .conftest import PATIENCE, Received, Upstream, upstream_server
from .test_record import environ_for, mentis, messages_answer

QUESTION = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "house")


@contextmanager
def recorded(home: Path, upstream: Upstream, told: list[str]) -> Generator[tuple[str, Recording]]:
    with open_recording(home, "tester", tell=told.append) as recording:
        recording.targets["stub"] = make_target("stub", upstream.url)
        options = ProxyOptions(0, tell=told.append)
        with running_proxy(recording, options) as base:
            yield f"{base}/stub", recording


def entries(home: Path) -> list[Any]:
    with open_record(home, "recorded/tester", readonly=True) as record, record.snapshot() as source:
        return list(source.entries())


def wait_for(there: threading.Event) -> None:
    assert there.wait(PATIENCE)


def test_a_full_disk_fails_no_call_and_the_record_says_what_is_missing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, real = threading.Event(), cast("Callable[..., Any]", tempfile.mkstemp)
    told: list[str] = []
    noticed = threading.Event()

    def make(*args: Any, **named: Any) -> Any:  # noqa: ANN401  # as the library has it
        if full.is_set():
            noticed.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **named)

    monkeypatch.setattr(tempfile, "mkstemp", make)
    with upstream_server() as upstream:
        upstream.answer = messages_answer
        with recorded(home, upstream, told) as (url, _):
            full.set()
            for _ in range(2):
                got = httpx2.post(f"{url}/v1/messages", json=QUESTION)
                assert got.json()["content"][0]["text"] == "Yes."
                wait_for(noticed)
                noticed.clear()
            full.clear()
            assert httpx2.post(f"{url}/v1/messages", json=QUESTION).status_code == 200
    found = entries(home)
    assert sorted(one.kind for one in found) == ["call", *["gap"] * (len(found) - 1)]
    assert sum(one.body["gap"]["calls"] for one in found if one.kind == "gap") == 2
    assert len(told) == 1
    assert "no space left on the disk" in told[0]


@pytest.mark.slow
def test_a_call_that_hangs_when_the_recorder_stops_is_an_entry_that_says_so(home: Path) -> None:
    arrived, over = threading.Event(), threading.Event()
    settings = home / "mentis.toml"
    more = "\n[recorder]\ndrain_seconds = 0\n"
    settings.write_text(settings.read_text("utf-8") + more, encoding="utf-8")

    def hang(_request: Received, _out: BinaryIO) -> None:
        arrived.set()
        over.wait(PATIENCE)

    def ask(url: str) -> None:
        with pytest.raises(httpx2.HTTPError):
            httpx2.post(f"{url}/v1/messages", json=QUESTION, timeout=PATIENCE).raise_for_status()

    with upstream_server() as upstream:
        upstream.answer = hang
        with recorded(home, upstream, []) as (url, _):
            asking = threading.Thread(target=ask, args=(url,))
            asking.start()
            wait_for(arrived)
        over.set()
        asking.join(PATIENCE)
    (call,) = foreign_calls(entries(home))
    assert (call.end, call.status) == ("broken", 0)


@pytest.mark.slow
def test_a_recorder_that_is_killed_leaves_a_record_that_verifies_and_goes_on(home: Path) -> None:
    second, over = threading.Event(), threading.Event()

    def answer(request: Received, out: BinaryIO) -> None:
        if b"never" not in request.body:
            messages_answer(request, out)
            return
        out.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        second.set()
        over.wait(PATIENCE)

    with upstream_server() as upstream:
        upstream.answer = answer
        program = (
            "import os, httpx2\n"
            "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n"
            f"body = {QUESTION!r}\n"
            "print(httpx2.post(url, json=body).status_code, flush=True)\n"
            "try: httpx2.post(url, json={**body, 'system': 'never'}, timeout=60)\n"
            "except httpx2.HTTPError as error: print(type(error).__name__, flush=True)\n"
        )
        command = [sys.executable, "-m", "mentis", "--home", str(home), "record", "--log"]
        command += ["--as", "tester", "--", sys.executable, "-c", program]
        again = [sys.executable, "-c", program.replace("never", "again")]
        record = ("record", "--as", "tester", "--", *again)
        assert mentis(home, *record, environ=environ_for(upstream)).returncode == 0
        with subprocess.Popen(
            command,
            env=environ_for(upstream),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "200\n"
            wait_for(second)
            process.kill()
            assert process.stdout.readline() == "RemoteProtocolError\n"  # what it met, as it is
        over.set()
        verdict = mentis(home, "status", "verify", "--persona", "recorded/tester")
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr
        done = mentis(home, *record, environ=environ_for(upstream))
        assert done.returncode == 0, done.stderr
    # Of the run that was killed, the first may have been written and the second was not.
    assert len(list(foreign_calls(entries(home)))) in (4, 5)
    verdict = mentis(home, "status", "verify", "--persona", "recorded/tester")
    assert verdict.returncode == 0


@pytest.mark.slow
def test_a_program_is_led_through_the_forward_proxy_and_trusts_it_alone(
    home: Path, tmp_path: Path
) -> None:
    from mentis.recorder.authority import open_authority

    world, _ = open_authority(tmp_path / "world", {"localhost"})
    config = tmp_path / "config"
    program = (
        "import os, httpx2\n"
        "os.environ['NO_PROXY'] = os.environ['no_proxy'] = ''\n"
        f"got = httpx2.post(os.environ['WHERE'] + '/v1/messages', json={QUESTION!r})\n"
        "print(got.status_code, got.json()['content'][0]['text'])\n"
    )
    with upstream_server(world.context("localhost")) as upstream:
        upstream.answer = messages_answer
        settings = home / "mentis.toml"
        more = f'\n[recorder.targets]\nstub = "{upstream.url}"\n'
        settings.write_text(settings.read_text("utf-8") + more, encoding="utf-8")
        given = {name: text for name, text in os.environ.items() if "PROXY" not in name.upper()}
        environ = {**given, "WHERE": upstream.url, "SSL_CERT_FILE": str(world.file)}
        environ["MENTIS_CONFIG"] = str(config)
        command = ["record", "--forward", "--as", "tester", "--", sys.executable, "-c", program]
        done = mentis(home, *command, environ=environ)
        assert done.stdout == "200 Yes.\n", done.stderr
        shown = mentis(home, "record", "ca", "show", "--json", environ=environ)
        removed = mentis(home, "record", "ca", "remove", environ=environ)
        gone = mentis(home, "record", "ca", "show", environ=environ)
    assert f"a certificate authority was made: {config}/record-ca/ca.pem" in done.stderr
    assert "recorded/tester: 1 call (1 to a model) in 1 session" in done.stderr
    facts = json.loads(shown.stdout)
    assert facts["fingerprint"] in done.stderr
    assert "localhost" in facts["hosts"]
    assert removed.returncode == 0
    assert not (config / "record-ca").exists()
    assert "there is none" in gone.stderr
    assert [one.line for one in upstream.received] == ["POST /v1/messages HTTP/1.1"]


def test_a_forward_proxy_that_others_reach_needs_a_secret(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MENTIS_RECORDER__HOST", "0.0.0.0")  # noqa: S104  # it is refused
    assert run(["--home", str(home), "record", "--forward", "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert "would be everybody's" in told
    assert "--token" in told


@pytest.mark.slow
def test_the_secret_of_a_standing_recorder_is_printed_with_its_addresses(home: Path) -> None:
    command = [sys.executable, "-m", "mentis", "--home", str(home), "record", "--port", "0"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen([*command, "--token"], stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stderr is not None
        head = "".join(process.stderr.readline() for _ in range(6))
        found = re.search(r"ANTHROPIC_BASE_URL=(http://[^/]+)/t/([\w-]{20,})/anthropic\n", head)
        assert found, head
        assert httpx2.get(f"{found[1]}/metrics").status_code == 401
        assert httpx2.get(f"{found[1]}/t/{found[2]}/metrics").status_code == 200
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(PATIENCE) == 0
