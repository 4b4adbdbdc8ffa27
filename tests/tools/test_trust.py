"""What an owner says yes to: all that would be run, and every secret that would be handed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mentis.errors import OutsideHome, SettingsError
from mentis.settings.acts import ToolSettings
from mentis.tools.trust import source_digest


def trusted(home: Path, **given: Any) -> str | None:  # noqa: ANN401  # its fields
    return source_digest(home, ToolSettings(**given))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"command": ("a",)}, {"command": ("a", "b")}),
        ({"command": ("a b",)}, {"command": ("a", "b")}),
        ({"command": ("a",)}, {"command": ("a",), "env": ("TOKEN",)}),
        ({"command": ("a",)}, {"command": ("a",), "cwd": "x"}),
        (
            {"url": "https://a.example", "key_env": "K"},
            {"url": "https://b.example", "key_env": "K"},
        ),
        (
            {"url": "https://a.example", "key_env": "K"},
            {"url": "https://a.example", "key_env": "L"},
        ),
        ({"module": "a"}, {"module": "b"}),
    ],
)
def test_another_one_is_not_trusted(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert trusted(tmp_path, **one) not in (None, trusted(tmp_path, **other))
    assert trusted(tmp_path, **one) == trusted(tmp_path, **one, enabled=True)


def test_a_file_counts_with_what_is_in_it_also_as_a_word_of_a_command(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("one")
    before = trusted(tmp_path, file="mine.py"), trusted(tmp_path, command=("python", "mine.py"))
    file.write_text("two")
    after = trusted(tmp_path, file="mine.py"), trusted(tmp_path, command=("python", "mine.py"))
    assert not set(before) & set(after)


def test_what_runs_nothing_and_gets_no_secret_needs_no_trust(tmp_path: Path) -> None:
    assert trusted(tmp_path, url="https://a.example") is not None  # what it says is a prompt
    (tmp_path / "api.json").write_text("{}")
    assert trusted(tmp_path, document="api.json", operations=("list",)) is None
    (tmp_path / "api.json").write_text("{}", encoding="utf-8")
    keys = {"bearer": "TOKEN"}
    assert trusted(tmp_path, document="api.json", operations=("list",), keys=keys) is not None


@pytest.mark.parametrize("file", ["../mine.py", "/etc/passwd"])
def test_a_file_outside_of_the_home_is_none_of_it(tmp_path: Path, file: str) -> None:
    with pytest.raises(OutsideHome):
        trusted(tmp_path, file=file)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        trusted(tmp_path, file="mine.py")


def test_code_beside_what_is_run_counts_and_what_a_program_writes_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "main.py").write_text("import helper", encoding="utf-8")
    command, module = ("python", "server/main.py"), ("python", "-m", "main")

    def digests() -> tuple[str | None, str | None]:
        return trusted(tmp_path, command=command), trusted(tmp_path, command=module, cwd="server")

    before = digests()
    (folder / "notes.txt").write_text("written", encoding="utf-8")
    (tmp_path / "mine.py").write_text("elsewhere", encoding="utf-8")
    assert digests() == before
    for name in ("helper.py", "deep/json.py", "__pycache__/helper.cpython-311.pyc"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("pass", encoding="utf-8")
        assert not set(digests()) & set(before)
        before = digests()
    (folder / "linked").symlink_to(tmp_path.parent)
    assert not set(digests()) & set(before)


def test_a_program_with_more_code_beside_it_than_can_be_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.tools.trust._MOST_FILES", 1)
    (tmp_path / "main.py").write_text("", encoding="utf-8")
    (tmp_path / "other.py").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match="more code beside it"):
        trusted(tmp_path, command=("python", "main.py"))


def test_a_document_that_says_where_keys_go_counts_with_what_is_in_it(tmp_path: Path) -> None:
    given = {"document": "api.json", "operations": ("list",), "keys": {"bearer": "TOKEN"}}
    (tmp_path / "api.json").write_text("{}", encoding="utf-8")
    before = trusted(tmp_path, **given)
    (tmp_path / "api.json").write_text('{"paths": {}}', encoding="utf-8")
    assert trusted(tmp_path, **given) != before
