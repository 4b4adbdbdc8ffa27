from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.library.checking.check import RULES, check
from mentis.library.layer import Layer, read_layer
from mentis.library.load import load_layers, shipped_layer
from mentis.values.location import Problem

MANIFEST = "_meta/prompt_manifest.json"
OWN_MANIFEST = "_meta/user_manifest.json"
OWN_REGISTRY = "_meta/user_placeholder_registry.json"
META = {
    "name": "Greeting",
    "type": "text",
    "target": "system_prompt",
    "position": "system_prompt",
    "order": 100,
    "enabled": True,
    "domain_file": "greeting.json",
    "stability": "stable",
}
MESSAGES = {"type": "multi_turn", "target": "message", "position": "consent_dialog"}
NAME = {"name": "Name", "source": "static", "resolve_phase": "static", "default": "Ada"}
CLOCK = {
    "name": "Time",
    "source": "computed",
    "resolve_phase": "computed",
    "compute_function": "current_time",
    "stability": "turn",
}


class Set:
    """A small shipped set of one block, and an owner's layer over it, as files."""

    def __init__(self, root: Path) -> None:
        self.shipped, self.owner = root / "shipped", root / "prompts"
        self.put(self.shipped, MANIFEST, {"version": "2.0", "prompts": {"greeting": META}})
        registry = {"version": "1.0", "placeholders": {"user_name": NAME, "clock": CLOCK}}
        self.put(self.shipped, "_meta/placeholder_registry.json", registry)
        self.put(self.shipped, "_meta/words.json", {})
        self.put(self.shipped, "greeting.json", {"greeting": content("Hello {{user_name}}.")})

    def put(self, folder: Path, name: str, data: object) -> None:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data, indent=2, ensure_ascii=False), encoding="utf-8")

    def own(self, text: object = "Hi.", **meta: object) -> None:
        """One block of the owner's: its entry with these fields, its content with this text."""
        entry = {**META, "name": "Own", "order": 200, "domain_file": "own.json", **meta}
        entry = {name: value for name, value in entry.items() if value is not ...}
        self.put(self.owner, OWN_MANIFEST, {"version": "2.0", "prompts": {"own": entry}})
        whole = content(text) if isinstance(text, str) else text
        self.put(self.owner, "own.json", {"own": whole})

    def pair(self, one: dict[str, object], other: dict[str, object]) -> None:
        """Two blocks of the owner's, each with a compact variant too."""
        whole = content("x")
        whole["variants"]["compact"] = {"content": "y"}
        file = {"domain_file": "own.json"}
        entries = {"one": {**META, **one, **file}, "other": {**META, **other, **file}}
        self.put(self.owner, OWN_MANIFEST, {"version": "2.0", "prompts": entries})
        self.put(self.owner, "own.json", {"one": whole, "other": whole})

    def placeholder(self, **fields: object) -> None:
        entry = {name: value for name, value in {**NAME, **fields}.items() if value is not ...}
        data = {"version": "1.0", "placeholders": {"mine": entry}}
        self.put(self.owner, OWN_REGISTRY, data)

    def check(self) -> tuple[Problem, ...]:
        shipped, owner = read_layer(self.shipped, "shipped"), read_layer(self.owner, "owner")
        return check(load_layers(shipped, owner))

    def codes(self) -> list[str]:
        return [problem.code for problem in self.check()]

    def only(self) -> Problem:
        (problem,) = self.check()
        return problem

    def place(self, problem: Problem) -> str:
        """The text at the place of a problem, up to the end of its line."""
        assert problem.location is not None
        folder = self.owner if "prompts/" in problem.location.file else self.shipped
        name = problem.location.file.split(f"{folder.name}/")[-1]
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        return lines[problem.location.line - 1][problem.location.column - 1 :]


def content(text: str, *keys: str, variant: str = "default") -> dict[str, Any]:
    used = list(keys) or [key.split("}}")[0] for key in text.split("{{")[1:]]
    return {"variants": {variant: {"content": text}}, "placeholders_used": sorted(set(used))}


def said(*contents: object) -> dict[str, Any]:
    """The messages of a multi-turn block, from the user."""
    return {"variants": {"default": {"messages": list(contents)}}, "placeholders_used": []}


@pytest.fixture
def prompts(tmp_path: Path) -> Set:
    return Set(tmp_path)


