"""Repairs: what wastes a cache is held still, nothing else is touched, and both bodies are kept."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.home.create import create_home
from mentis.record.call_bodies import read_body
from mentis.record.foreign_calls import foreign_call
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.recorder.call_copy import CallCopy
from mentis.recorder.recording import open_recording
from mentis.recorder.repair import Repairer
from mentis.recorder.targets import CallTarget
from mentis.settings.recorder import REPAIR_RULES
from mentis.stores.files.blobs import FileBlobs
from mentis.values.digest import digest
from mentis.values.json import json_object

from .foreign import ANTHROPIC, MODEL, call_copy, message_stream, model, user

GATEWAY = CallTarget("gateway", "https://llm.example.org:443")
LINE = "x-anthropic-billing-header: cc_version=2.1.0.abc; cc_entrypoint=cli; cch={};"
TOOLS: list[dict[str, Any]] = [
    {"name": "bash", "description": "runs", "input_schema": {"type": "object", "properties": {}}},
    {"name": "edit", "description": "edits", "input_schema": {"type": "object"}},
]


def copy_of(body: bytes, target: CallTarget = GATEWAY, path: str = "/v1/messages") -> CallCopy:
    usage = {"input_tokens": 10, "output_tokens": 1}
    return call_copy(target, path, body, message_stream(usage))


def dump(payload: dict[str, Any]) -> bytes:
    # As no program of ours would write it: what is not repaired has to stay like this.
    whole = {"model": MODEL, "metadata": {"session_id": "s"}, **payload, "x": 1.50}
    return json.dumps(whole, indent=1).replace("1.5", "1.50").encode()


def repair(repairer: Repairer, body: bytes, **more: Any) -> bytes:  # noqa: ANN401
    """What is sent."""
    made = repairer.repair(copy_of(body, **more), body)
    return body if made is None else made[0]


def test_a_nonce_stays_what_it_was_first_in_its_session() -> None:
    def asked(nonce: str, session: str = "s") -> bytes:
        system = [{"type": "text", "text": LINE.format(nonce)}, {"type": "text", "text": "Be."}]
        return dump({"system": system, "messages": [user("hi")],
                     "metadata": {"session_id": session}})  # fmt: skip

    one = Repairer(["nonce"])
    assert repair(one, asked("aaaaa")) == asked("aaaaa")
    assert repair(one, asked("bbbbb")) == asked("aaaaa")
    assert repair(one, asked("ccccc", "other")) == asked("ccccc", "other")


def test_where_the_nonce_is_read_it_is_left_alone() -> None:
    one, bodies = Repairer(REPAIR_RULES), [b"", b""]
    for number, nonce in enumerate(("aaaaa", "bbbbb")):
        bodies[number] = dump({"system": LINE.format(nonce), "messages": [user("hi")]})
        assert repair(one, bodies[number], target=ANTHROPIC) == bodies[number]
    assert repair(one, bodies[1]) == bodies[1]  # the first of another server


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/v1/messages", '{"system": [{"type": "text", "text": TEXT}]}'),
        ("/v1/messages", '{"system": TEXT}'),
        ("/v1/chat/completions", '{"messages": [{"role": "system", "content": TEXT}]}'),
        ("/v1/responses", '{"instructions": TEXT}'),
    ],
)
def test_a_clock_is_held_still_and_told_at_the_end_of_the_last_message(
    path: str, system: str
) -> None:
    name = "input" if path == "/v1/responses" else "messages"

    def asked(time: str) -> dict[str, Any]:
        text = json.dumps(f"Be brief.\nIt is {time} on Monday. Never lie.")
        told: dict[str, Any] = json.loads(system.replace("TEXT", text))
        said: list[dict[str, Any]] = [user("hi"), model("Hello"), user("go on")]
        return {**told, name: [*told.get(name, []), *said]}

    one = Repairer(["clock"])
    first, second = dump(asked("12:00")), dump(asked("12:01"))
    assert repair(one, first, path=path) == first
    sent, same = json.loads(repair(one, second, path=path)), json.loads(first)
    last = sent[name].pop()["content"]
    assert last[:-1] == same[name].pop()["content"]
    assert sent == same  # all that stands before it
    assert last[-1]["text"] == (
        '[system: "It is 12:00 on Monday." was written before; now: "It is 12:01 on Monday."]'
    )


def test_a_message_that_was_sent_with_a_time_is_sent_with_it_again() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    talk: list[dict[str, Any]] = []
    one, before = Repairer(["clock"]), dict[str, Any]()
    for minute in range(4):
        question = {"type": "text", "text": f"question {minute}"}
        asked = [*talk, {"role": "user", "content": [{**question, **mark}]}]
        body = dump({"system": f"It is 12:0{minute}.", "messages": asked})
        sent = json.loads(repair(one, body))
        for part in sent["messages"][-1]["content"]:
            part.pop("cache_control", None)
        if before:
            assert sent["system"] == before["system"]
            assert sent["messages"][: len(before["messages"])] == before["messages"]
        before = sent
        talk += [{"role": "user", "content": [question]}, model("Yes.")]
    assert "12:03" in json.dumps(before["messages"][-1])
    other = dump({"system": "It is 12:04. Be kind.", "messages": [*talk, user("more")]})
    assert repair(one, other) == other  # nothing of what was told before is about this one


GEMINI = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
RESULT = {"functionResponse": {"name": "bash", "response": {"result": "done"}}}


def gemini(time: str, *parts: dict[str, Any], tools: list[dict[str, Any]] | None = None) -> bytes:
    """Gemini's form, which says nothing of a session, a model or, here, of a role."""
    payload: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": f"Be brief. It is {time}."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]},
                     {"role": "model", "parts": [{"text": "Hello"}]}, {"parts": list(parts)}],
        **({"tools": [{"functionDeclarations": tools}, {"googleSearch": {}}]} if tools else {}),
    }  # fmt: skip
    return json.dumps(payload, indent=1).encode()


