"""Messages leave through the channel their act is named after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mentis.act.builtin.channels import CallbackChannel, OutboxChannel
from mentis.act.builtin.messages import SendMessage
from mentis.errors import Defect, UsageError
from mentis.library.acts import load_acts, load_message
from mentis.ports.channel import Channel, RecordingChannel
from mentis.values.message import OutgoingMessage

from .calling import do, result

pytestmark = pytest.mark.anyio


def through(channel: Channel) -> SendMessage:
    name = channel.interface
    return SendMessage(load_message(name), name, {name: channel})


async def test_a_message_leaves_with_its_place_and_key() -> None:
    channel = RecordingChannel("web")
    payload = {"text": "Hello", "interface_path": "web/7", "reply_to": "m3"}
    told = result(await do(through(channel), payload))
    assert told == {"sent": True, "interface": "web", "characters": 5}
    assert channel.sent == [
        OutgoingMessage("web", "Hello", "web/7", "m3", "home/ada", "main", "k1")
    ]


async def test_it_reaches_people_and_acts_of_one_interface_keep_their_order() -> None:
    spec = through(RecordingChannel("web")).spec
    assert (spec.name, spec.scope, spec.endpoint) == ("message_web", "message", "message/web")
    assert spec.declaration.external_effects
    assert not spec.declaration.idempotent


async def test_an_interface_that_is_gone_is_unavailable() -> None:
    channels: dict[str, Channel] = {"web": RecordingChannel("web")}
    act = SendMessage(load_message("web"), "web", channels)
    channels.clear()
    outcome = await do(act, {"text": "Hello"})
    assert outcome.state == "unavailable"
    assert outcome.reason == "no interface 'web' is there any more"


def test_an_act_needs_its_channel_and_its_own_words() -> None:
    with pytest.raises(UsageError, match="no channel for the interface 'web'"):
        SendMessage(load_message("web"), "web", {})
    with pytest.raises(Defect, match="given the words of 'remember'"):
        SendMessage(load_acts()["remember"], "web", {"web": RecordingChannel("web")})


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"text": ""},
        {"text": None},
        {"text": ["x"]},
        {"text": "x" * 20_001},
        {"text": "x", "reply_to": 3},
        {"text": "x", "interface_path": "p" * 301},
    ],
)
async def test_what_is_no_message_is_not_sent(payload: dict[str, Any]) -> None:
    channel = RecordingChannel()
    await do(through(channel), payload, fits=False)
    assert channel.sent == []


async def test_half_a_surrogate_pair_is_not_sent() -> None:
    channel = RecordingChannel()
    act = through(channel)
    outcome = await do(act, {"text": "\ud800"})
    assert outcome.state == "invalid"
    assert channel.sent == []


async def test_a_message_is_said_where_the_agent_runs_and_nowhere_else() -> None:
    said: list[str] = []
    channel = CallbackChannel(lambda message: said.append(message.text))
    act = through(channel)
    assert act.spec.name == "message_cli"
    result(await do(act, {"text": "here", "interface_path": "cli"}))
    result(await do(act, {"text": "in this session", "interface_path": "main"}))
    outcome = await do(act, {"text": "there", "interface_path": "web/7"})
    assert (outcome.state, said) == ("refused", ["here", "in this session"])


async def test_a_message_in_the_outbox_is_one_file_however_often_it_is_sent(
    tmp_path: Path,
) -> None:
    act = through(OutboxChannel(tmp_path / "outbox"))
    assert act.spec.declaration.idempotent
    for attempt in (1, 2):
        result(await do(act, {"text": "Grüße"}, attempt=attempt))
    (file,) = (tmp_path / "outbox").iterdir()
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert (kept["text"], kept["key"]) == ("Grüße", "k1")
    await do(act, {"text": "Grüße"}, key="../../k2")
    assert len(list((tmp_path / "outbox").iterdir())) == 2


async def test_an_outbox_that_cannot_be_written_refuses(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file", encoding="utf-8")
    outcome = await do(through(OutboxChannel(tmp_path / "outbox")), {"text": "x"})
    assert outcome.state in ("unavailable", "refused")
    assert "cannot be written" in outcome.reason