def test_a_good_set_has_no_problems(prompts: Set) -> None:
    prompts.own("Hi {{user_name}}.")
    assert prompts.check() == ()


def test_what_is_shipped_has_neither_errors_nor_warnings() -> None:
    assert check(load_layers(shipped_layer(), Layer("owner"))) == ()


def test_each_rule_has_its_own_code_and_every_finding_a_rule() -> None:
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))
    assert all(rule.what and rule.code.startswith("prompt-") for rule in RULES)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"order": ...}, "prompt-missing-field"),
        ({"name": ...}, "prompt-missing-field"),
        ({"order": "first"}, "prompt-bad-value"),
        ({"category": "sistem"}, "prompt-bad-value"),
        ({"target": "systemprompt"}, "prompt-bad-value"),
        ({"position": "top"}, "prompt-bad-value"),
        ({"type": "texts"}, "prompt-bad-value"),
        ({"enabled": "yes"}, "prompt-bad-value"),
        ({"modes": ["cricket"]}, "prompt-bad-value"),
        ({"domain_file": "../own.json"}, "prompt-unsafe-file"),
        ({"domain_file": "/own.json"}, "prompt-unsafe-file"),
        ({"domain_file": "_own.json"}, "prompt-unsafe-file"),
        ({"domain_file": "a\\own.json"}, "prompt-unsafe-file"),
        ({"position": "prefill"}, "prompt-target-position"),
        ({"target": "message"}, "prompt-target-position"),
        ({"variant_condition": "defualt"}, "prompt-unknown-variant"),
        ({"requires_any": ["user_nam"]}, "prompt-unknown-key"),
        ({"requires_all": ["user_nam"]}, "prompt-unknown-key"),
        ({"requires_none": ["user_nam"]}, "prompt-unknown-key"),
        ({"order": 100}, "prompt-duplicate-order"),
        ({"order": 100.0}, "prompt-duplicate-order"),
        ({"group": "alone"}, "prompt-lone-group"),
    ],
)
def test_a_wrong_field_is_found_where_it_stands(
    prompts: Set, fields: dict[str, object], code: str
) -> None:
    prompts.own(**fields)
    found = [problem for problem in prompts.check() if problem.code != "prompt-stray-content"]
    assert [problem.code for problem in found] == [code]
    (name, value), *_ = fields.items()
    wanted = cast("list[object]", value)[0] if isinstance(value, list) else value
    start = "{" if value is ... else json.dumps(wanted)
    assert prompts.place(found[0]).startswith((start, '"system_prompt"')), name
    assert found[0].hint


@pytest.mark.parametrize(
    ("whole", "meta", "code"),
    [
        ({"variants": {}}, {}, "prompt-no-variants"),
        ({"placeholders_used": []}, {}, "prompt-no-variants"),
        ({"variants": {"default": {}}}, {}, "prompt-no-wording"),
        ({"variants": {"default": {"content": ""}}}, {}, "prompt-empty-default"),
        ({"variants": {"default": {"content": " \n"}}}, {}, "prompt-empty-default"),
        ({"variants": {"compact": {"content": "x"}}}, {}, "prompt-no-default"),
        ({"variants": {"default": {"content": "x"}}}, MESSAGES, "prompt-no-wording"),
        (said({"role": "user"}), MESSAGES, "prompt-bad-message"),
        (said({"content": "x"}), MESSAGES, "prompt-bad-message"),
        (said({"role": "robot", "content": "x"}), MESSAGES, "prompt-bad-message"),
        (said({"role": "user", "content": "x"}), {"type": "multi_turn"}, "prompt-type-target"),
        (content("x" * 401), {"max_tokens": 100}, "prompt-max-tokens"),
        (content("{{user_nam}}"), {}, "prompt-unknown-placeholder"),
        (content("{{ user_name }}", ""), {}, "prompt-odd-braces"),
        (content("{{clock}}"), {}, "prompt-turn-in-stable"),
        (content("{{clock}} o'clock"), {"stability": ...}, "prompt-turn-undeclared"),
        (content("{{clock}}"), {"stability": "turn"}, None),
        (content("x" * 400), {"max_tokens": 100}, None),
        (content("x"), {"keep_with": "nobody"}, "prompt-keep-with"),
        (content("x"), {"keep_with": "own"}, "prompt-keep-with"),
        (content("x", variant="compact"), {"variant_condition": "compact"}, None),
    ],
)
def test_a_wrong_wording_is_found(
    prompts: Set, whole: dict[str, Any], meta: dict[str, object], code: str | None
) -> None:
    if whole.get("placeholders_used") == [""]:
        whole = {**whole, "placeholders_used": []}
    prompts.own(whole, **meta)
    assert prompts.codes() == ([] if code is None else [code])


