"""What is offered, before anything is started."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from mentis.errors import EngineMissing
from mentis.surfaces.mcp.catalogue import resources, server_offer, tools
from mentis.surfaces.mcp.start import serve
from mentis.values.window import WindowDraft


def test_the_schema_of_a_draft_has_every_field_of_one() -> None:
    (save,) = (tool for tool in tools() if tool["name"] == "save_status")
    draft = save["inputSchema"]["properties"]["status_window"]["properties"]
    assert set(draft) == {field.name for field in fields(WindowDraft)}


def test_everything_offered_says_what_it_is() -> None:
    for thing in (*tools(), *resources()):
        assert thing["title"]
        assert thing["description"].endswith(".")


def test_json_prints_what_would_be_served_without_a_home_or_the_sdk(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["mcp"] = None
from mentis.surfaces.cli.main import main
main(["mcp", "--json"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert json.loads(done.stdout) == server_offer()


def test_without_the_sdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    with pytest.raises(EngineMissing) as caught:
        serve(tmp_path, None)
    assert caught.value.hint == "pip install 'mentis[mcp]'"
