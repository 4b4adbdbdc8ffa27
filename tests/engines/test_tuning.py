"""Options that the packaged model is asked with in a talk."""

from __future__ import annotations

from pathlib import Path

from mentis.app.agent import Agent
from mentis.engines.catalogue import language_warning, tuned_for_talk
from mentis.home.create import create_home
from mentis.values.options import CallOptions
from mentis.values.route import Route


def test_the_packaged_model_alone_is_tuned_and_what_the_owner_chose_goes_before() -> None:
    route = Route("r", "embedded", "smollm2-135m")
    tuned = tuned_for_talk(route).options
    assert (tuned.stop, tuned.repetition_penalty) == (("\n\n",), 1.05)
    own = Route("r", "embedded", "smollm2-135m", options=CallOptions(stop=("END",)))
    assert tuned_for_talk(own).options.stop == ("END",)
    for other in (Route("r", "embedded", "/m/other.gguf"), Route("r", "openai", "smollm2-135m")):
        assert tuned_for_talk(other) is other


def test_a_message_is_rendered_with_them(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "home")
    agent = Agent.open(home)
    try:
        payload = agent.render("Hello!").payload
    finally:
        agent.close()
    assert (payload["stop"], payload["repeat_penalty"]) == (["\n\n"], 1.05)
    assert payload["dry_multiplier"] == 0.8


def test_a_language_that_it_does_not_speak_is_warned_of() -> None:
    assert language_warning("smollm2-135m", "english") == ""
    assert language_warning("smollm2-135m", "en-GB") == ""
    assert language_warning("smollm2-135m", "Deutsch") != ""
    assert language_warning("other", "Deutsch") == ""
