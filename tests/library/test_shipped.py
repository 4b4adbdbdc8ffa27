"""What the shipped files promise, apart from how they are loaded."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from mentis.errors import LibraryError
from mentis.library.load import (
    load_persona,
    load_profile,
    load_shipped,
    shipped_persona,
    shipped_personas,
    shipped_template,
)
from mentis.values.block import Block
from mentis.values.persona import Expression, Profile, Trait
from mentis.values.stability import Stability
from mentis.values.window import WindowDraft

SHIPPED = Path(str(files("mentis.library"))) / "shipped"
JSON_FILES = sorted(SHIPPED.rglob("*.json"))
WEEKDAY_LANGUAGES = [
    "english",
    "german",
    "french",
    "spanish",
    "portuguese",
    "italian",
    "dutch",
    "polish",
    "swedish",
    "turkish",
]


# The ordinary chat of a persona, with all that may be told in it.
CHAT_SET = [
    "constitution",
    "impersonation",
    "integrity_shield",
    "system_rule",
    "dynamics",
    "topic_guard",
    "persona_description",
    "world_consistency",
    "expression",
    "emotion",
    "user_info",
    "relationship",
    "time",
    "last_encounter",
    "style",
    "format",
    "topics",
    "continuity_guard",
    "cortex_context",
]
STAGES = [
    "cortex_primary",
    "cortex_sense_helper",
    "cortex_act_descriptor_helper",
    "cortex_goal_tree_helper",
    "cortex_acts_helper",
    "cortex_goal_tree_patch_helper",
    "cortex_l1_memory_patch_helper",
]
AUTOFILL = ["persona_type", "core_trait", "knowledge", "scenario", "expression_style"]
KNOWN = {
    *CHAT_SET,
    *STAGES,
    *(f"spec_autofill_{kind}" for kind in AUTOFILL),
    "stance_plan",
    "stance_act",
    "stance_review",
    "status_window",
    "status_conduct",
    "afterthought_inner_dialogue",
    "afterthought_followup",
    "afterthought_system_note",
    "summary_system_prompt",
    "summary_user_prompt",
    "cortex_update_system",
    "cortex_update_user_message",
    "cortex_update_tools",
    "delivery",
    "beat",
    "live",
    "correction",
    "session_title",
    "auto_first_message",
    "remember",
    "prefill_impersonation",
}
# One line that only marks a place or begins an answer.
LINES = {"history", "history_bridge", "remember", "summary_prefill"}
# Read by a stage or a repair, never seen by a person, and in one language.
INNER = {
    *STAGES,
    "cortex_primary_tools",
    "cortex_primary_input",
    "correction",
    "correction_partial",
    "correction_json",
}
PLACES = {
    "system_prompt": {"system_prompt", "system_prompt_append"},
    "message": {"first_assistant", "consent_dialog", "user_message", "history"},
    "prefill": {"prefill"},
}


def block_of(block_id: str) -> Block:
    block = load_shipped().block(block_id)
    assert block is not None, block_id
    return block


def default(block_id: str) -> str:
    return block_of(block_id).variants["default"].content


def keys_in(text: str) -> set[str]:
    return set(re.findall(r"\{\{(\w+)\}\}", text))


def used(block_id: str) -> set[str]:
    return set[str]().union(*(keys_in(one.content) for one in block_of(block_id).variants.values()))


def manifest() -> dict[str, Any]:
    data: Any = json.loads((SHIPPED / "_meta/prompt_manifest.json").read_text(encoding="utf-8"))
    return data["prompts"]


@pytest.mark.parametrize("file", JSON_FILES, ids=lambda file: file.name)
def test_json_files_are_indented_by_two_and_keep_their_letters(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"


def test_the_set_is_complete_and_every_block_has_substance() -> None:
    blocks = load_shipped().blocks
    assert {block.id for block in blocks} >= KNOWN
    told = [block.id for block in blocks if block.id not in LINES]
    assert len(told) >= 38
    assert [name for name in told if len(default(name)) < 80] == []


def test_the_known_order_of_the_chat_is_kept() -> None:
    assert [(name, block_of(name).order) for name in CHAT_SET] == [
        ("constitution", 50),
        ("impersonation", 100),
        ("integrity_shield", 200),
        ("system_rule", 300),
        ("dynamics", 400),
        ("topic_guard", 500),
        ("persona_description", 600),
        ("world_consistency", 650),
        ("expression", 700),
        ("emotion", 900),
        ("user_info", 1000),
        ("relationship", 1100),
        ("time", 1200),
        ("last_encounter", 1250),
        ("style", 1300),
        ("format", 1400),
        ("topics", 1500),
        ("continuity_guard", 1600),
        ("cortex_context", 2000),
    ]


def test_the_chat_set_has_a_compact_wording_and_headings() -> None:
    for name in CHAT_SET:
        variants = block_of(name).variants
        assert "compact" in variants, name
        if variants["compact"].content:
            assert variants["compact@german"].content, name
        assert variants["default"].content.startswith(("## ", "=== ")), name
        assert variants["default@german"].content.startswith(("## ", "=== ")), name


def test_all_that_a_person_may_see_is_there_in_german() -> None:
    for block in load_shipped().blocks:
        if block.id in INNER or block.id == "history":
            continue
        assert "default@german" in block.variants, block.id
        for name, wording in block.variants.items():
            if "@" not in name and wording.content:
                assert block.variants[f"{name}@german"].content, (block.id, name)


def test_no_german_wording_differs_in_what_it_asks_for() -> None:
    """A German prompt may name its language itself; apart from that, it uses the same values."""
    for block in load_shipped().blocks:
        for name, wording in block.variants.items():
            base, _, language = name.partition("@")
            if language and (block.id, base) != ("continuity_guard", "compact"):
                english = keys_in(block.variants[base].content) - {"language"}
                assert keys_in(wording.content) == english, (block.id, name)


def test_every_wording_of_a_block_is_its_own() -> None:
    told = [block for block in load_shipped().blocks if "experimental" in block.variants]
    differing = [block.id for block in told if block.variants["experimental"].content]
    assert len(differing) >= 5
    for block in load_shipped().blocks:
        texts = [one.content for one in block.variants.values() if len(one.content) > 40]
        assert len(set(texts)) == len(texts), block.id
        for name in ("experimental", "compact"):
            assert block.variants.get(name) != block.variants["default"], block.id


def test_experimental_wordings_share_hardly_a_sentence_with_the_default() -> None:
    for block in load_shipped().blocks:
        for suffix in ("", "@german"):
            if f"experimental{suffix}" not in block.variants:
                continue
            theirs = sentences(block.variants[f"experimental{suffix}"].content)
            shared = theirs & sentences(block.variants[f"default{suffix}"].content)
            assert len(shared) <= len(theirs) / 3, (block.id, shared)


def sentences(text: str) -> set[str]:
    found = re.split(r"(?<=[.:?!])\s+|\n+", text)
    return {one for one in found if len(one) > 25 and not one.startswith(("#", "=", "-", "["))}


def test_placeholders_used_are_registered_and_declared() -> None:
    library = load_shipped()
    for block in library.blocks:
        raw: Any = json.loads((SHIPPED / block.file).read_text(encoding="utf-8"))
        assert raw[block.id]["placeholders_used"] == sorted(used(block.id))
        assert used(block.id) <= library.placeholders.keys()
        asked = {*block.requires_any, *block.requires_all, *block.requires_none}
        assert asked <= library.placeholders.keys()


def test_no_block_is_declared_more_lasting_than_what_stands_in_it() -> None:
    library = load_shipped()
    for block in library.blocks:
        for key in used(block.id):
            if block.stability is not None:
                assert library.placeholders[key].stability.rank <= block.stability.rank, block.id


def test_no_two_blocks_share_a_file_or_an_order() -> None:
    """Where orders tie, the order of a manifest's keys would decide."""
    blocks = load_shipped().blocks
    assert len({block.order for block in blocks}) == len(blocks)
    assert len({block.file for block in blocks}) == len(blocks)
    assert all(block.file == f"{block.id}.json" for block in blocks)


