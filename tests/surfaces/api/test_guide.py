"""The shell commands of the guide run as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.api.api_home import ApiHome

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "drive-a-home-over-http.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_commands_of_the_guide_talk_edit_and_are_refused_once(
    api: ApiHome, tmp_path: Path
) -> None:
    (script,) = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    token = api.served.new_token("guide", scope="edit")
    environ = {**os.environ, "MENTIS": api.served.url, "TOKEN": token}
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "event: end" in done.stdout
    assert done.stdout.count("refused") >= 1
    assert '"intact": true' in done.stdout
    assert api.client("look").get("/prompts/blocks/style").json()["variants"]["default"] == {
        "content": "Be brief.",
        "messages": [],
    }
