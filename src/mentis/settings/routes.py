"""The settings of one route, and the routes that a direct name spells out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, model_validator

from mentis.call.dialects import DIALECTS
from mentis.errors import RouteError
from mentis.facts.abilities import override
from mentis.facts.ability import Abilities
from mentis.facts.presets import PRESETS, RoutePreset
from mentis.facts.table import BY_BACKEND
from mentis.net.targets import check_target
from mentis.values.route import Backend, CacheKind, Match, Route

from .options import OptionSettings
from .section import SettingsSection

_DEFAULT_MODELS: dict[Backend, str] = {
    "embedded": "smollm2-135m",
    "scripted": "script",
    "replay": "recorded",
}


class RouteSettings(SettingsSection):
    """One destination. What is left out is filled in for the backend it turns out to be.

    A name alone (`correction = "anthropic/claude-haiku-5"`) stands for another route.
    """

    use: Annotated[
        str,
        Field(description="Another route, or BACKEND/MODEL, that this name stands for."),
    ] = ""
    preset: Annotated[
        str,
        Field(
            description="A place that is known (`mentis routes presets`): its address, its key and"
            " its facts."
        ),
    ] = ""
    backend: Annotated[
        Backend | None,
        Field(
            description="Where it runs; by default `openai` with a url, `scripted` with replies,"
            " `replay` with a folder, else `embedded`."
        ),
    ] = None
    model: Annotated[
        str | None,
        Field(
            min_length=1,
            description="A packaged model (smollm2-135m), a GGUF file, or a model of the server.",
        ),
    ] = None
    url: Annotated[
        str,
        Field(
            description="Address of the server, usually ending in /v1; `anthropic`, `gemini` and"
            " `openai-responses` know their own."
        ),
    ] = ""
    key_env: Annotated[
        str,
        Field(
            description="Name of the environment variable, or of the entry `mentis` in the"
            " keyring, that holds the key; `mentis routes trust` says where it may go."
        ),
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
        float, Field(gt=0, description="Longest wait for the whole answer, retries included.")
    ] = 120.0
    idle_seconds: Annotated[
        float,
        Field(ge=0, description="Longest pause within an answer once it began; 0 for no limit."),
    ] = 60.0
    threads: Annotated[
        int,
        Field(ge=0, description="Threads of the embedded model; 0 picks 1 on a small machine."),
    ] = 0
    replies: Annotated[
        tuple[str, ...], Field(description="The answers a `scripted` route plays, in order.")
    ] = ()
    fallback: Annotated[
        tuple[str, ...],
        Field(description="Routes to try, in order, when this one fails before it said anything."),
    ] = ()
    attempts: Annotated[
        int, Field(ge=1, le=20, description="Most tries of one call, before its first output.")
    ] = 3
    concurrency: Annotated[
        int, Field(ge=1, description="Most calls at the same time; others wait.")
    ] = 8
    per_minute: Annotated[
        int, Field(ge=0, description="Most requests in a minute; others wait. 0 means no limit.")
    ] = 0
    folder: Annotated[
        str,
        Field(description="Recordings a `replay` route plays, relative to the home."),
    ] = ""
    replays: Annotated[
        Backend, Field(description="The backend the recordings of a `replay` route are of.")
    ] = "openai"
    match: Annotated[
        Match,
        Field(description="How a replay picks: the same body, or just the next in order."),
    ] = "body"
    caching: Annotated[bool, Field(description="Whether cache markers are sent.")] = True
    cache: Annotated[
        CacheKind,
        Field(description="`explicit`: `gemini` makes and names a cache of system text and tools."),
    ] = "implicit"
    cache_seconds: Annotated[
        int, Field(ge=60, description="How long a cache made with `explicit` is kept.")
    ] = 300
    options: OptionSettings = OptionSettings()
    facts: Annotated[
        dict[str, object],
        Field(description="Corrections to what the facts table says of this model."),
    ] = Field(default_factory=dict[str, object])

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, given: object) -> object:
        return {"use": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _fits(self) -> RouteSettings:
        if self.use:
            if self.model_fields_set != {"use"}:
                raise ValueError("a route that uses another has no settings of its own")
            return self
        self._check_preset()
        backend = self.chosen_backend
        if self.url and backend not in DIALECTS:
            raise ValueError(f"url is for a server, and the backend {backend} is none")
        if backend == "openai" and not (self._address and self.model):
            raise ValueError("the backend openai needs a url and a model")
        if backend in DIALECTS and not self.model:
            raise ValueError(f"the backend {backend} needs a model")
        if self.replies and backend != "scripted":
            raise ValueError(f"replies are for the backend scripted, not {backend}")
        if bool(self.folder) != (backend == "replay"):
            raise ValueError("a folder and the backend replay go together")
        if self.url:
            _as_value_error(lambda: check_target(self.url, with_key=bool(self.key_env)))
        if self.facts:
            _as_value_error(lambda: override(Abilities(), self.facts, where="facts"))
        return self

    def _check_preset(self) -> None:
        if not self.preset:
            return
        if self.preset not in PRESETS:
            raise ValueError(f"there is no preset {self.preset!r}; see `mentis routes presets`")
        if self.backend is not None:
            raise ValueError("a preset says which backend it is: leave one of them out")
        if not self._address and PRESETS[self.preset].form:
            raise ValueError(f"the preset needs your own url, like {PRESETS[self.preset].form}")

    @property
    def _known(self) -> RoutePreset:
        """The preset that is named, or that of the backend where no address is given."""
        if self.preset:
            return PRESETS[self.preset]
        backend = self.chosen_backend
        return PRESETS[backend] if backend in PRESETS else RoutePreset(backend, backend)

    @property
    def _address(self) -> str:
        return self.url or (PRESETS[self.preset].url if self.preset in PRESETS else "")

    @model_validator(mode="after")
    def _can_cache(self) -> RouteSettings:
        backend = self.chosen_backend
        spoken = self.replays if backend == "replay" else backend
        if self.cache == "explicit" and not BY_BACKEND[spoken].cache_explicit:
            raise ValueError(f"the backend {spoken} has no cache that is made and named")
        return self

    @property
    def chosen_backend(self) -> Backend:
        if self.preset in PRESETS:
            return PRESETS[self.preset].backend
        if self.backend:
            return self.backend
        if self.url:
            return "openai"
        return "scripted" if self.replies else "replay" if self.folder else "embedded"

    def as_route(self, name: str) -> Route:
        backend = self.chosen_backend
        small = (self.replays if backend == "replay" else backend) == "embedded"
        known = self._known
        # The key of a provider goes to that provider, never to another address by itself.
        at_home = not self.url or bool(known.form)
        return Route(
            name=name,
            backend=backend,
            model=self.model or _DEFAULT_MODELS[backend],
            url=self.url or known.url,
            key_env=self.key_env or (known.key_env if at_home else ""),
            variant=self.variant or ("compact" if small else "default"),
            context_tokens=self.context_tokens or (4096 if small else 32768),
            max_tokens=self.max_tokens or (128 if small else 1024),
            temperature=0.3 if small and self.temperature is None else self.temperature,
            seed=self.seed,
            timeout_seconds=self.timeout_seconds,
            idle_seconds=self.idle_seconds,
            threads=self.threads,
            replies=self.replies,
            fallback=self.fallback,
            attempts=self.attempts,
            concurrency=self.concurrency,
            per_minute=self.per_minute,
            folder=self.folder,
            replays=self.replays,
            match=self.match,
            caching=self.caching,
            cache=self.cache,
            cache_seconds=self.cache_seconds,
            facts={**known.facts, **self.facts} if self.preset else self.facts,
            options=self.options.as_options(),
        )


def direct_names() -> tuple[str, ...]:
    """The first halves that a direct name such as `anthropic/claude-opus-5` may have."""
    return tuple(name for name, preset in PRESETS.items() if not preset.form)


def direct_route(name: str) -> Route | None:
    """The route of `anthropic/claude-opus-5` and the like, or None if it is no such name."""
    prefix, _, model = name.partition("/")
    if prefix not in direct_names() or not model:
        return None
    return RouteSettings(preset=prefix, model=model).as_route(name)


def _as_value_error(check: Callable[[], object]) -> None:
    """What a room below refuses, in the words a settings error is made of."""
    try:
        check()
    except RouteError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error
