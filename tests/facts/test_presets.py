"""Every preset is a route that works, says where it was read, and pairs its key with its host."""

from __future__ import annotations

import re

import pytest

from mentis.call.dialects import KEY_SERVERS
from mentis.facts.abilities import abilities
from mentis.facts.presets import PRESETS
from mentis.net.targets import check_target, origin_of
from mentis.render.wires import render_for
from mentis.settings.routes import RouteSettings
from mentis.values.options import CallOptions
from mentis.values.request import PromptRequest

SERVED = [name for name, preset in PRESETS.items() if preset.backend != "embedded"]


@pytest.mark.parametrize("name", SERVED)
def test_a_preset_says_which_page_it_was_read_from(name: str) -> None:
    assert re.match(r"https://\S+$", PRESETS[name].source)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", PRESETS[name].read)


@pytest.mark.parametrize("name", SERVED)
def test_a_preset_makes_a_route_with_its_facts(name: str) -> None:
    preset = PRESETS[name]
    own = {} if preset.url else {"url": "https://mine.example/v1"}
    route = RouteSettings(preset=name, model="m", **own).as_route("r")  # pyright: ignore[reportArgumentType]  # a url
    check_target(route.url, with_key=bool(route.key_env))
    abilities(route)
    assert (route.backend, route.key_env) == (preset.backend, preset.key_env)


def test_a_key_is_paired_with_the_host_of_its_preset_and_with_no_other() -> None:
    expected = {
        (one.key_env, origin_of(one.url)) for one in PRESETS.values() if one.key_env and one.url
    }
    assert expected | {("GOOGLE_API_KEY", origin_of(PRESETS["gemini"].url))} == KEY_SERVERS


def test_the_quirks_of_a_preset_reach_the_payload() -> None:
    options, asked = CallOptions(seed=1, top_k=4), PromptRequest(current_text="Hi")
    mistral = RouteSettings(preset="mistral", model="m").as_route("r").calling(options)
    assert render_for("openai-chat", asked, mistral).payload["random_seed"] == 1
    ollama = RouteSettings(preset="ollama", model="m").as_route("r").calling(options)
    made = render_for("openai-chat", asked, ollama)
    assert "top_k" not in made.payload
    assert [loss.pointer for loss in made.losses] == ["/top_k"]
