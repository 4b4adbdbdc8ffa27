from __future__ import annotations

from pathlib import Path

import pytest

from mentis.codec.toml import parse_toml, read_text
from mentis.errors import PersonaError, SettingsError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = \n", r"^f:2:5: not TOML: Invalid value$"),
        ("a = 1\na = 2\n", r"^f:2:\d+: not TOML: Cannot overwrite a value$"),
        ('a = """', r"^f:1:8: not TOML: "),
        ("\ufeffa = 1", "^f:1:1: begins with a byte order mark$"),
        ("a = " + "[" * 5000, r"^f:1:1: nested too deeply|not TOML"),
        ("a = " + "9" * 5000, r"^f:1:1: not TOML: Exceeds the limit"),
    ],
)
def test_what_is_not_toml_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        parse_toml(text, "f", error=SettingsError)
    assert caught.value.facts["file"] == "f"


def test_what_is_toml_is_read() -> None:
    assert parse_toml("[a]\nb = 1\n", "f", error=SettingsError) == {"a": {"b": 1}}


def test_bytes_that_are_not_utf_8_are_named_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes("a = 1\nb = 'ü".encode() + b"\xff'\n")
    with pytest.raises(PersonaError, match=r"x\.toml:2:7: not UTF-8: byte 0xff"):
        read_text(file, error=PersonaError)
    file.write_bytes("ä = 1\n".encode())
    assert read_text(file, error=PersonaError) == "ä = 1\n"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_text(tmp_path / "none", error=SettingsError)
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        read_text(tmp_path, error=SettingsError)