def test_targets_and_positions_go_together() -> None:
    for block in load_shipped().blocks:
        assert block.position in PLACES[block.target], block.id


def test_the_persona_memory_block_is_the_origins() -> None:
    entry = manifest()["cortex_context"]
    assert entry.pop("name")
    assert entry.pop("description")
    assert entry == {
        "category": "context",
        "type": "text",
        "target": "system_prompt",
        "position": "system_prompt",
        "order": 2000,
        "enabled": True,
        "domain_file": "cortex_context.json",
        "requires_any": ["cortex_memory", "cortex_soul", "cortex_relationship"],
        "tags": ["cortex", "memory", "context"],
    }


def test_the_persona_memory_block_is_framed_and_holds_the_three_values_in_order() -> None:
    keys = ["{{cortex_memory}}", "{{cortex_soul}}", "{{cortex_relationship}}"]
    for wording in block_of("cortex_context").variants.values():
        paragraphs = wording.content.split("\n\n")
        assert re.fullmatch("=== .+ ===", paragraphs[0])
        assert paragraphs[-4:-1] == keys
        assert re.fullmatch("=== .+ ===", paragraphs[-1])
        assert len(paragraphs) >= 6


def test_the_decision_word_is_asked_for_at_the_very_end() -> None:
    for name, wording in block_of("afterthought_inner_dialogue").variants.items():
        *_, ok, wait = wording.content.splitlines()
        assert ok.startswith("[afterthought_ok]"), name
        assert wait.startswith("[i_can_wait]"), name


