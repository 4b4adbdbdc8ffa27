"""The settings of acts and tools: what they amount to, and what is wrong with them, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.act.budget import ActBudget
from mentis.act.gate import GateRules
from mentis.errors import SettingsError
from mentis.settings.acts import ActSettings
from mentis.settings.sources import load_settings


def load(tmp_path: Path, text: str, **environ: str) -> dict[str, object]:
    (tmp_path / "mentis.toml").write_text(text)
    return {one.key: one.value for one in load_settings(tmp_path, environ).effective()}


def test_the_rules_of_the_gate_are_those_of_the_settings() -> None:
    chosen = ActSettings(policy="strict", ask=("a",), outreach=True, per_turn=1, hourly={"a": 2})
    assert chosen.rules() == GateRules("strict", ("a",), True, ActBudget(1, 500, {"a": 2}))


def test_every_value_is_listed_with_those_of_each_tool(tmp_path: Path) -> None:
    text = '[acts.hourly]\nsend = 3\n[tools.files]\ncommand = ["serve"]\n'
    text += "[tools.files.acts.write]\nexternal_effects = false\n"
    found = load(tmp_path, text, MENTIS_ACTS__ASK='["send"]')
    assert found["acts.hourly.send"] == 3
    assert found["acts.ask"] == ("send",)
    assert found["acts.policy"] == "values"
    assert found["tools.files.command"] == ("serve",)
    assert found["tools.files.acts.write.external_effects"] is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[acts]\nbuiltin = ["shell"]', "there is no 'shell'"),
        ('[acts]\npolicy = "loose"', "acts.policy"),
        ("[acts]\npolici = 1", "did you mean 'policy'"),
        ("[tools.x]", "needs a command or a url"),
        ('[tools.x]\ncommand = ["a"]\nurl = "b"', "not both"),
        ('[tools.x]\ncommand = ["a"]\nfile = "b.py"\nkind = "mcp"', "file is not for a tool"),
        ('[tools.x]\ndocument = "a.json"', "operations"),
        ('[tools.x]\nfile = "a.py"\nmodule = "b"', "not both"),
        ('[tools.x]\ncomand = ["a"]', "did you mean 'command'"),
        ('[tools.x.acts.y]\nscop = "core"', "did you mean 'scope'"),
        ('[tools.My_Tool]\ncommand = ["a"]', "My_Tool"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    told = f"{caught.value.message}; {caught.value.hint}; {'; '.join(caught.value.problems)}"
    assert said in told
    assert "mentis.toml:" in told
