"""IDENTITY.md: what was filled in is read, what the template says is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mentis.exchange.identities import AgentIdentity, read_identity


def test_values_beside_their_names_and_below_them_are_read() -> None:
    text = "# Who am I\n- **Name:** Fox\n- **Creature:**\n  _a paper fox_\n* Vibe: dry, kind\n"
    assert read_identity(text) == AgentIdentity("Fox", "a paper fox", "dry, kind")


def test_a_hint_of_the_template_is_no_value() -> None:
    text = "- **Name:**\n- **Vibe:**\n  _(how do you come across?)_\n- **Emoji:** 🦊\n"
    assert read_identity(text) == AgentIdentity(emoji="🦊")


@given(st.text(max_size=300))
def test_whatever_is_written_the_name_is_one_line(text: str) -> None:
    assert read_identity(f"- **Name:** {text}").name.isprintable()