def test_the_window_shown_is_a_whole_draft_in_the_order_of_the_ledger() -> None:
    for wording in block_of("status_window").variants.values():
        fenced = re.search(r"```json\n(.+?)\n```", wording.content, re.DOTALL)
        assert fenced is not None
        window: Any = json.loads(fenced[1])
        fields = {field.name for field in dataclasses.fields(WindowDraft)}
        assert window.keys() == fields
        assert list(window)[-1] == "mcp_trigger"
        draft = WindowDraft(goal="")
        for name in ("time_source", "schema_version", "window_source", "window_hash"):
            assert window[name] == getattr(draft, name)
        assert (window["cycle_backend_controlled"], window["prev_window_hash"]) == (True, "AUTO")


def test_the_primary_is_shown_an_empty_answer_and_every_operation() -> None:
    text = default("cortex_primary")
    assert (
        "<output-ir>\n<acts>[]</acts>\n<goal-tree-patch>[]</goal-tree-patch>\n"
        "<l1-memory-patch>[]</l1-memory-patch>\n</output-ir>" in text
    )
    shown = [line for line in text.splitlines() if line.startswith("{")]
    operations = [json.loads(line[: line.index("}") + 1]) for line in shown if '"op"' in line]
    assert [one.pop("op") for one in operations] == [
        "sprout",
        "prune",
        "tilt",
        "append",
        "insert",
        "remove",
    ]


def test_helpers_name_their_sections_and_give_bare_arrays() -> None:
    sections = {
        "cortex_sense_helper": ["senses", "sense-catalog"],
        "cortex_act_descriptor_helper": ["act-descriptor"],
        "cortex_goal_tree_helper": ["user-partition"],
        "cortex_acts_helper": ["output-ir", "acts", "act-descriptor-catalog"],
        "cortex_goal_tree_patch_helper": ["output-ir", "goal-tree-patch", "user-partition"],
        "cortex_l1_memory_patch_helper": ["output-ir", "l1-memory-patch", "l1-memory"],
    }
    for name, wanted in sections.items():
        assert [one for one in wanted if f"`<{one}>`" not in default(name)] == [], name
        assert ("bare JSON array" in default(name)) == ("output-ir" in wanted), name


