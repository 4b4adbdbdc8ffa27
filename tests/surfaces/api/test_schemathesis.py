"""schemathesis, over the OpenAPI document: made-up requests of every kind, against a real home."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.surfaces.api.api_home import api_home

from mentis.testing import HashEmbedder

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / ".venv-schemathesis" / "bin" / "schemathesis"
# It does not end, it would lock the tester out, it needs a model that answers in a form, it takes
# minutes, it takes no JSON, or its answer has a pair, which schemathesis 4.32 misreads.
LEFT_OUT = (
    "compare_answers",
    "draft_persona_field",
    "follow_events",
    "follow_persona_events",
    "revoke_token",
    "set_token_person",
    "prove_profile",
    "import_memories",
    "import_prompts",
    "plan_prompt_import",
    "test_screening",
    "audit_bundle",
    "find_cause",  # the model of this home scores nothing: a 502, and rightly
)


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="`make slow` installs schemathesis")
def test_no_request_that_schemathesis_makes_up_breaks_the_server_or_the_document(
    tmp_path: Path,
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    with api_home(home, embedder=HashEmbedder(), web__failures_per_minute="1000000") as api:
        owner = api.client("all")
        assert owner.post("/personas/ada/sessions/main/turns", {"text": "Hello"}).is_success
        document = work / "openapi.json"
        document.write_bytes(owner.get("/openapi.json").content)
        config = Path(__file__).with_name("schemathesis.toml")
        command = [str(PROGRAM), "--config-file", str(config), "run", str(document)]
        command += ["--url", owner.url, "--header", f"Authorization: Bearer {owner.token}"]
        command += ["--phases", "coverage,fuzzing", "--max-examples", "3", "--workers", "2"]
        command += ["--seed", "1", "--generation-database", "none", "--no-color"]
        command += [word for one in LEFT_OUT for word in ("--exclude-operation-id", one)]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
