from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.surfaces.cli.demo import Checks

from .conftest import Mentis

Start = Callable[..., subprocess.Popen[str]]


@pytest.mark.slow
@pytest.mark.model
def test_every_claim_of_the_demo_holds_on_the_embedded_model(
    process: Start, tmp_path: Path
) -> None:
    running = process("demo", "--json", "--keep", tmp_path / "kept")
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, out + err
    report = json.loads(out)
    assert report["failed"] == 0
    assert len(report["claims"]) >= 24
    assert (tmp_path / "kept" / "mentis.db").exists()


@pytest.mark.model
def test_ctrl_c_in_an_answer_ends_the_demo_and_no_claim_is_called_false(process: Start) -> None:
    running = process("demo", MENTIS_ROUTES__DEFAULT__MAX_TOKENS="2000")
    assert running.stdout is not None
    assert running.stderr is not None
    with running, running.stdout, running.stderr:
        seen = ""
        while "ada> " not in seen:
            seen += running.stdout.read(1)
        running.send_signal(signal.SIGINT)
        seen += running.stdout.read()
        err = running.stderr.read()
    assert running.returncode == 130, err
    assert "stopped" in err
    assert "FAILED" not in seen


def test_the_demo_refuses_a_prepared_answer(
    mentis: Mentis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_ROUTES__DEFAULT__REPLIES", '["I am prepared."]')
    done = mentis("demo")
    assert done.code == 1
    assert "runs on the embedded model" in done.err


def test_a_claim_that_does_not_hold_fails_the_demo() -> None:
    checks = Checks(quiet=True)
    checks.claim("water is wet", holds=True)
    checks.claim("fire is cold", holds=False)
    assert checks.failures == 1