def test_gemini_keeps_its_clock_too_and_is_told_at_the_end_of_the_last_message() -> None:
    one, again = Repairer(["clock"]), {"text": "go on"}
    first, second = gemini("12:00", again), gemini("12:01", again)
    assert repair(one, first, path=GEMINI) == first
    sent, same = json.loads(repair(one, second, path=GEMINI)), json.loads(first)
    added = sent["contents"][-1]["parts"].pop()
    assert sent == same
    told = '[system: "It is 12:00." was written before; now: "It is 12:01."]'
    assert added == {"text": told}


def test_nothing_is_put_beside_the_results_that_gemini_counts() -> None:
    one = Repairer(["clock"])
    assert repair(one, gemini("12:00", {"text": "go on"}), path=GEMINI)
    held = gemini("12:01", RESULT)
    assert repair(one, held, path=GEMINI) == held


def test_tools_of_gemini_keep_the_order_of_their_declarations_and_of_their_keys() -> None:
    bash, edit = ({"name": name, "description": f"{name}s"} for name in ("bash", "edit"))
    turned = {"description": "edits", "name": "edit"}
    one, said = Repairer(["tool-order", "key-order"]), {"text": "hi"}
    first = gemini("noon", said, tools=[bash, edit])
    assert repair(one, first, path=GEMINI) == first
    made = one.repair(copy_of(b"", path=GEMINI), gemini("noon", said, tools=[edit, bash]))
    assert made is not None
    declared = "/tools/0/functionDeclarations"
    assert json.loads(made[0]) == json.loads(first)
    assert [(change.rule, change.pointer) for change in made[1]] == [("tool-order", declared)]
    made = one.repair(copy_of(b"", path=GEMINI), gemini("noon", said, tools=[bash, turned]))
    assert made is not None
    assert list(json.loads(made[0])["tools"][0]["functionDeclarations"][1]) == [
        "name",
        "description",
    ]
    assert [(change.rule, change.pointer) for change in made[1]] == [("key-order", f"{declared}/1")]
    sent = json.loads(made[0])
    assert sent == json.loads(first)


@pytest.mark.parametrize("repaired", [False, True])
def test_tools_of_gemini_in_another_order_are_told_and_what_was_done_about_it_is_kept(
    tmp_path: Path, *, repaired: bool
) -> None:
    home, one = create_home(tmp_path / "house"), Repairer(["tool-order"] if repaired else [])
    tools = [{"name": name, "description": "does things. " * 900} for name in ("bash", "edit")]
    usage = {"promptTokenCount": 9000, "candidatesTokenCount": 5, "cachedContentTokenCount": 0}
    said = {"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}
    answer = json.dumps({"candidates": [said], "usageMetadata": usage}).encode()
    target = CallTarget("gemini", "https://generativelanguage.googleapis.com:443")
    with open_recording(home, "agent", tell=pytest.fail) as recording:
        for listed in (tools, tools[::-1]):
            call = call_copy(target, GEMINI, gemini("noon", {"text": "hi"}, tools=listed), answer)
            if (made := one.repair(call, call.request.content())) is not None:
                call.replace_request(*made)
            recording.offer(call)
    with open_record(home, "recorded/agent", readonly=True) as record:
        found = foreign_call(last := list(record.store.entries(record.agent))[-1])
    assert found is not None
    if not repaired:
        assert (found.reason, found.repair, found.place) == (
            "reordered",
            "tool-order",
            "tool `edit`",
        )
        return
    assert (found.pointer, found.repairs) == ("", ("tool-order",))
    (change,) = cast("list[dict[str, str]]", last.body["repairs"])
    assert (change["pointer"], change["before"] != change["after"]) == (
        "/tools/0/functionDeclarations",
        True,
    )


def test_one_message_asked_again_and_again_is_one_session_whatever_was_told_with_it(
    tmp_path: Path,
) -> None:
    home, one = create_home(tmp_path / "house"), Repairer(["clock"])
    talk: list[dict[str, Any]] = [user("hi")]
    with open_recording(home, "agent", tell=pytest.fail) as recording:
        for minute in range(4):
            said = {"model": MODEL, "system": f"It is 12:0{minute}.", "messages": talk}
            call = copy_of(json.dumps(said).encode())
            if (made := one.repair(call, call.request.content())) is not None:
                call.replace_request(*made)
            recording.offer(call)
            talk = talk if minute < 2 else [*talk, model("Hello"), user("go on")]
    with open_record(home, "recorded/agent", readonly=True) as record:
        calls = [foreign_call(entry) for entry in record.store.entries(record.agent)]
    assert [bool(one and one.repairs) for one in calls] == [False, True, True, True]
    assert len({(one.session, one.thread) for one in calls if one}) == 1


@pytest.mark.parametrize("change", ["It is noon.", "It is 12:01. Also, be kind.", "It is 12:01!"])
def test_a_system_text_that_changed_otherwise_is_sent_as_it_is(change: str) -> None:
    one = Repairer(REPAIR_RULES)
    for text in ("It is 12:00.", change):
        body = dump({"system": text, "messages": [user("hi")]})
        assert repair(one, body) == body


def test_tools_keep_their_order_and_the_mark_its_place() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}

    def asked(*tools: dict[str, Any]) -> bytes:
        marked = [*tools[:-1], {**tools[-1], **mark}]
        return dump({"tools": marked, "messages": [user("hi")]})

    one = Repairer(["tool-order"])
    assert repair(one, asked(*TOOLS)) == asked(*TOOLS)
    assert json.loads(repair(one, asked(*TOOLS[::-1]))) == json.loads(asked(*TOOLS))
    other = asked(*TOOLS[::-1], {"name": "new", "input_schema": {}})
    assert repair(one, other) == other  # not the same set


