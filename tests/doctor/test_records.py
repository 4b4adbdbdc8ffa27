"""Records of ours are logs like others: what was lost is told as it was found back then."""

from __future__ import annotations

from pathlib import Path

from tests.recorder.foreign import anthropic_call, user
from tests.recorder.test_recording import record_calls

from mentis.doctor.diagnosis import diagnose
from mentis.home.create import create_home


def test_what_a_recorded_program_lost_has_its_byte(tmp_path: Path) -> None:
    home = create_home(tmp_path / "house")
    session = {"metadata": {"user_id": "user_1_account__session_11111111-2222-3333"}}
    asked = [
        {"system": f"Be kind. It is 12:0{n}. {'x' * 9000}", "messages": [user("hi")], **session}
        for n in range(2)
    ]
    mark = {"cache_control": {"type": "ephemeral"}}
    for one in asked:
        one["system"] = [{"type": "text", "text": one["system"], **mark}]
    calls = [anthropic_call(one, written=4000, after=20.0 * n) for n, one in enumerate(asked)]
    record_calls(home, *calls)
    report = diagnose([home])
    assert report.programs[0].name == "recorded/agent"
    (group,) = report.breaks
    assert group.cause == "clock"
    assert group.evidence == {"bytes": 1}
    assert group.dearest[0].where == "system block 0"
