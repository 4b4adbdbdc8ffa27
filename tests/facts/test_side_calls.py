"""What programs ask beside a conversation is told from what they say in it."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from mentis.facts.side_calls import SidePrompt, side_kind, side_kind_at, side_kind_named

RULES: list[dict[str, str]] = json.loads(
    files("mentis.facts").joinpath("side_calls.json").read_text("utf-8")
)


def prompt_for(rule: dict[str, str], *, tools: bool) -> SidePrompt:
    if "is" in rule:
        text, limit = rule["is"], 1
    elif "holds" in rule:
        text, limit = f"So. {rule['holds']} And so on.", None
    else:
        text, limit = f"\r\n{rule['begins']} and so on", None
    words, told = ((text,), ()) if rule["in"] == "message" else (("Hi.",), (text,))
    return SidePrompt(words, told, tools=tools, max_tokens=limit)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule['kind']} {rule['in']}")
def test_a_prompt_of_each_rule_is_of_its_kind_and_with_tools_only_where_the_rule_says_so(
    rule: dict[str, str],
) -> None:
    assert side_kind(prompt_for(rule, tools=False)) == rule["kind"]
    assert bool(side_kind(prompt_for(rule, tools=True))) == ("tools" in rule)


def test_what_is_said_in_a_conversation_is_no_side_call() -> None:
    assert side_kind(SidePrompt(("How warm is it?",), ("Be brief.",))) == ""
    probe = next(rule["is"] for rule in RULES if "is" in rule)
    assert side_kind(SidePrompt((probe,), max_tokens=100)) == "", "a probe asks for one token"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/messages/count_tokens?beta=true", "side_count"),
        ("/v1beta/models/gemini-3:countTokens", "side_count"),
        ("/v1/responses/compact/", "side_summary"),
        ("/v1/messages", ""),
    ],
)
def test_paths_that_answer_no_question_are_known(path: str, kind: str) -> None:
    assert side_kind_at(path) == kind


def test_what_a_program_says_of_itself_counts() -> None:
    assert side_kind_named("compact") == "side_summary"
    assert side_kind_named("review") == ""
