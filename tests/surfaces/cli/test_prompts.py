"""What an owner does with prompts, from the command line, on a real home."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from mentis.values.block import Block

from .conftest import Mentis

ORIGIN_BLOCK: dict[str, object] = {
    "description": "",
    "category": "system",
    "type": "text",
    "target": "system_prompt",
    "position": "system_prompt",
    "enabled": True,
    "tags": [],
}

Home = Path


def origin_set(folder: Path) -> Path:
    """A small set as the origin system keeps it: a manifest, a registry, a file for each block."""
    texts = {"impersonation": "You are {{char_name}}.", "time_sense": "It is {{current_time}}."}
    prompts = {
        name: {**ORIGIN_BLOCK, "name": name, "order": order, "domain_file": f"{name}.json"}
        for order, name in enumerate(texts, 100)
    }
    registry = {"weather": {"name": "Weather", "source": "static", "default": "fair"}}
    registry["weather"]["resolve_phase"] = "static"
    files: dict[str, object] = {
        "_meta/prompt_manifest.json": {"version": "2.0", "prompts": prompts},
        "_meta/placeholder_registry.json": {"version": "1.0", "placeholders": registry},
    }
    for block_id, text in texts.items():
        variants = {"default": {"content": text}}
        files[f"{block_id}.json"] = {block_id: {"variants": variants, "placeholders_used": []}}
    for name, document in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
    return folder


def origin_zip(folder: Path) -> Path:
    """The same set as the origin system exports it."""
    origin_set(folder / "set")
    path = folder / "set.zip"
    with ZipFile(path, "w") as archive:
        for file in sorted((folder / "set").rglob("*.json")):
            name = file.relative_to(folder / "set").as_posix()
            archive.write(file, name if name.startswith("_meta/") else f"prompts/{name}")
    return path


def told(mentis: Mentis, home: Home, variant: str = "default") -> str:
    done = mentis("--home", home, "prompts", "preview", "--variant", variant)
    assert done.code == 0, done.err
    return done.out


def blocks(mentis: Mentis, home: Home) -> dict[str, Any]:
    listed: Any = mentis("--home", home, "prompts", "list", "--json").json()
    return {block["id"]: block for block in listed["blocks"]}


def test_list_shows_every_block_and_whose_it_is(mentis: Mentis, home: Home) -> None:
    done = mentis("--home", home, "prompts", "list")
    assert done.code == 0
    assert "constitution" in done.out
    assert "shipped" in done.out
    assert len(blocks(mentis, home)) >= 36


def test_show_prints_the_text_and_an_unknown_id_is_named(mentis: Mentis, home: Home) -> None:
    done = mentis("--home", home, "prompts", "show", "constitution")
    assert done.code == 0
    assert len(done.out) > 200
    missing = mentis("--home", home, "prompts", "show", "constituton")
    assert missing.code == 1
    assert "did you mean 'constitution'?" in missing.err


def test_an_edit_takes_effect_says_what_it_did_and_can_be_undone(
    mentis: Mentis, home: Home
) -> None:
    before = told(mentis, home)
    done = mentis(
        "--home", home, "prompts", "edit", "style", "--variant", "default",
        "--text", "Rhyme, always.", "-m", "for fun",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "changed: variants.default" in done.err
    assert "+Rhyme, always." in done.out
    assert "Rhyme, always." in told(mentis, home)
    history: Any = json.loads(mentis("--home", home, "prompts", "history", "style", "--json").out)
    assert history[-1]["words"] == "save: for fun"
    assert history[-1]["author"] == "command line"
    assert "Rhyme, always." in mentis("--home", home, "prompts", "diff", "style").out
    assert mentis("--home", home, "prompts", "undo", "style").code == 0
    assert told(mentis, home) == before
    assert mentis("--home", home, "prompts", "undo", "style", "--redo").code == 0
    assert "Rhyme, always." in told(mentis, home)
    assert mentis("--home", home, "prompts", "undo", "style", "--to", "0").code == 0
    assert told(mentis, home) == before
    assert mentis("--home", home, "prompts", "undo", "style", "--to", "99").code == 1
    assert mentis("--home", home, "prompts", "undo").code == 2


def test_an_edit_of_a_wording_the_route_does_not_use_says_so(mentis: Mentis, home: Home) -> None:
    done = mentis(
        "--home", home, "prompts", "edit", "style", "--variant", "experimental", "--text", "x"
    )
    assert "the prompt stays as it was" in done.err


def edit(mentis: Mentis, home: Home, *options: str) -> str:
    done = mentis("--home", home, "prompts", "edit", "style", *options)
    assert done.code == 0, done.err
    return done.err


def speak_german(home: Home) -> None:
    persona = home / "personas" / "ada" / "persona.toml"
    text = persona.read_text(encoding="utf-8")
    persona.write_text(text.replace('"english"', '"german"'), encoding="utf-8")


def add_compact_route(home: Home) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('[routes.small]\nbackend = "scripted"\nvariant = "compact"\n')


def test_what_the_owner_wrote_is_told_in_every_language_and_variant(
    mentis: Mentis, home: Home
) -> None:
    speak_german(home)
    edit(mentis, home, "--text", "Rhyme, always.")
    for variant in ("default", "experimental", "compact"):
        assert "Rhyme, always." in told(mentis, home, variant)


def test_an_edit_says_which_wording_is_told_to_whom_and_can_change_that_one(
    mentis: Mentis, home: Home
) -> None:
    add_compact_route(home)
    said = edit(mentis, home, "--text", "Rhyme.")
    assert "in force is default (yours instead of the shipped compact): ada on small" in said
    edit(mentis, home, "--variant", "compact", "--text", "Brief.")
    said = edit(mentis, home, "--text", "Rhyme, always.")
    assert "in force is default (yours): ada on default" in said
    assert "in force is compact (yours): ada on small" in said
    assert "prompts edit style --in-force --persona ada --route small" in said
    said = edit(mentis, home, "--in-force", "--route", "small", "--text", "Briefer.")
    assert "changed: variants.compact" in said
    assert "Briefer." in told(mentis, home, "compact")
    assert mentis(
        "--home", home, "prompts", "edit", "style", "--in-force", "--variant", "x", "--text", "y"
    ).code == 2  # fmt: skip


def test_an_edit_that_does_not_show_says_why(mentis: Mentis, home: Home) -> None:
    said = edit(mentis, home, "--variant", "compact", "--text", "Brief.")
    assert "what is told of style here is its wording default" in said
    mentis("--home", home, "prompts", "toggle", "style", "--off")
    assert "style is not told here: switched off" in edit(mentis, home, "--text", "Loud.")


def test_a_compact_route_without_an_own_compact_text_says_what_the_long_one_costs(
    mentis: Mentis, home: Home
) -> None:
    text = "Rhyme, always, and never stop rhyming, whatever anybody says about it. " * 5
    edit(mentis, home, "--text", text)
    shown = mentis("--home", home, "prompts", "preview", "--variant", "compact")
    assert "style: you wrote no compact text, so your default one is told: ~" in shown.err
    preview = ("prompts", "preview", "--variant", "compact", "--json")
    found: Any = mentis("--home", home, *preview).json()
    (note,) = found["trace"]["fallbacks"]
    assert (note["block"], note["told"], note["shipped"]) == ("style", "default", "compact")
    assert note["tokens"]["tokens"] > note["shipped_tokens"]["tokens"] > 0


def test_the_owner_can_let_a_shipped_wording_stand_beside_their_own(
    mentis: Mentis, home: Home
) -> None:
    shipped = told(mentis, home, "compact")
    edit(mentis, home, "--text", "Rhyme, always.")
    edit(mentis, home, "--variant", "compact", "--from-shipped")
    assert told(mentis, home, "compact") == shipped
    assert "Rhyme, always." in told(mentis, home)
    done = mentis("--home", home, "prompts", "edit", "style", "--variant", "nope", "--from-shipped")
    assert done.code == 1
    assert "no wording 'nope' of 'style' is shipped" in done.err


def test_a_wording_of_ones_own_is_taken_away_alone(mentis: Mentis, home: Home) -> None:
    edit(mentis, home, "--text", "Rhyme, always.")
    edit(mentis, home, "--set", "order=77")
    edit(mentis, home, "--remove")
    assert "Rhyme, always." not in told(mentis, home)
    assert blocks(mentis, home)["style"]["order"] == 77
    assert blocks(mentis, home)["style"]["overridden"] == ["meta.order"]
    both = mentis("--home", home, "prompts", "edit", "style", "--remove", "--text", "No.")
    assert both.code == 2


def test_the_constitution_needs_force(mentis: Mentis, home: Home) -> None:
    refused = mentis("--home", home, "prompts", "toggle", "constitution", "--off")
    assert refused.code == 1
    assert "force" in refused.err
    assert blocks(mentis, home)["constitution"]["enabled"] is True
    forced = mentis("--home", home, "prompts", "toggle", "constitution", "--off", "--force")
    assert forced.code == 0
    assert blocks(mentis, home)["constitution"]["enabled"] is False


def test_a_block_of_your_own_lives_and_goes(mentis: Mentis, home: Home) -> None:
    made = mentis(
        "--home", home, "prompts", "new", "cat_rule", "--text", "Be kind to {{char_name}}'s cat.",
        "--order", "350",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert "Be kind to Ada's cat." in told(mentis, home, "default")
    assert mentis("--home", home, "prompts", "copy", "cat_rule", "dog_rule").code == 0
    assert mentis("--home", home, "prompts", "edit", "dog_rule", "--rename", "hound").code == 0
    assert {"cat_rule", "hound"} <= set(blocks(mentis, home))
    assert mentis("--home", home, "prompts", "rm", "hound").code == 0
    shipped = mentis("--home", home, "prompts", "rm", "style")
    assert shipped.code == 1
    assert "toggle" in shipped.err
    assert mentis("--home", home, "prompts", "undo", "hound").code == 0
    assert "hound" in blocks(mentis, home)


def test_order_and_settings(mentis: Mentis, home: Home) -> None:
    assert mentis("--home", home, "prompts", "order", "style=1, nonsense").code == 2
    unknown = mentis("--home", home, "prompts", "order", "style=90", "nope=3")
    assert unknown.code == 1
    assert "nope" in unknown.err
    assert mentis("--home", home, "prompts", "order", "style=90").code == 0
    done = mentis("--home", home, "prompts", "edit", "style", "--set", 'tags=["mine"]')
    assert done.code == 0, done.err
    style = blocks(mentis, home)["style"]
    assert (style["order"], style["tags"]) == (90, ["mine"])
    assert sorted(style["overridden"]) == ["meta.order", "meta.tags"]


def test_placeholders_of_your_own(mentis: Mentis, home: Home) -> None:
    new = ("prompts", "placeholder", "new", "city", "--default", "Bonn")
    assert mentis("--home", home, *new).code == 0
    text = ("prompts", "new", "where", "--text", "You live in {{city}}.")
    assert mentis("--home", home, *text).code == 0
    assert "You live in Bonn." in told(mentis, home, "default")
    used: Any = mentis("--home", home, "prompts", "usages", "city", "--json").json()
    assert used["usages"] == {"city": ["where"]}
    assert mentis("--home", home, "prompts", "placeholder", "rm", "city").code == 0
    assert "{{city}}" in told(mentis, home, "default")
    assert mentis("--home", home, "prompts", "placeholder", "rm", "char_name").code == 1


def test_a_home_whose_profile_has_no_name_greets_by_the_registered_default(
    mentis: Mentis, home: Home
) -> None:
    mentis("--home", home, "prompts", "new", "hello", "--text", "Hello {{user_name}}, come in.")
    given = ("prompts", "new", "known", "--text", "A name is known.")
    mentis("--home", home, *given, "--set", 'requires_any=["user_name"]')
    shown = told(mentis, home)
    assert "Hello User, come in." in shown
    assert "A name is known." not in shown
    assert "The person you talk with" not in shown
    profile = home / "profile.toml"
    text = profile.read_text(encoding="utf-8")
    profile.write_text(text.replace('info = ""', 'info = "Likes tea."'), encoding="utf-8")
    assert "The person you talk with\n\nLikes tea." in told(mentis, home)
    text = profile.read_text(encoding="utf-8")
    profile.write_text(text.replace('name = ""', 'name = "Lena"'), encoding="utf-8")
    shown = told(mentis, home)
    assert "Hello Lena, come in." in shown
    assert "A name is known." in shown
    assert "The person you talk with\n\nLena" in shown


def test_show_prints_every_field(mentis: Mentis, home: Home) -> None:
    done = mentis("--home", home, "prompts", "show", "cortex_context")
    assert "requires_any      cortex_memory, cortex_soul, cortex_relationship" in done.err
    for field in fields(Block):
        assert f"\n{field.name} " in f"\n{done.err}", field.name


def test_one_block_is_shown_with_its_values(mentis: Mentis, home: Home) -> None:
    show = ("prompts", "show", "--resolved", "--variant", "default")
    done = mentis("--home", home, *show, "impersonation")
    assert "You are Ada." in done.out
    assert "{{char_name}}" not in done.out
    given = mentis("--home", home, *show, "afterthought_followup", "--set", "elapsed_time=a day")
    assert "(a day)" in given.out
    assert "no value for {{inner_dialogue}}" in given.err
    kept_out = mentis("--home", home, *show, "cortex_context")
    assert "cortex_context: needs cortex_memory or cortex_soul" in kept_out.err


def test_a_category_is_previewed_block_by_block(mentis: Mentis, home: Home) -> None:
    done = mentis("--home", home, "prompts", "preview", "--category", "summary", "--variant", "x")
    assert "--- summary_system_prompt ---" in done.out
    assert "Ada and User" in done.out
    assert mentis("--home", home, "prompts", "preview", "--category", "nope").code == 2
    both = ("prompts", "preview", "--category", "summary", "--kinds")
    assert mentis("--home", home, *both).code == 2


def test_every_kind_of_request_stands_side_by_side_with_its_tokens(
    mentis: Mentis, home: Home
) -> None:
    found: Any = mentis("--home", home, "prompts", "preview", "--kinds", "--json").json()
    kinds = {kind["name"]: kind for kind in found}
    assert {"chat", "beat", "delivery", "live", "summary", "title", "followup"} <= kinds.keys()
    assert {f"autofill_{kind}" for kind in ("persona_type", "core_trait", "knowledge")} <= set(
        kinds
    )
    assert kinds["title"]["blocks"] == ["session_title"]
    assert kinds["sequence"]["blocks"] == ["history"]
    assert kinds["beat"]["tokens"]["tokens"] > kinds["title"]["tokens"]["tokens"] > 50
    assert "live" in kinds["live"]["blocks"]
    assert "live" not in kinds["chat"]["blocks"]
    shown = mentis("--home", home, "prompts", "preview", "--kinds")
    assert "made of" in shown.out


def test_any_kind_of_request_is_composed_and_rendered(mentis: Mentis, home: Home) -> None:
    beat = mentis("--home", home, "compose", "Think.", "--mode", "beat")
    assert "A moment of your own" in beat.out or "moment" in beat.out
    part = mentis("--home", home, "compose", "--part", "autofill_scenario")
    assert "{{input}}" in part.out
    rendered: Any = mentis(
        "--home", home, "render", "--part", "summary", "--provider", "openai-chat"
    ).json()
    assert [one["role"] for one in rendered["messages"]][:2] == ["system", "user"]
    live: Any = mentis(
        "--home", home, "render", "Hi", "--mode", "live", "--provider", "openai-chat"
    ).json()
    assert "spoken" in live["messages"][0]["content"]
    wrong = mentis("--home", home, "compose", "--part", "sumary")
    assert wrong.code == 2
    assert "did you mean 'summary'?" in wrong.err
    assert mentis("--home", home, "render", "--part", "sequence").code == 2


def test_placeholders_are_listed_with_their_values_and_usages(mentis: Mentis, home: Home) -> None:
    listed = ("prompts", "placeholder", "list")
    found: Any = mentis("--home", home, *listed, "--json").json()
    by_key = {one["key"]: one for one in found}
    name = by_key["char_name"]
    assert (name["value"], name["source"], name["origin"]) == ("Ada", "persona", "shipped")
    assert "impersonation" in name["used_by"]
    assert by_key["chat_text"]["value"] is None
    given: Any = mentis("--home", home, *listed, "chat_text", "--set", "chat_text=x", "--json")
    assert given.json()[0]["value"] == "x"
    shown = mentis("--home", home, *listed)
    assert "(given by its occasion)" in shown.out
    assert mentis("--home", home, *listed, "nope").code == 2


def test_a_placeholder_nobody_knows_needs_a_yes(mentis: Mentis, home: Home) -> None:
    text = ("prompts", "edit", "style", "--text", "Hello {{chr_name}}.")
    refused = mentis("--home", home, *text)
    assert refused.code == 1
    assert "{{chr_name}} is not registered" in refused.err
    assert "did you mean 'char_name'?" in refused.err
    assert "Hello" not in told(mentis, home)
    assert mentis("--home", home, *text, "--yes").code == 0
    assert "Hello {{chr_name}}." in told(mentis, home)
    again = ("prompts", "edit", "style", "--text", "Bye {{chr_name}}.")
    assert mentis("--home", home, *again).code == 0
    new = ("prompts", "new", "mine", "--text", "Hello {{chr_nam}}.")
    assert mentis("--home", home, *new).code == 1


def test_search_finds_and_says_when_it_does_not(mentis: Mentis, home: Home) -> None:
    assert "constitution" in mentis("--home", home, "prompts", "search", "constitution").out
    nothing = mentis("--home", home, "prompts", "search", "xyzzy-plugh")
    assert nothing.code == 1


def test_check_is_clean_as_shipped_and_reads_like_a_compiler(mentis: Mentis, home: Home) -> None:
    clean = mentis("--home", home, "prompts", "check")
    assert clean.code == 0, clean.out
    mentis("--home", home, "prompts", "new", "typo", "--text", "Hello {{chr_name}}.", "--yes")
    warned = mentis("--home", home, "prompts", "check")
    assert f"{home}/prompts/typo.json:" in warned.out
    assert "did you mean 'char_name'?" in warned.out
    broken = home / "prompts" / "typo.json"
    broken.write_text('{"typo": {')
    failed = mentis("--home", home, "prompts", "check", "--json")
    assert failed.code == 1
    problems: Any = failed.json()["problems"]
    assert any(p["severity"] == "error" and p["location"]["line"] == 1 for p in problems)


def test_a_broken_file_disables_only_its_block_and_is_kept(mentis: Mentis, home: Home) -> None:
    mentis("--home", home, "prompts", "new", "mine", "--text", "My rule.")
    (home / "prompts" / "mine.json").write_text("{ broken")
    done = mentis("--home", home, "chat", "Hi")
    assert done.code == 0, done.err
    shown = mentis("--home", home, "compose")
    assert "mine" in shown.err
    assert (home / "prompts" / "mine.json").read_text() == "{ broken"
    (kept,) = (home / "prompts" / "_meta" / "aside").iterdir()
    assert kept.read_text() == "{ broken"


def test_reset_brings_the_shipped_text_back_and_can_be_undone(mentis: Mentis, home: Home) -> None:
    edit = ("prompts", "edit", "style", "--variant", "default", "--text", "Rhyme.")
    mentis("--home", home, *edit)
    mentis("--home", home, "prompts", "new", "mine", "--text", "My rule.")
    assert mentis("--home", home, "prompts", "reset", "style").code == 0
    assert "Rhyme." not in told(mentis, home)
    mentis("--home", home, "prompts", "undo", "style")
    assert "Rhyme." in told(mentis, home)
    assert mentis("--home", home, "prompts", "reset", "--factory", "system").code == 0
    assert "Rhyme." not in told(mentis, home)
    assert "mine" in blocks(mentis, home)
    assert mentis("--home", home, "prompts", "reset", "--factory", "full").code == 0
    assert "mine" not in blocks(mentis, home)
    assert mentis("--home", home, "prompts", "undo", "--reset").code == 0
    assert "mine" in blocks(mentis, home)
    assert mentis("--home", home, "prompts", "reset").code == 2


def test_replace_leaves_exactly_the_blocks_of_the_file_on_and_is_undone_in_one_step(
    mentis: Mentis, home: Home, tmp_path: Path
) -> None:
    before = told(mentis, home)
    done = mentis("--home", home, "prompts", "import", origin_zip(tmp_path), "--mode", "replace")
    assert done.code == 0, done.err
    on = {block_id for block_id, block in blocks(mentis, home).items() if block["enabled"]}
    assert on == {"constitution", "impersonation", "time_sense"}
    assert "shipped blocks that set.zip has not are off:" in done.err
    assert "integrity_shield" in done.err
    assert "You are Ada." in told(mentis, home)
    assert mentis("--home", home, "prompts", "undo", "--import").code == 0
    assert told(mentis, home) == before
    assert mentis("--home", home, "prompts", "undo", "--import").code == 1
    assert mentis("--home", home, "prompts", "undo", "style", "--import").code == 2


def test_the_folder_of_an_origin_set_is_imported(
    mentis: Mentis, home: Home, tmp_path: Path
) -> None:
    instructions = tmp_path / "instructions"
    for given in (origin_set(instructions / "prompts"), instructions):
        dry = mentis("--home", home, "prompts", "import", given, "--mode", "replace", "--dry-run")
        assert "time_sense" in dry.out
    done = mentis("--home", home, "prompts", "import", instructions, "--mode", "overwrite")
    assert done.code == 0, done.err
    assert "You are Ada." in told(mentis, home)
    empty = mentis("--home", home, "prompts", "import", tmp_path)
    assert empty.code == 1
    assert "holds no prompt set" in empty.err


def test_an_origin_set_copied_into_the_home_is_read_in_place_and_can_be_edited(
    mentis: Mentis, home: Home
) -> None:
    origin_set(home / "prompts")
    assert mentis("--home", home, "prompts", "check").code == 0
    shown = told(mentis, home)
    assert "You are Ada." in shown
    assert "It is " in shown
    found = blocks(mentis, home)
    assert found["time_sense"]["origin"] == "owner"
    done = mentis("--home", home, "prompts", "edit", "time_sense", "--text", "Tick {{weather}}.")
    assert done.code == 0, done.err
    assert "Tick fair." in told(mentis, home)
    assert mentis("--home", home, "prompts", "rm", "time_sense").code == 0
    assert "time_sense" not in blocks(mentis, home)
    assert mentis("--home", home, "prompts", "undo", "time_sense").code == 0
    assert "Tick fair." in told(mentis, home)
    assert mentis("--home", home, "prompts", "reset", "--factory", "full").code == 0
    assert "time_sense" not in blocks(mentis, home)
    assert mentis("--home", home, "prompts", "undo", "--reset").code == 0
    assert "Tick fair." in told(mentis, home)


def test_a_fault_in_a_manifest_copied_in_place_is_named_with_its_file(
    mentis: Mentis, home: Home
) -> None:
    manifest = origin_set(home / "prompts") / "_meta" / "prompt_manifest.json"
    document = json.loads(manifest.read_text(encoding="utf-8"))
    document["prompts"]["time_sense"]["target"] = "nowhere"
    manifest.write_text(json.dumps(document), encoding="utf-8")
    done = mentis("--home", home, "prompts", "check")
    assert done.code == 1
    assert "prompt_manifest.json:1:" in done.out


def test_export_and_import_carry_everything(mentis: Mentis, home: Home, tmp_path: Path) -> None:
    edit = ("prompts", "edit", "style", "--variant", "default", "--text", "Rhyme.")
    mentis("--home", home, *edit)
    mentis("--home", home, "prompts", "new", "mine", "--text", "My rule.")
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    assert mentis("--home", home, "prompts", "export", first, "--no-date").code == 0
    other = tmp_path / "other"
    mentis("init", other)
    dry = mentis("--home", other, "prompts", "import", first, "--mode", "replace", "--dry-run")
    assert "mine" in dry.out
    assert "mine" not in blocks(mentis, other)
    done = mentis("--home", other, "prompts", "import", first, "--mode", "replace")
    assert done.code == 0, done.err
    assert "Rhyme." in told(mentis, other)
    mentis("--home", other, "prompts", "export", second, "--no-date")
    assert first.read_bytes() == second.read_bytes()


def test_a_file_that_is_no_export_is_refused(mentis: Mentis, home: Home, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"not a zip")
    done = mentis("--home", home, "prompts", "import", tmp_path / "x.zip")
    assert done.code == 1
    assert done.err.startswith("mentis: ")


def test_no_conflicts_on_a_fresh_home(mentis: Mentis, home: Home) -> None:
    assert mentis("--home", home, "prompts", "conflicts").code == 0
    assert mentis("--home", home, "prompts", "conflicts", "--take", "ours").code == 2


def test_a_conflict_shows_all_three_sides_and_is_settled(mentis: Mentis, home: Home) -> None:
    edit = ("prompts", "edit", "style", "--variant", "default", "--text", "Mine.")
    mentis("--home", home, *edit)
    overrides = home / "prompts" / "_meta" / "overrides.json"
    data = json.loads(overrides.read_text())
    base = data["overrides"]["style"]["variants.default"]
    base["value"], base["digest"] = {"content": "As it was once."}, "sha256:0"
    overrides.write_text(json.dumps(data))
    done = mentis("--home", home, "prompts", "conflicts")
    assert done.code == 1
    for text in ("As it was once.", "Mine.", "--- theirs"):
        assert text in done.out
    settle = ("prompts", "conflicts", "style", "variants.default", "--take", "ours")
    assert mentis("--home", home, *settle).code == 0
    assert mentis("--home", home, "prompts", "conflicts").code == 0
    assert "Mine." in told(mentis, home)


@pytest.mark.parametrize("target", ["../evil.json", "/evil.json", "_meta/x.json", "a/b.json"])
def test_a_domain_file_never_leads_out_of_the_home(mentis: Mentis, home: Home, target: str) -> None:
    done = mentis(
        "--home", home, "prompts", "new", "evil", "--text", "x", "--set", f"domain_file={target}"
    )
    assert done.code == 1
    assert "evil" not in blocks(mentis, home)
    assert not (home.parent / "evil.json").exists()


def test_the_largest_prompt_file_is_a_setting(
    mentis: Mentis, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "long " * 400
    assert mentis("--home", home, "prompts", "new", "long", "--text", text).code == 0
    monkeypatch.setenv("MENTIS_LIMITS__PROMPT_FILE_BYTES", "1024")
    done = mentis("--home", home, "prompts", "check")
    assert done.code == 1
    assert "limits.prompt_file_bytes" in done.out


def test_with_several_personas_an_edit_counts_and_tells_what_it_does_to_each(
    mentis: Mentis, home: Home
) -> None:
    mentis("--home", home, "persona", "new", "bob")
    done = mentis("--home", home, "prompts", "edit", "style", "--text", "Rhyme.")
    assert done.code == 0, done.err
    assert "ada on default (script): " in done.out
    assert "bob on default (script): " in done.out
    one = mentis("--home", home, "prompts", "edit", "style", "--text", "No.", "--persona", "bob")
    assert (one.out.count("bob on"), one.out.count("ada on")) == (1, 0)
    (home / "personas" / "bob" / "persona.toml").write_text("broken")
    other = mentis("--home", home, "prompts", "toggle", "style", "--off")
    assert other.code == 0
    assert "ada on default (script): " in other.out
    assert "bob" not in other.out


def test_preview_is_what_is_sent_persona_memory_and_policies_included(
    mentis: Mentis, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    mentis("--home", home, "persona", "files", "memory", "--text", "- Lena plays the cello.")
    mentis("--home", home, "prompts", "new", "odd", "--text", "Odd {{nobody_knows}} end.")
    for policy in ("keep", "empty"):
        monkeypatch.setenv("MENTIS_PLACEHOLDERS__SYSTEM_PROMPT", policy)
        shown: Any = mentis("--home", home, "prompts", "preview", "--json").json()
        sent: Any = mentis("--home", home, "render").json()
        told = "".join(span["text"] for span in shown["request"]["system_instruction"])
        assert sent["messages"][0]["content"] == told
        assert "cello" in told


def test_a_value_that_changes_every_turn_is_refused_in_a_stable_block(
    mentis: Mentis, home: Home
) -> None:
    args = ("prompts", "new", "clock", "--text", "It is {{current_time}}.")
    done = mentis("--home", home, *args, "--set", "stability=stable")
    assert done.code == 1
    assert "changes every turn" in done.err
    assert "clock" not in blocks(mentis, home)
    assert mentis("--home", home, *args).code == 0
    manifest = home / "prompts" / "_meta" / "user_manifest.json"
    data = json.loads(manifest.read_text())
    data["prompts"]["clock"]["stability"] = "stable"
    manifest.write_text(json.dumps(data))
    assert mentis("--home", home, "chat", "Hi").code == 0
    assert "prompt-turn-in-stable" in mentis("--home", home, "prompts", "check").out


def test_changes_that_exclude_each_other_are_refused(mentis: Mentis, home: Home) -> None:
    mentis("--home", home, "prompts", "new", "mine", "--text", "one")
    both = mentis("--home", home, "prompts", "edit", "mine", "--rename", "other", "--text", "two")
    assert both.code == 2
    assert "mine" in blocks(mentis, home)


def test_force_is_there_wherever_it_is_asked_for(mentis: Mentis, home: Home) -> None:
    own = ("prompts", "new", "law", "--text", "Be fair.", "--set", "trust=constitution")
    assert mentis("--home", home, *own).code == 1
    assert mentis("--home", home, *own, "--force").code == 0
    for args in (("order", "law=60"), ("copy", "law", "law2"), ("rm", "law")):
        refused = mentis("--home", home, "prompts", *args)
        assert refused.code == 1
        assert "force" in refused.err
        assert mentis("--home", home, "prompts", *args, "--force").code == 0


def test_nothing_stands_before_the_constitution(mentis: Mentis, home: Home) -> None:
    mentis("--home", home, "prompts", "new", "pushy", "--text", "First!", "--order", "1")
    shown: Any = mentis("--home", home, "prompts", "preview", "--json").json()
    assert shown["request"]["system_instruction"][0]["block"] == "constitution"


def test_somebody_elses_edit_is_not_overwritten_by_an_open_editor(
    mentis: Mentis, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow_editor(text: str, **_: object) -> str:
        mentis("--home", home, "prompts", "edit", "style", "--text", "Theirs.")
        return text + " Mine."

    monkeypatch.setattr("click.edit", slow_editor)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    done = mentis("--home", home, "prompts", "edit", "style")
    assert done.code == 1
    assert "Theirs." in told(mentis, home)


@pytest.mark.parametrize(
    "part",
    [
        "append", "prefill", "first", "dialog", "sequence",
        "summary", "afterthought", "followup", "autofill",
    ],
)  # fmt: skip
def test_prompts_for_other_occasions_can_be_seen(mentis: Mentis, home: Home, part: str) -> None:
    assert mentis("--home", home, "prompts", "preview", "--part", part).code == 0
    assert mentis("--home", home, "prompts", "preview", "--part", part, "--json").json()