def test_a_placeholder_is_found_at_its_column_with_what_was_meant(prompts: Set) -> None:
    prompts.own('Say "hi" to {{user_nmae}}.')
    problem = prompts.only()
    assert prompts.place(problem).startswith("{{user_nmae}}")
    assert problem.hint == "did you mean 'user_name'?"


def test_placeholders_in_messages_are_looked_at_as_well(prompts: Set) -> None:
    messages = said({"role": "user", "content": "a"}, {"role": "user", "content": "{{nobody}}"})
    prompts.own({**messages, "placeholders_used": ["nobody"]}, **MESSAGES)
    problem = prompts.only()
    assert problem.code == "prompt-unknown-placeholder"
    assert prompts.place(problem).startswith("{{nobody}}")


def test_a_list_of_placeholders_out_of_step_says_which(prompts: Set) -> None:
    prompts.own(content("{{user_name}}", "clock"))
    assert prompts.only().code == "prompt-placeholders-used"
    assert "lacks user_name; has without need clock" in prompts.only().message


def test_the_price_of_a_value_that_changes_every_turn_is_told(prompts: Set) -> None:
    prompts.own("It is {{clock}} now. Be brief.", stability=...)
    assert prompts.only().severity == "warning"
    assert "21 lasting characters of 'own'" in prompts.only().message


def test_in_a_block_declared_stable_it_is_an_error_with_the_fix(prompts: Set) -> None:
    prompts.own("It is {{clock}} now.")
    assert prompts.only().severity == "error"
    assert prompts.only().hint.startswith('declare "stability": "turn" for \'own\'')


def test_the_positions_that_go_with_a_target_are_named(prompts: Set) -> None:
    prompts.own(position="history")
    assert prompts.only().hint == (
        "with 'system_prompt' go: system_prompt, system_prompt_append; "
        "'history' goes with target 'message'"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"position": "system_prompt_append"}),
        ({}, {"category": "summary"}),
        ({}, {"enabled": False}),
        ({"group": "g"}, {"group": "g"}),
        ({"modes": ["chat"]}, {"modes": ["beat", "live"]}),
        ({"variant_condition": "default"}, {"variant_condition": "compact"}),
        ({"category": "spec_autofill"}, {"category": "spec_autofill"}),
    ],
)
def test_blocks_that_are_never_told_together_may_share_an_order(
    prompts: Set, one: dict[str, object], other: dict[str, object]
) -> None:
    prompts.pair({"order": 300, **one}, {"order": 300, **other})
    assert prompts.codes() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"variant_condition": "compact"}),
        ({"modes": ["chat", "beat"]}, {"modes": ["beat"]}),
        ({"category": "summary"}, {"category": "summary"}),
        ({"group": "g"}, {}),
    ],
)
def test_blocks_that_may_be_told_together_may_not(
    prompts: Set, one: dict[str, object], other: dict[str, object]
) -> None:
    prompts.pair({"order": 300, **one}, {"order": 300, **other})
    assert prompts.codes().count("prompt-duplicate-order") == 1


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"resolve_phase": "sometimes"}, ["prompt-bad-phase"]),
        ({"resolve_phase": "runtime"}, ["prompt-phase-source"]),
        ({"source": "computed"}, ["prompt-phase-source"]),
        ({"source": "computed", "resolve_phase": "computed"}, ["prompt-no-function"]),
        ({"source": "somewhere"}, ["prompt-bad-value"]),
        ({"name": ...}, ["prompt-missing-field"]),
        ({"default": "</untrusted>"}, ["prompt-fence"]),
        ({"default": {}}, ["prompt-bad-value"]),
        ({"source": "custom"}, []),
    ],
)
def test_a_wrong_placeholder_is_found(
    prompts: Set, fields: dict[str, object], codes: list[str]
) -> None:
    prompts.placeholder(**fields)
    prompts.own("{{mine}}", stability="turn")
    found = [code for code in prompts.codes() if code != "prompt-unknown-placeholder"]
    assert found == codes