def test_keys_of_a_tool_keep_their_order() -> None:
    one = Repairer(["key-order"])
    first = dump({"tools": TOOLS, "messages": [user("hi")]})
    turned = [{name: TOOLS[0][name] for name in reversed(TOOLS[0])}, TOOLS[1]]
    assert repair(one, first) == first
    assert repair(one, dump({"tools": turned, "messages": [user("hi")]})) == first
    assert repair(Repairer(["tool-order"]), dump({"tools": turned, "messages": [user("x")]}))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"model": "m", "messages": "no list"}',
        b'{"model": "m", "system": "a", "system": "b", "messages": [{"role": "user"}]}',
    ],
)
def test_what_cannot_be_taken_apart_without_a_doubt_is_sent_as_it_came(body: bytes) -> None:
    assert Repairer(REPAIR_RULES).repair(copy_of(body), body) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(_JSON, max_size=3), _JSON, st.lists(_JSON, min_size=1, max_size=3), st.randoms())
def test_nothing_but_order_and_times_is_ever_changed(
    tools: list[object], system: object, messages: list[object], random: Random
) -> None:
    one = Repairer(REPAIR_RULES)
    turned = random.sample(tools, len(tools))
    for listed in (tools, turned):
        body = json.dumps({"model": "m", "tools": listed, "system": system,
                           "messages": messages}).encode()  # fmt: skip
        sent, said = json.loads(repair(one, body)), json.loads(body)
        assert sorted(map(str, sent.pop("tools"))) == sorted(map(str, said.pop("tools")))
        assert sent == said


def test_both_bodies_and_every_change_are_in_the_record(tmp_path: Path) -> None:
    home, one = create_home(tmp_path / "house"), Repairer(["nonce"])
    with open_recording(home, "agent", tell=pytest.fail) as recording:
        for nonce in ("aaaaa", "bbbbb"):
            said = dump({"system": f"{LINE.format(nonce)}{'Be brief. ' * 40}",
                         "messages": [user("hi")]})  # fmt: skip
            call = copy_of(said)
            if (made := one.repair(call, said)) is not None:
                call.replace_request(*made)
            recording.offer(call)
    with open_record(home, "recorded/agent", readonly=True) as record:
        first, second = record.store.entries(record.agent)
    blobs = FileBlobs(home / "blobs")

    def kept(field: str) -> bytes:
        return cast("bytes", read_body(blobs, str(json_object(second.body[field])["body"])))

    assert (b"cch=bbbbb" in kept("original"), b"cch=aaaaa" in kept("request")) == (True, True)
    text = json.dumps(json.loads(kept("original"))["system"])
    assert second.body["repairs"] == [
        {
            "rule": "nonce",
            "pointer": "/system",
            "before": digest(text.encode()),
            "after": digest(text.replace("bbbbb", "aaaaa").encode()),
        }
    ]
    assert ("original" in first.body, "repairs" in first.body) == (False, False)
    found = foreign_call(second)
    assert found is not None
    assert (found.repairs, found.lost) == (("nonce",), 0)
    with open_record(home, "recorded/agent") as record:
        record.erase(1, ["original"], reason="asked for")
    left = b"".join(file.read_bytes() for file in (home / "blobs").rglob("*") if file.is_file())
    assert b"cch=bbbbb" not in left
    assert all(verdict.intact for verdict in verify_home(home, persona="recorded/agent"))
