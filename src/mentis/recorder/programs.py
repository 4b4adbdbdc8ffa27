"""Programs that call models: what makes each of them call the recorder instead.

A server that a program is set up for already (a variable, its own settings) stays the one that is
called in the end. Facts as of 2026-11; where they were read stands beside them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from mentis.errors import RouteError
from mentis.facts.presets import PRESETS
from mentis.net.targets import host_of, is_loopback
from mentis.values.json import JsonObject, json_object

from .targets import CallTarget, address_at, target_of

_ANTHROPIC = "https://api.anthropic.com"
_OPENAI = PRESETS["openai"].url
_GEMINI = PRESETS["gemini"].url
# With a ChatGPT login: github.com/headroomlabs-ai/headroom/pull/398
_CODEX = "https://chatgpt.com/backend-api/codex"
# The official clients of each provider read the first of these, LiteLLM (aider) the others too.
_VARIABLES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("ANTHROPIC_BASE_URL",), _ANTHROPIC),
    (("OPENAI_BASE_URL", "OPENAI_API_BASE"), _OPENAI),
    (("GOOGLE_GEMINI_BASE_URL",), _GEMINI),
)
# Ollama's client and the programs with LiteLLM: docs.ollama.com/faq, docs.litellm.ai (Ollama).
_OLLAMA = ("OLLAMA_HOST", "OLLAMA_API_BASE")
_OLLAMA_PORTS = {"": 11434, "http": 80, "https": 443}
_ONLY_IF_SET = ("ANTHROPIC_API_BASE", "GOOGLE_VERTEX_BASE_URL")
# With these Claude Code calls a cloud by other variables.
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_NOT_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(slots=True)
class ProgramStart:
    """How a program is started: its command, the variables that are set, and targets that nobody
    had named before. `servers` are those that it is set up for; `notes` say what is not recorded.
    `local` are the variables that lead to this machine whatever else is set.
    """

    command: tuple[str, ...]
    base: str
    given: Mapping[str, str]
    folder: Path
    project: Path
    targets: dict[str, CallTarget]
    environ: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])
    servers: list[CallTarget] = field(default_factory=list[CallTarget])
    local: set[str] = field(default_factory=set[str])

    def through(self, upstream: str, *, usual: bool = False) -> str:
        """The address at the recorder that leads to this one. `usual`: nobody chose it."""
        target = target_of(upstream, self.targets)
        self.targets.setdefault(target.name, target)
        if not usual:
            self.servers.append(target)
        return address_at(self.base, target, upstream)


_Setup: TypeAlias = Callable[[ProgramStart], None]


def program_name(command: Sequence[str]) -> str:
    """What a recorded program is called: its file, as an id."""
    bare = Path(command[0]).stem.lower() if command else ""
    return _NOT_NAME.sub("-", bare).strip("-_")[:64] or "program"


def prepare_program(
    command: Sequence[str],
    base: str,
    targets: Mapping[str, CallTarget],
    *,
    environ: Mapping[str, str],
    folder: Path | None = None,
    project: Path | None = None,
) -> ProgramStart:
    """`base` is where the recorder listens; `folder` is that of the user, `project` the one that
    the program is started in. RouteError where what it is set up for must not be called.
    """
    places = folder or Path.home(), project or Path.cwd()
    start = ProgramStart(tuple(command), base, environ, *places, dict(targets))
    _set_variables(start)
    _set_up_ollama(start)
    setup = _SETUPS.get(program_name(command))
    if setup is not None:
        setup(start)
    _keep_from_proxies(start)
    return start


def _set_variables(start: ProgramStart) -> None:
    for names, usual in _VARIABLES:
        found = next((start.given[name] for name in names if start.given.get(name)), usual)
        for name in names:
            start.environ[name] = start.through(start.given.get(name) or found)
    for name in _ONLY_IF_SET:
        if start.given.get(name):
            start.environ[name] = start.through(start.given[name])


def _set_up_ollama(start: ProgramStart) -> None:
    """Its own format has no key, so it may be anywhere near: what cannot be led here is told."""
    chosen = next((start.given[name] for name in _OLLAMA if start.given.get(name)), "")
    for name in _OLLAMA:
        upstream = ollama_address(start.given.get(name) or chosen)
        try:
            start.environ[name] = start.through(upstream, usual=not chosen)
        except RouteError as error:
            start.notes.append(f"{name} is not led here, and not recorded: {error.message}")
            continue
        if is_loopback(host_of(upstream)):
            start.local.add(name)


def ollama_address(told: str) -> str:
    """What a variable of Ollama says, as an address: a host or a port alone will do there."""
    scheme, found, rest = told.strip().rpartition("://")
    place, slash, path = rest.partition("/")
    host, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = place, ""
    elif ":" in host and not host.startswith("["):  # the number of a host, in the form with colons
        host, port = f"[{place}]", ""
    if host.strip("[]") in ("", "0.0.0.0", "::"):  # noqa: S104  # where it listens, not where it is
        host = "127.0.0.1"
    number = port if port.isdecimal() else str(_OLLAMA_PORTS.get(scheme if found else "", 80))
    return f"{scheme or 'http'}://{host}:{number}{slash}{path}".rstrip("/")


def _keep_from_proxies(start: ProgramStart) -> None:
    """What goes to this machine goes through no proxy of the environment."""
    names = {name.upper() for name in start.given}
    if not names.intersection(_PROXIES):
        return
    for name in ("NO_PROXY", "no_proxy"):
        known = [one for one in start.given.get(name, "").split(",") if one]
        start.environ[name] = ",".join(dict.fromkeys((*known, "127.0.0.1", "localhost", "::1")))


def _set_up_claude(start: ProgramStart) -> None:
    """Its own settings come before the environment, and those of a project before those of the
    user: docs.claude.com, "settings".
    """
    folder = Path(start.given.get("CLAUDE_CONFIG_DIR") or start.folder / ".claude")
    own = start.project / ".claude"
    chosen: dict[str, object] = {}
    for file in (folder / "settings.json", own / "settings.json", own / "settings.local.json"):
        chosen |= json_object(_read_json(file).get("env"))
    name = "ANTHROPIC_BASE_URL"
    if isinstance(upstream := chosen.get(name), str) and upstream:
        start.environ[name] = start.through(upstream)
        override = json.dumps({"env": {name: start.environ[name]}})
        start.command = (start.command[0], "--settings", override, *start.command[1:])
    for cloud in _CLOUDS:
        if start.given.get(cloud) or chosen.get(cloud):
            start.notes.append(f"{cloud} is set: what Claude Code asks there is not recorded")


def _set_up_codex(start: ProgramStart) -> None:
    """It reads no variable; `openai_base_url` counts for keys and for logins. A provider of its
    own is led here by its own address.
    """
    folder = Path(start.given.get("CODEX_HOME") or start.folder / ".codex")
    config = _read_toml(folder / "config.toml")
    profile = json_object(json_object(config.get("profiles")).get(_profile(start, config)))
    provider = str(profile.get("model_provider") or config.get("model_provider") or "openai")
    own = json_object(json_object(config.get("model_providers")).get(provider))
    if provider != "openai":
        if not isinstance(upstream := own.get("base_url"), str):
            start.notes.append(f"Codex is set up for {provider!r}, whose address is not known here")
            return
        key = f"model_providers.{provider}.base_url"
    else:
        key, upstream = "openai_base_url", config.get("openai_base_url")
        if not isinstance(upstream, str):
            upstream = _CODEX if _has_login(folder, start.given) else _OPENAI
    address = json.dumps(start.through(upstream))
    start.command = (start.command[0], "-c", f"{key}={address}", *start.command[1:])


def _profile(start: ProgramStart, config: JsonObject) -> str:
    """The profile that is chosen on the command line, else in the file."""
    words = start.command
    for place, word in enumerate(words):
        if word in ("-p", "--profile") and place + 1 < len(words):
            return words[place + 1]
        if word.startswith("--profile="):
            return word.partition("=")[2]
    return str(config.get("profile") or "")


def _has_login(folder: Path, environ: Mapping[str, str]) -> bool:
    known = _read_json(folder / "auth.json")
    return bool(known.get("tokens")) and not (
        known.get("OPENAI_API_KEY") or environ.get("CODEX_API_KEY")
    )


def _set_up_opencode(start: ProgramStart) -> None:
    """Settings in this variable are merged last: opencode.ai/docs, "config" and "providers"."""
    name = "OPENCODE_CONFIG_CONTENT"
    try:
        known: object = json.loads(start.given.get(name) or "{}")
    except ValueError:
        start.notes.append(f"{name} is no JSON: opencode was not set up")
        return
    files = [_read_json(file) for file in _opencode_files(start)]
    stated = [json_object(one.get("provider")) for one in (*files, json_object(known))]
    providers = dict(stated[-1])
    usual = {"anthropic": f"{_ANTHROPIC}/v1", "openai": _OPENAI}
    for provider in dict.fromkeys((*usual, *(name for one in stated for name in one))):
        found = [_opencode_address(one, provider) for one in reversed(stated)]
        upstream = next((one for one in found if one), usual.get(provider, ""))
        if not upstream:
            continue
        own = json_object(providers.get(provider))
        options = {**json_object(own.get("options")), "baseURL": start.through(upstream)}
        providers[provider] = {**own, "options": options}
    start.environ[name] = json.dumps({**json_object(known), "provider": providers})


def _opencode_files(start: ProgramStart) -> Iterator[Path]:
    """The later ones count more."""
    folder = Path(start.given.get("XDG_CONFIG_HOME") or start.folder / ".config") / "opencode"
    places = [folder / "config.json", folder / "opencode.json"]
    if chosen := start.given.get("OPENCODE_CONFIG"):
        places.append(Path(chosen))
    places.append(start.project / "opencode.json")
    for file in places:
        if file.with_suffix(".jsonc").exists():
            unread = file.with_suffix(".jsonc")
            start.notes.append(f"{unread} is not read: a server that it names is not recorded")
        yield file


def _opencode_address(providers: JsonObject, provider: str) -> str:
    found = json_object(json_object(providers.get(provider)).get("options")).get("baseURL")
    return found if isinstance(found, str) else ""


_SETUPS: Mapping[str, _Setup] = {
    "claude": _set_up_claude,
    "codex": _set_up_codex,
    "opencode": _set_up_opencode,
}


def _read_json(file: Path) -> JsonObject:
    """Settings of another program: what cannot be read says nothing."""
    try:
        return json_object(json.loads(file.read_bytes()))
    except (OSError, ValueError):
        return {}


def _read_toml(file: Path) -> JsonObject:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
