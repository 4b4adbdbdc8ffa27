"""Models that this machine has already: servers that run, keys that are set, files on its disk.

Nothing is read of a key but that it is there, and nothing leaves this machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
from anyio import to_thread

from mentis.call.model_list import PRODUCTS, ServedModel, list_models
from mentis.engines.catalogue import TEST_ENGINE
from mentis.engines.gguf_files import (
    GgufFile,
    ModelFolder,
    added_models,
    check_writes,
    find_gguf,
    model_folders,
)
from mentis.errors import ProviderRefused, ProviderUnreachable, RouteError
from mentis.facts.presets import PRESETS, RoutePreset
from mentis.net.targets import host_of, is_loopback, origin_of
from mentis.settings.change import SettingChange, open_settings
from mentis.settings.routes import direct_names, direct_route
from mentis.values.route import Route
from mentis.values.value import Value

SourceKind: TypeAlias = Literal["server", "key", "file", "embedded"]
RouteLine: TypeAlias = Mapping[str, str | int]
_SECONDS = 0.8  # a server on this machine that takes longer than that is not ready to talk
_TITLES = {"ollama": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "lmstudio": "LM Studio"}
_USUAL_ROOM = 32768  # of a route to a server, where nothing else is said
# Ollama and LM Studio give a model this much unless they are told otherwise.
_UNTOLD_ROOM = 4096
_CUTTING = ("ollama", "lmstudio")
_BIG = 1_000_000_000  # bytes; a model that fills them follows the whole wording
_PER_SERVER = 4


@dataclass(frozen=True, slots=True)
class FoundModel(Value):
    """A model that could answer. `route` is the line that would be written for it, `notes` is what
    one should know before.
    """

    kind: SourceKind
    place: str
    model: str
    detail: str = ""
    route: RouteLine = field(default_factory=dict[str, str | int], hash=False)
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        about = f" ({self.detail})" if self.detail else ""
        return f"{self.model} at {self.place}{about}"


@dataclass(frozen=True, slots=True)
class ModelSearch(Value):
    """`models`, the best first; `silent` are the places where no server answered, with the command
    that starts one; `folders` are those that were looked into.
    """

    models: tuple[FoundModel, ...]
    silent: tuple[tuple[str, str], ...]
    folders: tuple[ModelFolder, ...]


EMBEDDED = FoundModel("embedded", "this program", "smollm2-135m", notes=(TEST_ENGINE,))


async def find_models(
    environ: Mapping[str, str] | None = None, *, addresses: Mapping[str, str] | None = None
) -> ModelSearch:
    """What this machine has. `addresses` are those of servers that are not at their usual ports,
    by preset (`{"ollama": "http://127.0.0.1:9999/v1"}`).
    """
    given = os.environ if environ is None else environ
    places = usual_addresses(given) | dict(addresses or {})
    answers: dict[str, tuple[FoundModel, ...] | None] = {}

    async def ask(name: str) -> None:
        answers[name] = await _served(PRESETS[name], places[name])

    async with anyio.create_task_group() as tasks:
        for name in places:
            tasks.start_soon(ask, name)
    files = await to_thread.run_sync(find_gguf, given)
    served = [one for name in places for one in answers[name] or ()]
    silent = server_places({name: places[name] for name in places if answers[name] is None})
    models = (*served, *_keys(given), *map(_of_file, files))
    return ModelSearch(models, silent, model_folders(given))


def server_places(addresses: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Each of these servers by its name and place, and the command that starts it."""
    return tuple(
        (f"{_TITLES[name]} at {origin_of(url)}", PRESETS[name].start)
        for name, url in addresses.items()
    )


def usual_addresses(environ: Mapping[str, str]) -> dict[str, str]:
    """Where servers are looked for; OLLAMA_HOST counts where it is an address of this machine."""
    places = {name: PRESETS[name].url for name in PRODUCTS}
    host = environ.get("OLLAMA_HOST", "").strip().removesuffix("/")
    url = f"{host if '://' in host else f'http://{host}'}/v1"
    with suppress(RouteError):
        origin = origin_of(url)
        if host and is_loopback(host_of(url)):
            told = ":" in host.rpartition("]")[2].removeprefix("http:").removeprefix("https:")
            places["ollama"] = f"{origin}/v1" if told else f"{origin.rpartition(':')[0]}:11434/v1"
    return places


async def _served(preset: RoutePreset, url: str) -> tuple[FoundModel, ...] | None:
    """None where nobody answers as this product does, or only to those who have a key."""
    route = Route(preset.name, "openai", "?", url=url)
    try:
        listed = await list_models(route, "", seconds=_SECONDS)
    except (ProviderUnreachable, ProviderRefused):
        return None
    if listed.product != preset.name:
        return None
    best = sorted(listed.models, key=lambda one: (not one.loaded, -_billions(one.size)))
    moved = url != preset.url
    return tuple(_of_server(preset, one, url if moved else "") for one in best[:_PER_SERVER])


def _of_server(preset: RoutePreset, one: ServedModel, url: str) -> FoundModel:
    line: dict[str, str | int] = {"preset": preset.name, "model": one.name}
    if url:
        line["url"] = url
    room, notes = one.context, list[str]()
    if room is None and preset.name in _CUTTING:
        room = _UNTOLD_ROOM
        notes.append(
            f"it is not loaded, so its context size is unknown: {room} tokens are assumed;"
            " set routes.default.context_tokens if you gave it more"
        )
    if room is not None and room < _USUAL_ROOM:
        line |= {"context_tokens": room, **_economies(room)}
    about = [one.size, "loaded" if one.loaded else "", f"{room} tokens" if room else ""]
    detail = ", ".join(filter(None, about))
    return FoundModel("server", _TITLES[preset.name], one.name, detail, line, tuple(notes))


