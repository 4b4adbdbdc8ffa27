from __future__ import annotations

from pathlib import Path

import pytest

from mentis.compose.purposes import Policies
from mentis.errors import HomeTooNew, RouteError, SettingsError
from mentis.settings.settings import Settings, describe
from mentis.settings.sources import FILE, LiveSettings, load_settings
from mentis.values.options import CallOptions


def load(tmp_path: Path, text: str, **environ: str) -> Settings:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    return load_settings(tmp_path, environ)


def origins(settings: Settings) -> dict[str, tuple[object, str]]:
    return {s.key: (s.value, s.origin) for s in settings.effective()}


def test_without_a_file_or_variables_the_embedded_model_answers_compactly() -> None:
    route = load_settings(None, {}).route()
    assert (route.backend, route.model, route.variant) == ("embedded", "smollm2-135m", "compact")
    assert (route.context_tokens, route.max_tokens) == (4096, 128)


def test_one_line_points_the_default_route_to_another_model_file(tmp_path: Path) -> None:
    route = load(tmp_path, '[routes]\ndefault = { model = "/m/other.gguf" }\n').route()
    assert (route.backend, route.model, route.variant) == ("embedded", "/m/other.gguf", "compact")


def test_one_line_points_the_default_route_to_any_server(tmp_path: Path) -> None:
    line = '[routes]\ndefault = { url = "http://127.0.0.1:8080/v1", model = "big" }\n'
    route = load(tmp_path, line).route()
    assert (route.backend, route.model, route.variant) == ("openai", "big", "default")
    assert (route.context_tokens, route.max_tokens) == (32768, 1024)


def test_the_environment_wins_over_the_file_and_each_value_tells_its_origin(
    tmp_path: Path,
) -> None:
    text = "format = 1\n[routes.default]\nmax_tokens = 99\nseed = 3\n[store]\nbusy_seconds = 2\n"
    settings = load(tmp_path, text, MENTIS_ROUTES__DEFAULT__MAX_TOKENS="64", MENTIS_HOME="/x")
    found = origins(settings)
    assert found["routes.default.max_tokens"] == (
        64,
        "environment MENTIS_ROUTES__DEFAULT__MAX_TOKENS",
    )
    assert found["routes.default.seed"] == (3, "mentis.toml:4")
    assert found["store.busy_seconds"] == (2.0, "mentis.toml:6")
    assert found["limits.message_chars"] == (100_000, "default")


def test_options_of_a_route_are_set_in_the_file_and_by_variables(tmp_path: Path) -> None:
    text = "[routes.default]\ntemperature = 0.1\n[routes.default.options]\ntop_p = 0.9\n"
    settings = load(tmp_path, text, MENTIS_ROUTES__DEFAULT__OPTIONS__STOP='["END"]')
    route = settings.route()
    assert (route.temperature, route.options) == (0.1, CallOptions(top_p=0.9, stop=("END",)))
    assert origins(settings)["routes.default.options.top_p"] == (0.9, "mentis.toml:4")


def test_an_option_that_cannot_be_sent_is_refused_where_it_stands(tmp_path: Path) -> None:
    text = '[routes.default.options]\nheaders = { Authorization = "Bearer x" }\n'
    with pytest.raises(SettingsError, match="'Authorization' is a header for keys"):
        load(tmp_path, text)


def test_a_key_with_a_dot_in_it_is_found_where_it_stands(tmp_path: Path) -> None:
    text = '\n[routes."m.1"]\n\nmodel = "x.gguf"\n'
    assert origins(load(tmp_path, text))["routes.m.1.model"] == ("x.gguf", "mentis.toml:4")


def test_credentials_in_an_address_are_never_printed(tmp_path: Path) -> None:
    text = "[routes.x]\nurl='http://u:hunter2@h/v1'\nmodel='m'\n"
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    assert "hunter2" not in str(caught.value.as_problem())


