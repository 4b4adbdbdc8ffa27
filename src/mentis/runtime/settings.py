"""Which settings there are, what they default to, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Literal, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mentis.compose.placeholders import Policy
from mentis.compose.purposes import Policies
from mentis.errors import RouteError
from mentis.net.targets import check_target
from mentis.values.route import Backend, Route

FORMAT = 1


_DEFAULT_MODELS: dict[Backend, str] = {"embedded": "smollm2-135m", "scripted": "script"}


# The keys that lead to a setting; a key may itself hold a dot.
KeyPath: TypeAlias = tuple[str, ...]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _check_url(url: str, *, with_key: bool) -> None:
    try:
        check_target(url, with_key=with_key)
    except RouteError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error


class RouteSettings(_Section):
    """One destination. What is left out is filled in for the backend it turns out to be."""

    backend: Annotated[
        Backend | None,
        Field(description="Where it runs; by default `openai` with a url, else `embedded`."),
    ] = None
    model: Annotated[
        str | None,
        Field(
            min_length=1,
            description="A packaged model (smollm2-135m), a GGUF file, or a model of the server.",
        ),
    ] = None
    url: Annotated[
        str, Field(description="Address of an OpenAI-compatible server, usually ending in /v1.")
    ] = ""
    key_env: Annotated[
        str, Field(description="Name of the environment variable that holds the key.")
    ] = ""
    variant: Annotated[
        str | None,
        Field(description="Wording of the blocks; by default `compact` when embedded."),
    ] = None
    context_tokens: Annotated[
        int | None,
        Field(ge=256, description="Room for prompt and answer; default 4096 embedded, else 32768."),
    ] = None
    max_tokens: Annotated[
        int | None,
        Field(ge=1, description="Longest answer; by default 128 when embedded, else 1024."),
    ] = None
    temperature: Annotated[
        float | None,
        Field(ge=0, le=2, description="Sampling temperature; by default 0.3 when embedded."),
    ] = None
    seed: Annotated[int | None, Field(description="Sampling seed; unset leaves it out.")] = None
    timeout_seconds: Annotated[
        float, Field(gt=0, description="Longest wait for the whole answer.")
    ] = 120.0
    threads: Annotated[
        int,
        Field(ge=0, description="Threads of the embedded model; 0 picks 1 on a small machine."),
    ] = 0
    replies: Annotated[
        tuple[str, ...], Field(description="The answers a `scripted` route plays, in order.")
    ] = ()

    @model_validator(mode="after")
    def _fits(self) -> RouteSettings:
        backend = self.chosen_backend
        if self.url and backend != "openai":
            raise ValueError(f"url is for the backend openai, not {backend}")
        if backend == "openai" and not (self.url and self.model):
            raise ValueError("the backend openai needs a url and a model")
        if self.replies and backend != "scripted":
            raise ValueError(f"replies are for the backend scripted, not {backend}")
        if self.url:
            _check_url(self.url, with_key=bool(self.key_env))
        return self

    @property
    def chosen_backend(self) -> Backend:
        if self.backend:
            return self.backend
        return "openai" if self.url else "scripted" if self.replies else "embedded"

    def as_route(self, name: str) -> Route:
        backend = self.chosen_backend
        small = backend == "embedded"
        return Route(
            name=name,
            backend=backend,
            model=self.model or _DEFAULT_MODELS[backend],
            url=self.url,
            key_env=self.key_env,
            variant=self.variant or ("compact" if small else "default"),
            context_tokens=self.context_tokens or (4096 if small else 32768),
            max_tokens=self.max_tokens or (128 if small else 1024),
            temperature=0.3 if small and self.temperature is None else self.temperature,
            seed=self.seed,
            timeout_seconds=self.timeout_seconds,
            threads=self.threads,
            replies=self.replies,
        )


class StoreSettings(_Section):
    """The database of the home."""

    busy_seconds: Annotated[
        float, Field(ge=0, description="How long to wait while another process writes.")
    ] = 5.0


class LimitSettings(_Section):
    """What is refused for being too large."""

    message_chars: Annotated[
        int, Field(ge=1, description="Longest message the agent takes, in characters.")
    ] = 100_000
    memory_chars: Annotated[
        int, Field(ge=1, description="Longest a persona's memory file may get, in characters.")
    ] = 8_000
    prompt_file_bytes: Annotated[
        int, Field(ge=1024, description="Largest prompt file that is read, in bytes.")
    ] = 5_000_000


class FeatureSettings(_Section):
    """What can be switched off. A change counts from the next request on."""

    cortexEnabled: Annotated[  # noqa: N815  # the name this switch has always had
        bool,
        Field(description="Whether the persona's own memory files are read and told."),
    ] = True


class PlaceholderSettings(_Section):
    """What stands where a placeholder has no value, by where the block goes."""

    system_prompt: Annotated[
        Policy, Field(description="In the system prompt: keep the key, leave it empty, or fail.")
    ] = "keep"
    message: Annotated[Policy, Field(description="The same in messages.")] = "keep"
    prefill: Annotated[Policy, Field(description="The same in prefills.")] = "keep"


class SettingsModel(_Section):
    format: Annotated[int, Field(ge=1, description="Version of the home's layout.")] = FORMAT
    name: Annotated[
        str,
        Field(
            pattern=r"^([a-z0-9][a-z0-9_-]{0,63})?$",
            description="Name of the home, the first half of agent ids; by default the folder's.",
        ),
    ] = ""
    routes: Annotated[
        dict[str, RouteSettings], Field(description="Destinations by name; `default` is used.")
    ] = Field(default_factory=lambda: {"default": RouteSettings()})
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    features: FeatureSettings = FeatureSettings()
    placeholders: PlaceholderSettings = PlaceholderSettings()


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value and where it came from."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings; `origins` tells for each key that was set who set it."""

    model: SettingsModel
    origins: Mapping[KeyPath, str] = field(default_factory=dict[KeyPath, str])

    def route(self, name: str = "default") -> Route:
        if name in self.model.routes:
            return self.model.routes[name].as_route(name)
        known = ", ".join(sorted(self.model.routes))
        raise RouteError(
            f"there is no route {name!r}", hint=meant(name, self.model.routes) or f"known: {known}"
        )

    @property
    def policies(self) -> Policies:
        given = self.model.placeholders
        return Policies(given.system_prompt, given.message, given.prefill)

    def effective(self) -> list[Setting]:
        """Every setting with its value and origin, in a fixed order."""
        data = self.model.model_dump()
        data["routes"] = {name: _filled(self.route(name)) for name in sorted(self.model.routes)}
        return [
            Setting(".".join(path), value, self.origins.get(path, "default"))
            for path, value in leaves(data)
        ]


