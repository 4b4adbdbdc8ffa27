from __future__ import annotations

import os
from pathlib import Path

import pytest

from mentis.errors import BadInput
from mentis.ledger.channel.folder import StatusFolder
from mentis.status.contexts import read_context


@pytest.fixture
def folder(tmp_path: Path) -> StatusFolder:
    return StatusFolder(tmp_path / "status" / "ada")


def test_what_the_owner_wrote_is_handed_out(folder: StatusFolder) -> None:
    folder.make()
    (folder.path / "persistent_context.json").write_text('{"team": "größe"}', encoding="utf-8")
    assert read_context(folder, "persistent_context") == {"team": "größe"}
    assert read_context(folder, "project_awareness") == {}


def test_without_a_folder_there_is_nothing(folder: StatusFolder) -> None:
    assert read_context(folder, "persistent_context") == {}


@pytest.mark.parametrize("text", ["[]", '{"a": 1, "a": 2}', "{", '{"a": NaN}'])
def test_what_has_not_one_meaning_is_refused_by_name(folder: StatusFolder, text: str) -> None:
    folder.make()
    (folder.path / "project_awareness.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"project_awareness\.json") as caught:
        read_context(folder, "project_awareness")
    assert caught.value.hint


def test_a_pipe_or_a_link_is_refused_without_waiting(folder: StatusFolder) -> None:
    folder.make()
    os.mkfifo(folder.path / "persistent_context.json")
    (folder.path / "project_awareness.json").symlink_to(folder.path)
    with pytest.raises(BadInput, match="pipe"):
        read_context(folder, "persistent_context")
    with pytest.raises(BadInput, match="link"):
        read_context(folder, "project_awareness")