def test_an_own_placeholder_nobody_uses_is_a_warning(prompts: Set) -> None:
    prompts.placeholder()
    problem = prompts.only()
    assert (problem.code, problem.severity) == ("prompt-unused-placeholder", "warning")
    prompts.own("Hi.", requires_any=["mine"])
    assert prompts.check() == ()


def test_a_block_without_its_file_is_an_error_at_the_name_of_the_file(prompts: Set) -> None:
    prompts.own()
    (prompts.owner / "own.json").unlink()
    assert prompts.only().code == "prompt-no-content"
    assert prompts.place(prompts.only()) == '"own.json",'


def test_an_entry_that_no_manifest_names_is_a_warning(prompts: Set) -> None:
    prompts.put(prompts.owner, "own.json", {"lost": content("x"), "greeting": content("y")})
    codes = [(problem.code, prompts.place(problem)) for problem in prompts.check()]
    assert codes == [
        ("prompt-stray-content", '"lost": {'),
        ("prompt-stray-content", '"greeting": {'),
    ]


def test_an_override_needs_only_the_fields_it_changes(prompts: Set) -> None:
    prompts.put(
        prompts.owner, OWN_MANIFEST, {"version": "2.0", "prompts": {"greeting": {"order": 5}}}
    )
    entry = {"variants": {"compact": {"content": "Hey {{user_name}}."}}}
    prompts.put(prompts.owner, "greeting.json", {"greeting": entry})
    assert prompts.check() == ()
    prompts.put(prompts.owner, "greeting.json", {"greeting": {"tone": "warm"}})
    assert prompts.check() == ()


def test_a_fault_in_an_override_stands_in_the_owners_file(prompts: Set) -> None:
    prompts.put(
        prompts.owner, OWN_MANIFEST, {"version": "2.0", "prompts": {"greeting": {"order": "x"}}}
    )
    problem = prompts.only()
    assert problem.location is not None
    assert problem.location.file.endswith(OWN_MANIFEST)
    assert prompts.place(problem) == '"x"'


def test_a_fault_in_what_is_shipped_stands_in_the_shipped_file(prompts: Set) -> None:
    prompts.put(prompts.shipped, "greeting.json", {"greeting": content("{{nobody}}")})
    problem = prompts.only()
    assert problem.location is not None
    assert problem.location.file.endswith("shipped/greeting.json")


@pytest.mark.parametrize(
    "text", ["{", '{"a": 1, "a": 2}', "[]", '\ufeff{"own": {}}', '{"own": NaN}']
)
def test_a_file_that_cannot_be_read_is_told_once_and_costs_its_blocks(
    prompts: Set, text: str
) -> None:
    prompts.own()
    (prompts.owner / "own.json").write_text(text, encoding="utf-8")
    assert prompts.codes() == ["prompt-file"]


def test_a_file_that_is_missing_altogether_is_told_without_a_place(prompts: Set) -> None:
    (prompts.shipped / "_meta/words.json").unlink()
    assert prompts.codes() == ["prompt-file"]


def test_a_manifest_without_version_or_with_nothing_in_it_is_an_error(prompts: Set) -> None:
    prompts.put(prompts.shipped, MANIFEST, {"prompts": {}})
    assert sorted(prompts.codes()) == [
        "prompt-missing-field",
        "prompt-no-blocks",
        "prompt-stray-content",
    ]


def test_an_owners_manifest_may_be_empty(prompts: Set) -> None:
    prompts.put(prompts.owner, OWN_MANIFEST, {"version": "2.0", "prompts": {}})
    assert prompts.check() == ()


def test_a_broken_base_is_an_error(prompts: Set) -> None:
    overrides = {"version": "1.0", "overrides": {"greeting": {"meta.order": {"digest": "x"}}}}
    prompts.put(prompts.owner, "_meta/overrides.json", overrides)
    assert set(prompts.codes()) == {"prompt-bad-value", "prompt-missing-field"}


def test_all_faults_are_told_sorted_by_file_line_and_column(prompts: Set) -> None:
    prompts.own("{{a1}} {{b2}}", order="x", enabled=1, domain_file="own.json", target="q")
    prompts.put(prompts.shipped, "greeting.json", {"greeting": content("{{z}} {{y}} {{z}}")})
    found = prompts.check()
    places = [problem.location for problem in found]
    assert places == sorted(place for place in places if place is not None)
    assert [problem.code for problem in found].count("prompt-bad-value") == 3
    assert str(found[0]).startswith(str(places[0]))