@dataclass(frozen=True, slots=True)
class SettingDoc:
    key: str
    type: str
    default: str
    doc: str


def describe() -> list[SettingDoc]:
    """Every setting there is, for the reference."""
    return list(_describe(SettingsModel, ""))


def _describe(model: type[BaseModel], prefix: str) -> Iterator[SettingDoc]:
    for name, info in model.model_fields.items():
        annotation = cast("object", info.annotation)
        if name == "routes":
            yield from _describe(RouteSettings, "routes.NAME.")
        elif section := _section(annotation):
            yield from _describe(section, f"{prefix}{name}.")
        else:
            default = "" if info.default is None else f"`{_toml(info.default)}`"
            doc = info.description or ""
            yield SettingDoc(f"{prefix}{name}", _type_name(annotation), default, doc)


def names_in(section: Sequence[str]) -> list[str]:
    """The settings and sections there are inside a section; every route has the same ones."""
    model: type[BaseModel] | None = SettingsModel
    for number, step in enumerate(section):
        if section[0] == "routes":
            model = RouteSettings if number else None
        elif model is not None:
            info = model.model_fields.get(step)
            model = _section(cast("object", info.annotation)) if info else None
    return list(model.model_fields) if model else []


def _section(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return None


def _type_name(annotation: object) -> str:
    """The type in words a person would use."""
    options = [option for option in get_args(annotation) if option is not NoneType]
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(map(str, options))
    if get_origin(annotation) is tuple:
        return "list of strings"
    if options:
        return _type_name(options[0])
    names: dict[object, str] = {str: "string", int: "integer", float: "number"}
    return names.get(annotation, "true or false" if annotation is bool else "")


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple():
            return "[]"
        case _:
            return str(value)


def leaves(data: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Every value with the keys that lead to it."""
    if not isinstance(data, Mapping):
        yield path, data
        return
    for key, value in cast("Mapping[str, object]", data).items():
        yield from leaves(value, (*path, key))


def _filled(route: Route) -> dict[str, object]:
    return {name: getattr(route, name) for name in RouteSettings.model_fields}


def meant(name: str, known: Mapping[str, object] | list[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
