"""What is made of a server's list, without a server."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.mcp.bucket import Bucket
from mentis.act.mcp.declared import McpServer, McpTimes, ToolOverride, check_server
from mentis.act.mcp.listing import ListedTool, Sieve, acts_of, offered_name
from mentis.act.mcp.notices import ServerNotices
from mentis.act.mcp.pins import compare, reason_of
from mentis.act.registry import Registry, spec_digest
from mentis.errors import SettingsError
from mentis.ports.act_handler import RecordingHandler
from mentis.values.json import JsonObject

SERVER = McpServer("s", ("program",))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
schemas = st.dictionaries(
    st.sampled_from(["type", "properties", "$ref", "required", "enum", "items"]), json_values
)
tools = st.fixed_dictionaries(
    {"name": st.text(max_size=80)},
    optional={"description": st.text(max_size=20), "inputSchema": schemas | json_values},
)


def tool(name: str, description: str = "", **properties: object) -> JsonObject:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def check(tool: JsonObject) -> None:
    if not isinstance(tool.get("inputSchema"), dict):
        raise ValueError("it is no schema")  # noqa: TRY004  # as the SDK does it


def listed(server: McpServer, *tools: object) -> tuple[ListedTool, ...]:
    sieve = Sieve(server, check)
    sieve.take(list(tools))
    return acts_of(server, sieve)[0]


@given(st.lists(tools | json_values, max_size=8))
def test_whatever_is_listed_the_registry_takes_what_is_kept(given: list[object]) -> None:
    registry = Registry()
    found = listed(SERVER, *given)
    registry.put_source("mcp:s", [RecordingHandler(one.spec) for one in found])
    for one in found:
        assert re.fullmatch(r"s_[a-zA-Z0-9_-]{0,62}", one.spec.name)
        # Pinned is what the registry holds: it adds nothing that would change the digest.
        assert registry.digest(one.spec.name) == spec_digest(one.spec)
        assert one.spec.declaration.external_effects
        assert not one.spec.declaration.idempotent


@given(st.lists(st.text(min_size=1, max_size=100), unique=True, max_size=6), st.randoms())
def test_the_order_of_a_list_decides_nothing(names: list[str], chance: random.Random) -> None:
    mixed = list(names)
    chance.shuffle(mixed)
    assert listed(SERVER, *map(tool, names)) == listed(SERVER, *map(tool, mixed))


def test_a_name_that_is_too_long_is_cut_and_stays_one_of_its_own() -> None:
    one, other = offered_name("s", "x" * 80 + "1"), offered_name("s", "x" * 80 + "2")
    assert one != other
    assert len(one) == len(other) == 64
    assert offered_name("s", "say it/now") == "s_say_it_now"


def test_what_the_owner_says_of_a_tool_counts() -> None:
    said = ToolOverride("message", external_effects=False, modes=("chat",), timeout_seconds=3)
    (one,) = listed(replace(SERVER, tools={"a": said}), tool("a"))
    assert one.spec.scope == "message"
    assert one.spec.modes == ("chat",)
    assert one.spec.timeout_seconds == 3
    assert not one.spec.declaration.external_effects


def test_a_definition_is_trusted_as_it_was_and_no_other_way() -> None:
    (before,) = listed(SERVER, tool("a", "Adds."))
    pins = {"s_a": spec_digest(before.spec)}
    assert compare([before.spec], pins, "ask") == ()
    (first,) = compare([before.spec], {}, "ask")
    assert (first.verdict, first.before) == ("asked", "")
    assert "nobody has approved of s_a yet" in reason_of(first)
    (taken,) = compare([before.spec], {}, "pin")
    assert (taken.verdict, taken.digest, reason_of(taken)) == ("pinned", pins["s_a"], "")
    for after in (tool("a", "Adds!"), tool("a", "Adds.", n={"type": "integer"})):
        (change,) = compare([one.spec for one in listed(SERVER, after)], pins, "pin")
        assert (change.verdict, change.before) == ("changed", pins["s_a"])
        assert change.digest != pins["s_a"]


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (McpServer("s"), "either a command or a url"),
        (McpServer("s", ("p",), url="http://x"), "either a command or a url"),
        (McpServer("a_b", ("p",)), "a name is a letter"),
        (McpServer("../s", ("p",)), "a name is a letter"),
        (McpServer("s", ("p\0q",)), "no text a program can be started with"),
        (McpServer("s", ("",)), "no text a program can be started with"),
        (McpServer("s", url="http://x", env=("A",)), "are for a command"),
        (McpServer("s", ("p",), key_env="A"), "key_env is for a url"),
        (McpServer("s", url="http://x", header="A: b\r\nC"), "no name of a header"),
        (McpServer("s", ("p",), times=McpTimes(call=0)), "call has to be more than nothing"),
    ],
)
def test_a_server_that_is_declared_wrongly_is_refused(server: McpServer, problem: str) -> None:
    with pytest.raises(SettingsError) as raised:
        check_server(server)
    assert problem in raised.value.problems[0]


def test_a_bucket_forgives_with_time_and_never_more_than_it_holds() -> None:
    bucket = Bucket(2, 1)
    assert [bucket.take(1, 0), bucket.take(1, 0), bucket.take(1, 0)] == [True, True, False]
    assert bucket.take(1, 2.5)
    assert not bucket.take(3, 1000)
    assert not bucket.take(3, 0)


def test_notices_are_counted_and_cannot_grow_without_end() -> None:
    notices = ServerNotices("s", 3)
    for number in range(10):
        notices.add("noise", str(number))
        notices.add("flood", "again")
    assert [(one.text, one.count) for one in notices.all()] == [("8", 1), ("9", 1), ("again", 10)]
    notices.add("noise", "x" * 10_000)
    assert len(notices.all()[-1].text) < 600
