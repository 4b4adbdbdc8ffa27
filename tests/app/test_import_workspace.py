"""Skills, instructions and workspaces of agents become part of a home; nothing of them is run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from mentis import Agent, Personas, Prompts, create_home
from mentis.codec.forms import to_json
from mentis.errors import BadInput, UsageError
from mentis.homes import import_file, plan_file_import, undo_import
from mentis.memories.memories import Memories
from mentis.recall.skills import read_skills
from mentis.values.span import join_spans
from mentis.values.trust import Trust

SKILL = "---\nname: pdf-forms\ndescription: Fills forms.\nallowed-tools: Bash\n---\nDo it.\n"
WORKSPACE = {
    "SOUL.md": "# Soul\n- I would rather say too little.\n",
    "IDENTITY.md": "- **Name:** Fox\n- **Creature:** a paper fox\n- Vibe: dry\n- Emoji: 🦊\n",
    "USER.md": "- Lena prefers mornings.\n",
    "MEMORY.md": "- The cello is in the attic.\n",
    "AGENTS.md": "Ask before sending {{mail}}.\n",
    "HEARTBEAT.md": "- look at the inbox\n",
    "memory/2026-01-31.md": "## Morning\nWe packed.\n\n## Evening\nWe left.\n",
    "skills/forms/SKILL.md": SKILL,
    "skills/forms/scripts/fill.sh": "touch /tmp/never\n",
    ".git/config": "secret",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _folder(tmp_path: Path, files: Mapping[str, str], name: str = "work") -> Path:
    for file, text in files.items():
        path = tmp_path / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / name


def _zip(tmp_path: Path, files: Mapping[str, str | bytes], name: str = "work.zip") -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    (tmp_path / name).write_bytes(buffer.getvalue())
    return tmp_path / name


async def test_a_workspace_becomes_a_persona_with_its_files_memories_blocks_and_skills(
    home: Path, tmp_path: Path
) -> None:
    made = import_file(home, _folder(tmp_path, WORKSPACE))
    assert (made.plan.format, made.personas, made.blocks) == (
        "agent workspace", ("fox",), ("fox-agents",),
    )  # fmt: skip
    with Personas.open(home) as personas:
        persona = personas.read("fox")
        assert (persona.name, persona.type, persona.trust) == (
            "Fox",
            "a paper fox",
            Trust.REFERENCE,
        )
        files = {one.name: one.text for one in personas.memory("fox").files()}
        assert files["soul"] == WORKSPACE["SOUL.md"]
        assert files["relationship"] == WORKSPACE["USER.md"]
        assert [one.name for one in personas.memory("fox").pending_changes("soul")] == ["soul"]
    with Memories.open(home, persona="fox") as memories:
        found = sorted((one.text, one.time, one.worth) for one in memories.list())
    assert [one[0] for one in found] == ["## Evening\nWe left.", "## Morning\nWe packed."]
    assert {one[1:] for one in found} == {("2026-01-31T00:00:00.000000Z", Trust.UNTRUSTED)}
    assert [one.name for one in read_skills(home / "skills").skills] == ["pdf-forms"]
    async with Agent.open(home, persona="fox") as agent:
        request = agent.compose("Hello.").request
    (block,) = (one for one in request.system_instruction if one.block == "fox-agents")
    assert (block.text, block.trust) == ("Ask before sending {{ mail }}.", Trust.REFERENCE)
    told = [*request.system_instruction, *request.runtime_ctx.spans, *request.context_summary]
    (soul,) = (one for one in told if "say too little" in one.text)
    assert soul.trust is Trust.UNTRUSTED


def test_the_plan_shows_scripts_names_what_is_lost_and_writes_nothing(
    home: Path, tmp_path: Path
) -> None:
    plan = plan_file_import(home, _folder(tmp_path, WORKSPACE))
    assert [one.part for one in plan.losses] == [
        "emoji of IDENTITY.md",
        "1 words in double braces in AGENTS.md",
        "HEARTBEAT.md",
        "allowed-tools of pdf-forms",
        ".git",
    ]
    assert plan.shown == ("skills/forms/scripts/fill.sh, never run: touch /tmp/never\n",)
    assert not (home / "imports").exists() or not list((home / "imports").glob("0*"))


def test_undo_takes_all_of_it_back_and_keeps_it_aside(home: Path, tmp_path: Path) -> None:
    import_file(home, _folder(tmp_path, WORKSPACE))
    undo_import(home)
    with Personas.open(home) as personas, Prompts.open(home) as prompts:
        assert personas.ids() == ("ada",)
        assert "fox-agents" not in prompts.loaded_library.owner.prompts
    assert not (home / "skills/forms").exists()
    kept = home / "imports/0001"
    assert (kept / "files/skills/forms/SKILL.md").read_text() == SKILL
    assert (kept / "personas/fox/memory/soul.md").read_text() == WORKSPACE["SOUL.md"]
    with zipfile.ZipFile(kept / "original.zip") as original:
        assert original.read("USER.md").decode() == WORKSPACE["USER.md"]
    made = import_file(home, tmp_path / "work")
    assert made.number == 2


def test_a_folder_of_skills_and_a_packed_one_become_skills_that_cannot_be_executed(
    home: Path, tmp_path: Path
) -> None:
    other = SKILL.replace("pdf-forms", "letters")
    bad = "---\nname: broken\n---\n"
    folder = {"a/SKILL.md": SKILL, "a/scripts/x.py": "1", "b/SKILL.md": bad, "c/SKILL.md": other}
    made = import_file(home, _folder(tmp_path, folder))
    assert made.plan.format == "skills"
    assert [one.part for one in made.plan.losses if one.part.startswith("skill")] == ["skill b/"]
    assert [one.name for one in read_skills(home / "skills").skills] == ["letters", "pdf-forms"]
    assert not (home / "skills/a/scripts/x.py").stat().st_mode & 0o111
    packed = _zip(tmp_path, {"mine/SKILL.md": SKILL.replace("pdf-forms", "third")}, "mine.skill")
    assert import_file(home, packed).files == ("skills/third/SKILL.md",)
    with pytest.raises(BadInput, match="already"):
        import_file(home, packed)


async def test_instructions_alone_are_for_all_or_for_one(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("Use small commits.\n@other.md\n", encoding="utf-8")
    made = import_file(home, file, persona="ada")
    assert (made.plan.format, made.blocks) == ("agent instructions", ("ada-agents",))
    assert [one.part for one in made.plan.losses] == ["@other.md in AGENTS.md"]
    async with Agent.open(home) as agent:
        told = join_spans(agent.compose("Hello.").request.system_instruction)
    assert "Use small commits." in told
    undo_import(home)
    project = _folder(tmp_path, {"AGENTS.md": "Be brief.", "CLAUDE.md": "@AGENTS.md\n"}, "project")
    assert import_file(home, project).blocks == ("project-agents",)


def test_blocks_that_are_for_all_are_promoted_by_their_ids(home: Path, tmp_path: Path) -> None:
    made = import_file(home, _folder(tmp_path, {"AGENTS.md": "Be brief."}, "project"))
    with Personas.open(home) as personas:
        promoted = personas.promote_blocks(made.blocks, reason="I read it")
        entry = personas.record("ada").latest(1)[0]
        with pytest.raises(UsageError, match="nothing to promote"):
            personas.promote_blocks(made.blocks, reason="again")
    assert entry.index == promoted.entry
    assert b'"blocks":["project-agents"]' in to_json(entry)
    with Prompts.open(home) as prompts:
        assert prompts.block("project-agents").trust is Trust.OWNER


def test_instructions_of_subfolders_are_named_as_a_loss(home: Path, tmp_path: Path) -> None:
    files = {"AGENTS.md": "Be brief.", "web/agents.md": "No.", "skills/forms/SKILL.md": SKILL}
    files |= {"skills/forms/AGENTS.md": "Copied.", "api/v1/CLAUDE.md": "Nor this."}
    plan = plan_file_import(home, _folder(tmp_path, files))
    lost = [one.part for one in plan.losses if one.part.endswith(".md")]
    assert lost == ["api/v1/CLAUDE.md", "web/agents.md"]


def test_a_soul_that_is_too_long_becomes_a_block_and_memories_lose_nothing(
    home: Path, tmp_path: Path
) -> None:
    soul, memory = "I am long. " * 1000, "\n".join(f"# {n}\n{'x' * 200}" for n in range(100))
    folder = _folder(tmp_path, {"SOUL.md": soul, "MEMORY.md": memory}, "Grete")
    made = import_file(home, folder)
    assert made.blocks == ("grete-soul",)
    assert len(made.memories) == 100
    assert [one.reason for one in made.plan.losses] == [
        "too long for soul.md, so it is a block that is always told"
    ]


@pytest.mark.parametrize("name", ["../SOUL.md", "/SOUL.md", "a\\..\\SOUL.md"])
def test_a_zip_that_leads_out_of_its_folder_is_refused(
    home: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(BadInput):
        import_file(home, _zip(tmp_path, {name: "x", "SOUL.md": "y"}))


def test_bombs_links_and_broken_texts_do_no_harm(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="too large"):
        import_file(home, _zip(tmp_path, {"SOUL.md": b"x" * 30_000_000}))
    with pytest.raises(BadInput, match="not UTF-8"):
        import_file(home, _zip(tmp_path, {"SOUL.md": b"\xff\xfe\x00"}))
    folder = _folder(tmp_path, {"SOUL.md": "I am.\n"})
    (folder / "USER.md").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)
    plan = plan_file_import(home, folder)
    assert [(one.part, one.reason) for one in plan.losses] == [
        ("USER.md", "a link, which is not followed"),
        ("loop", "a link, which is not followed"),
    ]
    with Personas.open(home) as personas:
        assert personas.ids() == ("ada",)


def test_a_folder_with_nothing_known_says_what_is_known(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing in it is recognised"):
        plan_file_import(home, _folder(tmp_path, {"readme.txt": "hello"}))


def test_a_set_of_prompts_is_sent_to_its_own_command(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a set of prompts") as refused:
        plan_file_import(home, _zip(tmp_path, {"_meta/prompt_manifest.json": "{}", "x.json": "{}"}))
    assert "mentis prompts import work.zip" in refused.value.hint