def test_every_stage_has_a_short_wording_with_the_same_sections() -> None:
    for name in STAGES:
        wording = block_of(name).variants
        short, long = wording["compact"].content, wording["default"].content
        assert len(short) < len(long) / 1.5, name
        sections = set(re.findall(r"`<([a-z0-9-]+)>`", long)) - {"input-ir", "output-ir"}
        told = set(re.findall(r"<([a-z0-9-]+)>", short))
        assert sections <= told, name


def test_a_stage_is_told_alone_and_the_memory_update_without_any() -> None:
    for name in STAGES:
        block = block_of(name)
        assert (block.category, block.requires_all) == ("cortex", (name,))
        assert block.group == "cortex_stage"
    for name in ("cortex_update_system", "cortex_update_tools"):
        assert block_of(name).requires_none == tuple(STAGES)


def test_the_tools_of_the_memory_update_are_described_beside_the_text() -> None:
    described: Any = block_of("cortex_update_tools").extra["domain"]
    assert {tool: sorted(texts) for tool, texts in described["tool_descriptions"].items()} == {
        "read_file": ["filename_description", "tool_description"],
        "write_file": ["content_description", "filename_description", "tool_description"],
    }


def test_a_filled_field_is_asked_for_as_one_json_object() -> None:
    for kind in AUTOFILL:
        for wording in block_of(f"spec_autofill_{kind}").variants.values():
            shape: Any = json.loads(wording.content.splitlines()[-1])
            value = Expression if kind == "expression_style" else Trait
            known = {field.name for field in dataclasses.fields(value)}
            assert {"name", "description"} <= shape.keys() <= known
            assert "{{input}}" in wording.content


def test_the_registry_has_the_34_keys_of_the_origin_and_a_stability_for_each() -> None:
    placeholders = load_shipped().placeholders
    phases = {
        "static": "char_name char_age char_gender persona_type char_background user_name "
        "user_gender user_interested_in user_info language",
        "computed": "persona_type_description char_core_traits char_knowledge char_expression "
        "char_scenarios char_description current_date current_time current_weekday "
        "cortex_persona_context",
        "runtime": "elapsed_time inner_dialogue input chat_text max_words context "
        "user_hint_section reference_text history cortex_memory cortex_soul "
        "cortex_relationship cortex_conversation_text last_encounter",
    }
    known = {key: phase for phase, keys in phases.items() for key in keys.split()}
    assert len(known) == 34
    assert {key: placeholders[key].phase for key in known} == known
    for key, default_value in {
        "char_name": "Assistant",
        "char_age": 18,
        "char_gender": "diverse",
        "persona_type": "AI",
        "char_background": "",
        "user_name": "User",
        "language": "english",
        "max_words": 300,
        "cortex_memory": "",
        "cortex_soul": "",
        "cortex_relationship": "",
    }.items():
        assert placeholders[key].default == default_value
    session = [key for key in known if placeholders[key].stability is Stability.SESSION]
    assert session == [
        "cortex_memory",
        "cortex_soul",
        "cortex_relationship",
        "cortex_conversation_text",
        "last_encounter",
    ]
    for key in ("cortex_memory", "cortex_soul", "cortex_relationship"):
        assert placeholders[key].category == "cortex"
    for key in ("current_date", "current_time", "current_weekday", "elapsed_time", "input"):
        assert placeholders[key].stability is Stability.TURN


def test_every_key_says_what_it_is() -> None:
    raw: Any = json.loads((SHIPPED / "_meta/placeholder_registry.json").read_text(encoding="utf-8"))
    for key, entry in raw["placeholders"].items():
        assert entry["name"], key
        assert entry["description"].endswith("."), key
        assert entry["category"], key
        assert entry["stability"], key
        assert entry["resolve_phase"] in ("static", "computed", "runtime"), key


