"""Every point of the prompt editor, driven in a real browser by what a person sees."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect
from tests.surfaces.studio.browser import StudioWindow, needs_browser, window
from tests.surfaces.studio.studio_home import PERSONA, StudioHome

from mentis.library.shelf import Shelf
from mentis.prompts.prompts import Prompts

pytestmark = [needs_browser, pytest.mark.slow]
PAGES = ("new", "preview", "kinds", "placeholders", "check", "conflicts", "files", "memory")


@pytest.fixture
def owner(visitor: StudioWindow) -> Generator[StudioWindow]:
    """Somebody who may write. Nothing may go wrong in their console."""
    visitor.go("/studio/prompts")
    visitor.turn_on_writing()
    yield visitor
    assert visitor.faults == []


@pytest.fixture
def prompts(studio: StudioHome) -> Generator[Prompts]:
    """The same prompts, as another program has them."""
    with Prompts.open(studio.served.home) as opened:
        yield opened


def new_block(prompts: Prompts, block_id: str, text: str, **meta: Any) -> None:  # noqa: ANN401
    named = {"name": block_id.replace("_", " ").capitalize(), **meta}
    prompts.editor.create(block_id, meta=named, variants={"default": {"content": text}})


def text_of(prompts: Prompts, block_id: str, variant: str = "default") -> str:
    return prompts.block(block_id).variants[variant].content


def editor(owner: StudioWindow, label: str) -> Locator:
    return owner.page.get_by_role("textbox", name=label, exact=True)


def write(owner: StudioWindow, label: str, text: str) -> None:
    """In place of what is there."""
    editor(owner, label).click()
    owner.page.keyboard.press("Control+a")
    owner.page.keyboard.insert_text(text)


def save(owner: StudioWindow) -> None:
    owner.click("Save")
    expect(owner.page.get_by_role("status")).to_have_text("Nothing changed")
    owner.see("Saved. It counts from the next turn on.")


def answer(owner: StudioWindow, label: str) -> None:
    """In the question that is asked."""
    owner.press(owner.page.get_by_role("dialog").get_by_role("button", name=label, exact=True))


def names(owner: StudioWindow, category: str) -> list[str]:
    return owner.page.locator(f'[data-category="{category}"] .entry .name').all_inner_texts()


# 1. The list


def test_a_category_is_folded_and_a_block_switched_off_and_on(
    owner: StudioWindow, prompts: Prompts
) -> None:
    summary = owner.page.get_by_text("Persona", exact=True).first
    entry = owner.page.get_by_role("link", name=re.compile("persona_description"))
    expect(entry).to_be_visible()
    summary.click()
    expect(entry).to_be_hidden()
    summary.click()
    switch = owner.page.get_by_role("switch", name="Emotion")
    switch.click()
    owner.see("Emotion is off")
    expect(switch).not_to_be_checked()
    assert not prompts.block("emotion").enabled
    switch.click()
    owner.see("Emotion is on")
    assert prompts.block("emotion").enabled


def test_a_block_is_moved_by_keys_and_by_dragging(owner: StudioWindow, prompts: Prompts) -> None:
    before = names(owner, "context")
    handle = owner.page.get_by_label(re.compile(f"^Move {re.escape(before[1])}:"))
    handle.focus()
    owner.page.keyboard.press("ArrowUp")
    owner.see(f"{before[1]} stands at")
    moved = [before[1], before[0], *before[2:]]
    owner.reload()
    assert names(owner, "context") == moved
    rows = owner.page.locator('[data-category="context"] .entry')
    rows.nth(0).locator("[data-handle]").drag_to(rows.nth(2), target_position={"x": 40, "y": 38})
    owner.see(f"{moved[0]} stands at")
    owner.reload()
    assert names(owner, "context")[:3] == [moved[1], moved[2], moved[0]]
    told = [one.name for one in prompts.loaded_library.library.blocks if one.category == "context"]
    assert told[:3] == [moved[1], moved[2], moved[0]]


def test_a_search_says_where_it_found_a_block(owner: StudioWindow) -> None:
    owner.key("Control+f")
    field = owner.page.get_by_label("Search blocks")
    expect(field).to_be_focused()
    owner.page.keyboard.type("honest")
    owner.key("Enter")
    owner.see("in its description")
    owner.see("in its text")
    owner.press(owner.page.get_by_role("link", name=re.compile("^Constitution")))
    owner.page.wait_for_url("**/studio/prompts/constitution")


# 2. The form


def test_every_setting_of_a_block_is_edited_and_unknown_fields_pass_through(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "form_rule", "Be kind.", odd={"kept": [1, 2]})
    owner.go("/studio/prompts/form_rule")
    page = owner.page
    page.get_by_label("Name", exact=True).fill("Rule of the form")
    page.get_by_label("Category").select_option("context")
    page.get_by_label("Description").fill("Made in a form")
    page.get_by_label("Never cut where room is short").check()
    page.get_by_label("Goes to").select_option("message")
    page.get_by_label("Position").select_option("history")
    page.get_by_label("Order").fill("450.5")
    page.get_by_label("Tags, with commas").fill("one, two")
    page.get_by_role("checkbox", name="beat", exact=True).check()
    page.get_by_label("Needs one of these placeholders").fill("char_name, user_name")
    page.get_by_label("Needs all of these").fill("char_name")
    page.get_by_label("Needs none of these").fill("input")
    page.get_by_label("Only for this variant").fill("experimental")
    page.get_by_label("Stays the same").select_option("session")
    page.get_by_label("Group: one of it is told").fill("mood")
    page.get_by_label("Stays or goes with").fill("style")
    page.get_by_label("Priority where room is short").fill("7")
    page.get_by_label("At most so many tokens").fill("90")
    other = page.get_by_label("Other fields, as JSON: they are passed through")
    assert '"kept"' in other.input_value()
    other.fill('{"odd": {"kept": [1, 2]}, "more": true}')
    save(owner)
    made = prompts.block("form_rule")
    assert (made.name, made.category, made.description) == (
        "Rule of the form",
        "context",
        "Made in a form",
    )
    assert (made.target, made.position, made.order) == ("message", "history", 450.5)
    assert (made.tags, made.modes) == (("one", "two"), ("beat",))
    assert made.requires_any == ("char_name", "user_name")
    assert (made.requires_all, made.requires_none) == (("char_name",), ("input",))
    assert (made.variant_condition, made.stability) == ("experimental", "session")
    assert (made.group, made.keep_with, made.required) == ("mood", "style", True)
    assert (made.priority, made.max_tokens) == (7, 90)
    assert made.extra == {"manifest": {"odd": {"kept": [1, 2]}, "more": True}}
    expect(page.get_by_role("heading", level=1)).to_have_text("Rule of the form")


# 3. Wordings


def test_wordings_are_tabs_and_one_that_goes_before_is_told(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "worded", "Be kind.")
    owner.go("/studio/prompts/worded")
    tabs = owner.page.get_by_label("Wordings")
    expect(tabs.get_by_role("link", name=re.compile("^default told"))).to_be_visible()
    expect(tabs.get_by_role("link", name="experimental not written")).to_be_visible()
    owner.click("New wording")
    owner.page.get_by_role("dialog").get_by_label("Variant").fill("default@english")
    answer(owner, "Write it")
    owner.page.wait_for_url("**variant=default%40english")
    write(owner, "Text of default@english", "Be kinder.")
    save(owner)
    expect(tabs.get_by_role("link", name=re.compile("^default@english told"))).to_be_visible()
    owner.press(tabs.get_by_role("link", name="default", exact=True))
    owner.see("is told instead of")
    owner.click("Edit default@english", role="link")
    owner.click("Take the wording default@english away")
    owner.see("The wording default@english is taken away")
    assert list(prompts.block("worded").variants) == ["default"]


# 4. The text


def test_placeholders_are_marked_and_completed(owner: StudioWindow, prompts: Prompts) -> None:
    new_block(prompts, "typed", "Hello {{user_name}}.")
    owner.go("/studio/prompts/typed")
    expect(owner.page.locator(".key", has_text="{{user_name}}")).to_be_visible()
    editor(owner, "Text of default").click()
    owner.page.keyboard.press("Control+End")
    owner.page.keyboard.type(" I am {{char_na")
    owner.page.get_by_role("option", name=re.compile("^char_name")).first.click()
    owner.page.keyboard.type(" of {{nowhere}}")
    expect(owner.page.locator(".key.strange", has_text="{{nowhere}}")).to_be_visible()
    owner.see("(not registered)")
    expect(editor(owner, "Text of default")).to_have_text(
        "Hello {{user_name}}. I am {{char_name}} of {{nowhere}}"
    )
    owner.click("Save")
    owner.see("Save with unknown placeholders?")
    answer(owner, "Go back")
    assert text_of(prompts, "typed") == "Hello {{user_name}}."
    owner.click("Save")
    answer(owner, "Save all the same")
    owner.see("Saved.")
    assert text_of(prompts, "typed").endswith("I am {{char_name}} of {{nowhere}}")
    owner.faults.clear()  # the refusal that was asked about is a red line of the console


# 5. Several messages


def test_a_dialogue_is_written_message_by_message(owner: StudioWindow, prompts: Prompts) -> None:
    owner.click("New block", role="link")
    page = owner.page
    page.get_by_label("Id: small letters, digits, dashes").fill("my_talk")
    page.get_by_label("Name").fill("My talk")
    page.get_by_label("Kind").select_option("multi_turn")
    page.get_by_label("Text").fill("Are you there?")
    owner.click("Create the block")
    owner.see("The block is there")
    owner.click("Add a message")
    write(owner, "Message 2", "I am, {{user_name}}.")
    owner.click("Add a message")
    write(owner, "Message 3", "Good.")
    save(owner)
    said = prompts.block("my_talk").variants["default"].messages
    assert [(one.role, one.content) for one in said] == [
        ("user", "Are you there?"),
        ("assistant", "I am, {{user_name}}."),
        ("user", "Good."),
    ]
    page.get_by_label("the assistant").check()
    owner.click("Message 3 up")
    owner.click("Remove message 3")
    save(owner)
    said = prompts.block("my_talk").variants["default"].messages
    assert [(one.role, one.content) for one in said] == [
        ("assistant", "Are you there?"),
        ("user", "Good."),
    ]


# 6. Placeholders


def test_placeholders_are_listed_made_used_and_deleted(
    owner: StudioWindow, prompts: Prompts
) -> None:
    prompts.editor.create(
        "uses_city",
        meta={"name": "Uses a city"},
        variants={"default": {"content": "From {{home_town}}."}},
    )
    owner.click("Placeholders", role="link")
    row = owner.page.locator("tr", has=owner.page.get_by_text("char_name", exact=True))
    expect(row).to_contain_text("Ada")
    owner.press(owner.page.get_by_role("link", name=re.compile("^Used, not registered")))
    owner.click("Register home_town")
    owner.page.get_by_label("Text it stands for").fill("Bonn")
    owner.click("Create")
    owner.see("{{home_town}} can be used now")
    owner.press(owner.page.get_by_role("link", name=re.compile("^Yours")))
    row = owner.page.locator("#p-home_town")
    expect(row).to_contain_text("Bonn")
    expect(row.get_by_role("link", name="uses_city")).to_be_visible()
    owner.click("Delete home_town")
    answer(owner, "Delete")
    owner.see("{{home_town}} is removed")
    owner.press(owner.page.get_by_role("link", name=re.compile("^Registered, not used")))
    owner.see("no block")
    assert "home_town" not in prompts.loaded_library.library.placeholders


# 7. Previews


def test_a_block_is_shown_as_it_would_be_told_while_it_is_written(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "shown", "Hello.")
    owner.go("/studio/prompts/shown")
    owner.page.get_by_label("Persona", exact=True).select_option(PERSONA)
    write(owner, "Text of default", "I am {{char_name}}.")
    told = owner.page.get_by_label("As it is told")
    expect(told.locator("pre.told")).to_have_text("I am Ada.")
    expect(told).to_contain_text("tokens")
    assert text_of(prompts, "shown") == "Hello."
    owner.click("Discard")
    answer(owner, "Discard")
    owner.see("Nothing was changed.")


def test_the_whole_prompt_the_chat_and_a_category_are_shown_with_tokens(
    owner: StudioWindow,
) -> None:
    owner.click("Preview", role="link")
    owner.see("in the system prompt,")
    for part in ("Appended to the system prompt", "First message of the assistant"):
        owner.see(part)
    owner.see("Beginning of the answer")
    owner.click("Chat", role="link")
    owner.see("Order of the messages")
    owner.click("By category", role="link")
    owner.page.get_by_label("Category").select_option("persona")
    owner.page.wait_for_url("**category=persona**")
    owner.click("persona_description", role="link")
    owner.page.wait_for_url("**/studio/prompts/persona_description**")


# 8. Kinds of requests


def test_every_kind_of_request_stands_side_by_side_and_opens_its_blocks(
    owner: StudioWindow,
) -> None:
    owner.key("Control+Shift+k")
    owner.page.wait_for_url("**/-/kinds")
    for label in ("Chat", "Persona memory", "Afterthought", "Summary", "Autofill", "Utility"):
        heading = owner.page.get_by_role("heading", name=label, exact=True, level=2)
        expect(heading).to_be_visible()
    owner.press(owner.page.get_by_role("link", name="session_title"))
    owner.page.wait_for_url("**/studio/prompts/session_title")


# 9. Checking


def test_a_problem_leads_to_the_field_where_it_is_mended(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "doubtful", "Be kind.", keep_with="nobody_here")
    owner.click("Check", role="link")
    owner.press(owner.page.get_by_role("link", name=re.compile("keep_with|nobody_here")).first)
    owner.page.wait_for_url("**/studio/prompts/doubtful#f-keep_with")
    owner.settle()  # what is written before its scripts are there is not seen
    field = owner.page.get_by_label("Stays or goes with")
    expect(field).to_be_focused()
    field.fill("")
    save(owner)
    owner.go("/studio/prompts/-/check")
    found = owner.page.get_by_role("link", name=re.compile("keep_with|nobody_here"))
    expect(found).to_have_count(0)
    owner.see("What is loaded")
    prompts.editor.delete("doubtful")


# 10. New, duplicate, rename, delete, restore; files


def test_a_block_is_made_copied_renamed_deleted_and_brought_back(
    owner: StudioWindow, prompts: Prompts
) -> None:
    page = owner.page
    owner.key("Alt+n")
    page.wait_for_url("**/-/new")
    page.get_by_label("Id: small letters, digits, dashes").fill("made_here")
    page.get_by_label("Name").fill("Made here")
    page.get_by_label("Text").fill("Be kind.")
    owner.click("Create the block")
    page.wait_for_url("**/studio/prompts/made_here")
    owner.key("Control+Shift+d")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Id of the copy").fill("copied_here")
    answer(owner, "Duplicate")
    page.wait_for_url("**/studio/prompts/copied_here")
    assert text_of(prompts, "copied_here") == "Be kind."
    owner.click("Rename")
    page.get_by_role("dialog").get_by_label("New id").fill("renamed_here")
    answer(owner, "Rename")
    page.wait_for_url("**/studio/prompts/renamed_here")
    owner.click("Delete")
    answer(owner, "Delete")
    owner.see("This block was removed")
    assert prompts.loaded_library.library.block("renamed_here") is None
    owner.click("Undo")
    owner.see("The last change is taken back")
    assert text_of(prompts, "renamed_here") == "Be kind."


def test_a_shipped_block_is_restored(owner: StudioWindow, prompts: Prompts) -> None:
    shipped = text_of(prompts, "dynamics")
    owner.go("/studio/prompts/dynamics?variant=default")
    write(owner, "Text of default", "Let things happen.")
    save(owner)
    assert text_of(prompts, "dynamics") == "Let things happen."
    owner.click("Restore the shipped block")
    answer(owner, "Restore")
    owner.see("It is as shipped")
    assert text_of(prompts, "dynamics") == shipped


def test_prompts_are_exported_imported_by_a_plan_and_reset(
    owner: StudioWindow, prompts: Prompts, tmp_path: Path
) -> None:
    new_block(prompts, "travels", "Be kind.")
    owner.click("Import and export", role="link")
    with owner.page.expect_download() as waiting:
        owner.click("Save all prompts as a file", role="link")
    file = tmp_path / "prompts.zip"
    waiting.value.save_as(file)
    prompts.editor.delete("travels")
    owner.page.get_by_label("Zip file").set_input_files(file)
    owner.click("Show what it would do")
    owner.see("What it would do")
    expect(owner.page.locator(".plan li", has_text="travels")).to_contain_text("add")
    owner.click("Import these")
    owner.see("The prompts are imported")
    assert text_of(prompts, "travels") == "Be kind."
    owner.click("Take the last import back")
    owner.see("The last import is taken back")
    assert prompts.loaded_library.library.block("travels") is None
    prompts.editor.save("topics", variants={"default": {"content": "Anything."}})
    owner.click("Reset all prompts")
    answer(owner, "Reset")
    owner.see("The prompts are as shipped")
    assert text_of(prompts, "topics") != "Anything."
    owner.click("Take the last reset back")
    owner.see("The last reset is taken back")
    assert text_of(prompts, "topics") == "Anything."


# 11. What is not saved, and others at the same block


def test_what_is_not_saved_is_told_kept_and_asked_about(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "unsaved", "Be kind.")
    owner.go("/studio/prompts/unsaved")
    page = owner.page
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    write(owner, "Text of default", "Be kinder to {{user_name}}.")
    page.get_by_label("Description").fill("Kindness")
    owner.see("Not saved: the words, description")
    kept = "!window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert page.evaluate(kept)
    owner.click("All blocks", role="link")
    owner.see("Save what you changed?")
    answer(owner, "Stay")
    expect(editor(owner, "Text of default")).to_have_text("Be kinder to {{user_name}}.")
    owner.click("All blocks", role="link")
    answer(owner, "Save")
    page.wait_for_url("**/studio/prompts")
    assert text_of(prompts, "unsaved") == "Be kinder to {{user_name}}."
    layer = prompts.loaded_library.owner.domains["unsaved.json"]["unsaved"]
    assert layer["placeholders_used"] == ["user_name"]


def test_the_second_of_two_tabs_is_told_and_sees_both_texts(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "shared", "Be kind.")
    owner.go("/studio/prompts/shared")
    other = StudioWindow(owner.page.context.new_page(), owner.url)
    other.go("/studio/prompts/shared")
    second = other.page
    expect(second.get_by_text("also open in another window").first).to_be_visible()
    second.get_by_role("textbox", name="Text of default", exact=True).click()
    second.keyboard.press("Control+a")
    second.keyboard.insert_text("Be kind and slow.")
    write(owner, "Text of default", "Be kind and quick.")
    save(owner)
    expect(second.get_by_text("saved elsewhere meanwhile").first).to_be_visible()
    second.get_by_role("button", name="Compare").click()
    saved = second.get_by_role("textbox", name="What is saved now")
    expect(saved).to_have_text("Be kind and quick.")
    expect(second.get_by_role("textbox", name="What you wrote")).to_have_text("Be kind and slow.")
    assert text_of(prompts, "shared") == "Be kind and quick."
    second.get_by_role("button", name="Save mine over it").click()
    expect(second.get_by_text("Saved.").first).to_be_visible()
    assert text_of(prompts, "shared") == "Be kind and slow."
    expect(owner.page.get_by_text("this is how it is now").first).to_be_visible()
    expect(editor(owner, "Text of default")).to_have_text("Be kind and slow.")


def test_who_saves_over_a_newer_state_is_refused_and_sees_both_texts(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "raced", "Be kind.")
    owner.go("/studio/prompts/raced")
    write(owner, "Text of default", "Be quick.")
    prompts.editor.save("raced", variants={"default": {"content": "Be slow."}})
    owner.click("Save")
    owner.see("Somebody else saved this block")
    expect(owner.page.get_by_role("textbox", name="What is saved now")).to_have_text("Be slow.")
    expect(owner.page.get_by_role("textbox", name="What you wrote")).to_have_text("Be quick.")
    assert text_of(prompts, "raced") == "Be slow."
    owner.click("Take what is saved now")
    owner.see("This is what is saved now")
    expect(editor(owner, "Text of default")).to_have_text("Be slow.")
    owner.faults.clear()  # the refusal is a red line of the console


# 12. History and upgrades


def test_changes_are_shown_undone_redone_and_any_revision_brought_back(
    owner: StudioWindow, prompts: Prompts
) -> None:
    new_block(prompts, "told_twice", "Be kind.")
    owner.go("/studio/prompts/told_twice")
    write(owner, "Text of default", "Be quick.")
    owner.page.get_by_label("Why: kept with the revision").fill("too slow")
    save(owner)
    owner.click("Undo")
    owner.see("The last change is taken back")
    expect(editor(owner, "Text of default")).to_have_text("Be kind.")
    owner.click("Redo")
    owner.see("The undo is taken back")
    expect(editor(owner, "Text of default")).to_have_text("Be quick.")
    owner.press(owner.page.get_by_role("link", name=re.compile("revisions$")))
    owner.press(owner.page.get_by_role("link", name=re.compile("save: too slow")))
    expect(owner.page.locator(".diff .added")).to_contain_text("Be quick.")
    expect(owner.page.locator(".diff .removed")).to_contain_text("Be kind.")
    owner.click("Go back to 1")
    owner.see("It is as in revision 1")
    assert text_of(prompts, "told_twice") == "Be kind."


def test_a_shipped_text_that_changed_stands_beside_yours(
    owner: StudioWindow, prompts: Prompts
) -> None:
    prompts.editor.save("relationship", variants={"default": {"content": "We are friends."}})
    pretend_older_base(prompts.shelf, "relationship")
    owner.click("Conflicts", role="link")
    owner.see("relationship")
    expect(owner.page.get_by_role("textbox", name="Yours")).to_have_text("We are friends.")
    owner.click("Keep mine")
    owner.see("Yours is kept")
    owner.see("There is none.")
    assert text_of(prompts, "relationship") == "We are friends."


def pretend_older_base(shelf: Shelf, block_id: str) -> None:
    """As if what was shipped when the owner changed it had been another text."""
    file = next((shelf.root / "_meta").glob("*override*"))
    text = file.read_text("utf-8")
    at = text.index(f'"{block_id}"')
    digest = re.compile(r"sha256:[0-9a-f]{64}")
    file.write_text(text[:at] + digest.sub(f"sha256:{'0' * 64}", text[at:], count=1), "utf-8")


# 13. Keys


def test_every_page_is_a_key_away(owner: StudioWindow) -> None:
    for keys, path in (("p", "preview"), ("k", "kinds"), ("n", "new")):
        owner.go("/studio/prompts")
        owner.key(f"Control+Shift+{keys}")
        owner.page.wait_for_url(f"**/-/{path}")
    owner.go("/studio/prompts/-/check")
    owner.see("Revision")
    owner.go("/studio/prompts/style?variant=default")
    write(owner, "Text of default", "Be brief.")
    owner.key("Control+s")
    owner.see("Saved.")


# 14. Memory files


def test_memory_files_are_edited_reset_and_switched(owner: StudioWindow) -> None:
    owner.click("Memory files", role="link")
    page = owner.page
    write(owner, "memory.md", "- Likes the cello.")
    owner.click("Save")
    owner.see("Saved. It is told from the next turn on.")
    expect(editor(owner, "memory.md")).to_have_text("- Likes the cello.")
    owner.click("soul.md", role="link")
    owner.see("only the template")
    owner.click("memory.md", role="link")
    owner.click("Put the template back")
    answer(owner, "Put it back")
    owner.see("The template is back")
    owner.click("Undo")
    owner.see("The last change is taken back")
    expect(editor(owner, "memory.md")).to_have_text("- Likes the cello.")
    page.get_by_label(re.compile("persona_memory")).uncheck()
    page.get_by_label("Brought up to date").select_option("rare")
    owner.click("Save how they are used")
    owner.see("It counts from the next turn on")
    expect(page.get_by_label(re.compile("persona_memory"))).not_to_be_checked()
    expect(page.get_by_label("Brought up to date")).to_have_value("rare")
    page.get_by_label(re.compile("persona_memory")).check()
    owner.click("Save how they are used")
    owner.see("It counts from the next turn on")


def test_a_reader_changes_nothing(browser: Browser, studio: StudioHome) -> None:
    with window(browser, studio) as reader:
        reader.go("/studio/prompts/style")
        reader.see("Turn on writing to change prompts")
        expect(reader.page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
        expect(reader.page.get_by_label("Description")).to_be_disabled()
        reader.page.get_by_role("textbox", name=re.compile("^Text of")).click()
        reader.page.keyboard.type("No.")
        expect(reader.page.get_by_role("textbox", name=re.compile("^Text of"))).not_to_contain_text(
            "No."
        )
        assert reader.faults == []


@pytest.mark.parametrize(
    "path",
    ["", "?q=honest", "/style", "/style/history", *(f"/-/{name}" for name in PAGES)],
)
def test_pages_fit_are_readable_and_quiet(owner: StudioWindow, path: str) -> None:
    owner.check_page(f"/studio/prompts{path}")