def test_a_second_route_may_be_named_and_default_stays(tmp_path: Path) -> None:
    settings = load(tmp_path, '[routes.big]\nurl = "https://h/v1"\nmodel = "m"\n')
    assert settings.route("big").backend == "openai"
    assert settings.route().backend == "embedded"
    with pytest.raises(RouteError, match="'bog'") as caught:
        settings.route("bog")
    assert caught.value.hint == "did you mean 'big'?"
    with pytest.raises(RouteError) as caught:
        settings.route("zzz")
    assert caught.value.hint.startswith(
        "known: big, default; or BACKEND/MODEL with one of anthropic"
    )
    assert {"llamacpp,", "vllm,"} <= set(caught.value.hint.split())


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("rotes = 1\n", r"mentis\.toml:1:1: unknown setting 'rotes'", "'routes'"),
        (
            "[routes.default]\nmodle = 'x'\n",
            r"mentis\.toml:2:1: unknown setting 'routes.default.modle'",
            "'model'",
        ),
        ("[store]\nbusy_second = 1\n", r":2:1: unknown setting", "'busy_seconds'"),
        ("[limits]\nzzz = 1\n", r":2:1: unknown setting 'limits.zzz'", "settings.md"),
        (
            "[features]\ncortexenabled = true\n",
            r":2:1: unknown setting 'features.cortexenabled'",
            "'cortexEnabled'",
        ),
        ("[features]\ncortexEnabled = 'perhaps'\n", r":2:1: features.cortexEnabled: ", ""),
        ("[placeholders]\nmessage = 'drop'\n", r":2:1: placeholders.message: ", ""),
        ("[store]\n\nbusy_seconds = 'long'\n", r":3:1: store.busy_seconds: .*'long'", ""),
        ("name = 'No Spaces'\n", r":1:1: name: ", ""),
        ("routes = 3\n", r":1:1: routes: ", ""),
        ("[routes.default]\nbackend = 'openai'\n", r"routes.default: .* needs a url", ""),
        ("[routes.default]\nurl = 'http://127.0.0.1/v1'\n", "a url and a model", ""),
        ("[routes.default]\nbackend='embedded'\nurl='http://h'\n", "url is for", ""),
        ("[routes.default]\nbackend='embedded'\nreplies=['x']\n", "replies are for", ""),
        ("a = 1\n= 1\n", r"mentis\.toml:2:1: not TOML: ", "correct"),
        ("\ufeffformat = 1\n", r"mentis\.toml:1:1: begins with a byte order mark", "without"),
        ("[routes.x]\nurl='http://u:hunter2@h/v1'\nmodel='m'\n", "carries credentials", ""),
        ("[routes.x]\nurl='http://169.254.1.1/v1'\nmodel='m'\n", "link-local", ""),
    ],
)
def test_a_wrong_file_is_reported_with_place_and_hint(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        load(tmp_path, text)
    assert hint in caught.value.hint


def test_every_problem_is_reported_not_only_the_first(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="and 1 more") as caught:
        load(tmp_path, "rotes = 1\n[store]\nbusy = 1\n")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MENTIS_ROTES__X__MODEL", "m", "environment MENTIS_ROTES__X__MODEL: unknown setting"),
        ("MENTIS_STORE__BUSY_SECONDS", "soon", "environment MENTIS_STORE__BUSY_SECONDS: .*'soon'"),
        ("MENTIS_FORMAT__X", "1", "'format' is not a section"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, name: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load(tmp_path, "format = 1\n", **{name: value})


@pytest.mark.parametrize(("value", "enabled"), [("false", False), ("0", False), ("true", True)])
def test_a_variable_finds_its_setting_whatever_the_spelling(
    tmp_path: Path, value: str, enabled: bool
) -> None:
    settings = load(
        tmp_path,
        "[features]\ncortexEnabled = true\n",
        MENTIS_FEATURES__CORTEXENABLED=value,
        MENTIS_LIMITS__MEMORY_CHARS="99",
    )
    assert settings.model.features.persona_memory is enabled
    assert settings.model.limits.memory_chars == 99
    origin = "environment MENTIS_FEATURES__CORTEXENABLED"
    assert origins(settings)["features.persona_memory"] == (enabled, origin)


def test_persona_memory_is_on_by_default() -> None:
    model = load_settings(None, {}).model
    assert model.features.persona_memory
    assert model.limits.memory_chars == 8000


def test_policies_for_placeholders_come_from_settings(tmp_path: Path) -> None:
    settings = load(tmp_path, '[placeholders]\nsystem_prompt = "error"\nprefill = "empty"\n')
    assert settings.policies == Policies("error", "keep", "empty", history_tokens=32_000)


def test_live_settings_follow_the_file_and_survive_a_slip_in_it(tmp_path: Path) -> None:
    load(tmp_path, "[features]\ncortexEnabled = true\n")
    live = LiveSettings(tmp_path, {})
    first, fault = live.current()
    assert first.model.features.persona_memory
    assert fault is None
    assert live.current()[0] is first
    load(tmp_path, "[features]\ncortexEnabled = false\n")
    assert not live.current()[0].model.features.persona_memory
    (tmp_path / FILE).write_text("[features\n", encoding="utf-8")
    held, fault = live.current()
    assert not held.model.features.persona_memory
    assert isinstance(fault, SettingsError)
    (tmp_path / FILE).unlink()
    assert isinstance(live.current()[1], SettingsError)


def test_a_home_of_a_newer_format_is_named_before_its_unknown_keys(tmp_path: Path) -> None:
    with pytest.raises(HomeTooNew, match="format 99") as caught:
        load(tmp_path, "format = 99\nbrand_new = true\n")
    assert caught.value.facts["known"] == 1


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"format = 1 # \xff\n")
    with pytest.raises(SettingsError, match=r"mentis\.toml:1:14: not UTF-8: byte 0xff"):
        load_settings(tmp_path, {})
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path, {})


def test_every_setting_is_described() -> None:
    described = describe()
    keys = [setting.key for setting in described]
    assert {"format", "name", "routes.NAME.model", "store.busy_seconds"} <= set(keys)
    assert all(setting.doc for setting in described)
    assert all(setting.type for setting in described)