def _economies(room: int) -> RouteLine:
    """A short answer where there is little room, and the compact wording where there is less."""
    short: RouteLine = {"max_tokens": room // 8} if room < 2 * _UNTOLD_ROOM else {}
    return {**short, "variant": "compact"} if room < _UNTOLD_ROOM else short


def _billions(size: str) -> float:
    """Of "3.2B" or "137M"; 0 for what says something else."""
    number, unit = size[:-1], size[-1:]
    try:
        return float(number) * {"B": 1.0, "M": 0.001}.get(unit, 0.0)
    except ValueError:
        return 0.0


def _keys(environ: Mapping[str, str]) -> tuple[FoundModel, ...]:
    """Providers whose key is in the environment; a variable counts once."""
    found: dict[str, FoundModel] = {}
    for preset in PRESETS.values():
        if preset.url and preset.model and environ.get(preset.key_env, "").strip():
            found.setdefault(
                preset.key_env,
                FoundModel(
                    "key",
                    preset.name,
                    preset.model,
                    f"with the key in {preset.key_env}, which is billed",
                    {"preset": preset.name, "model": preset.model},
                    ("every answer is billed, and what you say leaves this machine",),
                ),
            )
    return tuple(found.values())


def _of_file(file: GgufFile) -> FoundModel:
    line: dict[str, str | int] = {"backend": "embedded", "model": str(file.path)}
    if file.size >= _BIG:
        line |= {"variant": "default", "max_tokens": 512}
    if file.context:
        line["context_tokens"] = min(file.context, 8192)
    detail = f"a file of {file.size / 1e9:.1f} GB, run in this program"
    missing = "it needs the embedded engine: pip install 'mentis[embedded]'"
    notes = () if find_spec("xllamacpp") else (missing,)
    return FoundModel("file", file.place, file.name, detail, line, notes)


def best_model(search: ModelSearch) -> FoundModel:
    """The one that is taken unasked; the embedded model where there is no other."""
    return search.models[0] if search.models else EMBEDDED


def named_model(name: str) -> FoundModel:
    """The model of a direct name such as `ollama/llama3.2`, or of a GGUF file.

    RouteError where it is neither.
    """
    if name in ("embedded", f"embedded/{EMBEDDED.model}"):
        return EMBEDDED
    place, _, model = name.partition("/")
    if place == "embedded":
        return _added(model)
    if (route := direct_route(name)) is not None:
        kind: SourceKind = "key" if route.key_env else "server"
        return FoundModel(kind, place, model, "", {"preset": place, "model": model})
    if name.endswith(".gguf") or Path(name).is_file():
        path = Path(os.path.expanduser(name)).absolute()  # noqa: PTH111  # Path's own raises
        header = check_writes(path)
        return _of_file(GgufFile(path.stem, path, path.stat().st_size, "a file", header.context))
    raise RouteError(
        f"{name!r} names no model",
        hint=f"say BACKEND/MODEL with one of {', '.join(direct_names())}, or the path of a GGUF",
    )


async def look_up_model(
    name: str,
    environ: Mapping[str, str] | None = None,
    *,
    addresses: Mapping[str, str] | None = None,
) -> FoundModel:
    """As `named_model`, and a server of this machine is asked about its model: the line says where
    that is and how much it holds. Where it does not answer or has no such model, a note says so.
    """
    named = named_model(name)
    places = usual_addresses(os.environ if environ is None else environ) | dict(addresses or {})
    if named.kind != "server" or (url := places.get(named.place)) is None:
        return named
    preset, title = PRESETS[named.place], _TITLES[named.place]
    served, told = ServedModel(named.model), ""
    try:
        listed = await list_models(Route(preset.name, "openai", "?", url=url), "", seconds=_SECONDS)
    except ProviderUnreachable:
        told = f"no server answers at {origin_of(url)}; start it with: {preset.start}"
    except ProviderRefused as error:
        told = f"{origin_of(url)} was asked: {error.message}"
    else:
        if (found := listed.find(named.model)) is not None:
            served = found
        else:
            names = ", ".join(one.name for one in listed.models[:_PER_SERVER]) or "none"
            told = f"{title} does not list {named.model}; it has: {names}"
    made = _of_server(preset, served, url if url != preset.url else "")
    return replace(made, notes=(told,)) if told else made


def _added(name: str) -> FoundModel:
    """A model that `mentis models add` made known, by its name."""
    found = next((one for one in added_models() if one.name == name), None)
    if found is None:
        raise RouteError(
            f"there is no model {name!r} on this machine",
            hint="`mentis models add FILE` takes a GGUF file; `mentis models list` shows them",
        )
    return replace(_of_file(found), route={**_of_file(found).route, "model": name})


def choose_model(home: str | Path, model: FoundModel) -> SettingChange | None:
    """Let a model answer in a home: the line `default` of its routes. None for the embedded one,
    which answers where there is no line.
    """
    if not model.route:
        return None
    import tomlkit

    line = tomlkit.inline_table()
    for key, value in model.route.items():
        line.append(key, value)
    return open_settings(home).set("routes.default", line)
