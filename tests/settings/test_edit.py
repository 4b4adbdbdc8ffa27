"""One setting changes, every other byte stays."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import SettingsError
from mentis.settings.edit import changed_text

TEXT = """\
# mine
format = 1

[ledger]  # the log
origin = "old"  # why
anchors = [
  "file:a", # first
]

[routes]
default = { model = "x" }
"""


def change(text: str, **changes: str | list[str]) -> str:
    return changed_text(text, "ledger", changes, file="mentis.toml")


def test_a_value_is_replaced_where_it_stands() -> None:
    assert change(TEXT, origin="new") == TEXT.replace('"old"', '"new"')


def test_a_list_over_several_lines_is_replaced_as_a_whole() -> None:
    changed = change(TEXT, anchors=["file:a", "git:b"])
    assert 'anchors = ["file:a", "git:b"]\n\n[routes]' in changed
    assert changed.startswith(TEXT[: TEXT.index("anchors")])


def test_a_new_setting_goes_below_the_header_of_its_section() -> None:
    assert change(TEXT, public_key="k") == TEXT.replace(
        "# the log\n", '# the log\npublic_key = "k"\n'
    )


def test_a_section_that_is_not_there_is_put_at_the_end() -> None:
    text = "format = 1\n[routes]\ndefault = {}"
    changed = change(text, origin="o", public_key="k")
    assert changed == f'{text}\n\n[ledger]\norigin = "o"\npublic_key = "k"\n'


@pytest.mark.parametrize(
    "text", ['ledger = { store = "sqlite" }\n', 'ledger.store = "sqlite"\n[routes]\n']
)
def test_a_section_written_otherwise_is_left_alone_and_the_line_is_told(text: str) -> None:
    with pytest.raises(SettingsError, match="cannot be changed for you") as caught:
        change(text, origin="o")
    assert 'origin = "o"' in caught.value.hint


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), max_size=40))
def test_whatever_is_written_is_read_back(value: str) -> None:
    changed = change(TEXT, origin=value)
    assert tomllib.loads(changed)["ledger"]["origin"] == value
    assert change(changed, origin="old") == TEXT
