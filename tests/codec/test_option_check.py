"""Options that could not be sent, or say what is not theirs, are refused before any call."""

from __future__ import annotations

import pytest

from mentis.codec.option_check import check_options, options_from
from mentis.errors import OptionError
from mentis.values.options import CallOptions

KEY = "sk-" + "a" * 24  # of nobody
REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "a number out of its range": ({"top_p": 2}, "top_p"),
    "a word that is none": ({"reasoning_effort": "huge"}, "reasoning_effort"),
    "a name that is none": ({"top_pp": 1}, "no option 'top_pp'"),
    "a key as a header": ({"headers": {"Authorization": "x"}}, "header for keys"),
    "a key of another kind": ({"headers": {"X-Goog-Api-Key": "x"}}, "header for keys"),
    "another host": ({"headers": {"Host": "elsewhere"}}, "not to be set by hand"),
    "a version": ({"headers": {"anthropic-version": "1"}}, "not to be set by hand"),
    "two lines in one header": ({"headers": {"x-a": "1\r\nhost: b"}}, "cannot be sent"),
    "something that looks like a key": ({"headers": {"x-title": KEY}}, "looks like a key"),
    "a key in the body": ({"body": {"extra": {"inner": [KEY]}}}, "looks like a key"),
    "a key for a server tool": ({"server_tools": [{"type": "mcp", "a": KEY}]}, "looks like a key"),
    "an empty text": ({"stop": [""]}, "empty"),
    "another model": ({"body": {"model": "other"}}, "what Mentis composes"),
    "other messages": ({"body": {"messages": []}}, "what Mentis composes"),
    "no stream": ({"body": {"stream": False}}, "what Mentis composes"),
    "a tool of our own": ({"server_tools": [{"type": "function"}]}, "executes by itself"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused(name: str) -> None:
    given, why = REFUSED[name]
    with pytest.raises(OptionError, match=why):
        options_from(given)


@pytest.mark.parametrize("name", ["X-Author", "Idempotency-Key", "HTTP-Referer", "OpenAI-Project"])
def test_headers_that_only_sound_like_keys_are_sent(name: str) -> None:
    assert options_from({"headers": {name: "Basic understanding"}}).headers == {
        name: "Basic understanding"
    }


def test_what_python_hands_over_is_checked_as_well() -> None:
    with pytest.raises(OptionError, match="header for keys"):
        check_options(CallOptions(headers={"api-key": "x"}))


def test_a_name_nearly_right_is_told() -> None:
    with pytest.raises(OptionError) as error:
        options_from({"temprature": 1})
    assert error.value.hint == "did you mean 'temperature'?"


def test_lists_and_tables_are_read_as_json_has_them() -> None:
    made = options_from({"stop": ["a"], "headers": {"HTTP-Referer": "https://a.example"}})
    assert made == CallOptions(stop=("a",), headers={"HTTP-Referer": "https://a.example"})