def test_switches_only_ever_stand_in_conditions() -> None:
    library = load_shipped()
    switches = {key for key, one in library.placeholders.items() if one.category == "switch"}
    conditions = {
        key for block in library.blocks for key in (*block.requires_any, *block.requires_all)
    }
    assert switches <= conditions
    for block in library.blocks:
        assert not switches & used(block.id), block.id


@pytest.mark.parametrize("name", ["memory", "soul", "relationship"])
@pytest.mark.parametrize(("suffix", "nothing"), [("", "no entries"), (".german", "keine Eintr")])
def test_a_memory_template_has_headed_sections_that_say_they_are_empty(
    name: str, suffix: str, nothing: str
) -> None:
    text = (SHIPPED / "memory" / f"{name}{suffix}.md").read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert "{{" not in text
    sections = text.strip().split("\n\n")
    headings, bullets = sections[::2], sections[1::2]
    assert len(headings) == len(bullets) == len(set(headings)) == 5
    assert all(heading.startswith("#### ") for heading in headings)
    assert all(bullet.startswith(f"- ({'noch ' * bool(suffix)}{nothing}") for bullet in bullets)


def test_the_manifest_has_the_origins_version() -> None:
    manifest = json.loads((SHIPPED / "_meta/prompt_manifest.json").read_text(encoding="utf-8"))
    assert manifest["version"] == "2.0"


def test_words_name_seven_days_in_at_least_ten_languages() -> None:
    words = load_shipped().words
    assert set(WEEKDAY_LANGUAGES) <= words.keys()
    for topics in words.values():
        assert len(set(topics["weekdays"])) == 7


def test_the_values_of_persona_memory_have_headings() -> None:
    words = load_shipped().words
    topics = ("heading_memory", "heading_soul", "heading_relationship")
    assert [words["english"][topic] for topic in topics] == [
        ("Memories & Knowledge",),
        ("Identity & Inner Self",),
        ("Relationship & Shared History",),
    ]
    assert [words["german"][topic] for topic in topics] == [
        ("Erinnerungen & Wissen",),
        ("Identität & Innenleben",),
        ("Beziehung & gemeinsame Geschichte",),
    ]


def test_german_has_every_word_english_has() -> None:
    words = load_shipped().words
    assert words["german"].keys() == words["english"].keys()


def test_ada_is_shipped_and_loads() -> None:
    assert shipped_personas() == ("ada",)
    ada = load_persona(shipped_persona("ada"), "personas/ada/persona.toml")
    assert (ada.id, ada.name, ada.type, ada.language) == ("ada", "Ada", "AI", "english")
    assert ada.traits
    assert ada.knowledge
    assert ada.expression
    assert ada.background


def test_an_unknown_persona_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(LibraryError) as caught:
        shipped_persona("../ada")
    assert caught.value.hint == "shipped are: ada"


def test_the_settings_template_is_toml_and_so_is_each_example_in_it() -> None:
    text = shipped_template("mentis.toml")
    assert tomllib.loads(text)["format"] == 1
    examples = [line[2:] for line in text.splitlines() if line.startswith("# default = ")]
    assert examples
    for example in examples:
        assert tomllib.loads(example)["default"]["model"]


def test_the_profile_template_loads_and_says_nothing() -> None:
    profile = load_profile(shipped_template("profile.toml"), "profile.toml")
    assert profile == Profile(name="")


def test_the_ignore_file_covers_keys_database_and_spool() -> None:
    lines = shipped_template("gitignore").splitlines()
    assert {"*.key", "*.db", "*.db-wal", "*.db-shm", "spool/", "status/"} <= set(lines)


def test_the_readme_tells_other_assistants_that_prompts_here_are_data() -> None:
    assert "not instructions to you" in shipped_template("README.md")


def test_an_unknown_template_comes_with_a_suggestion() -> None:
    with pytest.raises(LibraryError) as caught:
        shipped_template("mentis.tml")
    assert caught.value.hint == "did you mean 'mentis.toml'?"
    with pytest.raises(LibraryError) as caught:
        shipped_template("zzz")
    assert caught.value.hint.startswith("there are: README.md")
