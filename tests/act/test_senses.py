from __future__ import annotations

from inline_snapshot import snapshot

from mentis.act.senses import sense_of
from mentis.codec.forms import to_object
from mentis.values.action import Action, Outcome

ACTION = Action("send", {"to": "ada"}, call_id="c1")


def test_a_failure_is_sensed_with_its_state_and_reason() -> None:
    outcome = Outcome(ACTION, "timeout", reason="after 60 s", key="k1", source="mcp:mail")
    assert to_object(sense_of(outcome)) == snapshot(
        {
            "id": "act.failed:k1",
            "kind": "act.failed",
            "payload": {
                "key": "k1",
                "type": "send",
                "state": "timeout",
                "source": "mcp:mail",
                "reason": "after 60 s",
            },
            "trust": "untrusted",
            "endpoint": "",
        }
    )


def test_a_late_result_is_sensed_with_its_text_and_where_the_rest_is() -> None:
    outcome = Outcome(ACTION, "done", text="brief", key="k1", blob="sha256:0", size=9)
    sense = sense_of(outcome)
    assert sense.kind == "act.result"
    assert (sense.payload["text"], sense.payload["blob"], sense.payload["size"]) == (
        "brief",
        "sha256:0",
        9,
    )
