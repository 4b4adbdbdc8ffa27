"""Which settings there are, what they default to, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from types import NoneType
from typing import Annotated, Literal, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, Field

from mentis.compose.purposes import Policies
from mentis.errors import RouteError
from mentis.values.route import Route

from .acts import TOOL_NAME, ActSettings, ToolSettings
from .aliases import KeyPath
from .assembly import AssemblySettings
from .beats import BeatSettings, DeliverySettings
from .channels import CHANNEL_NAME, ChannelSettings
from .constant import Constant, SettingNotice
from .conversations import AfterthoughtSettings, ConversationSettings
from .cortex import CortexSettings
from .lore import LoreSettings
from .options import OptionSettings
from .persona import MemorySettings, PersonaUpdateSettings
from .recorder import RecorderSettings
from .routes import RouteSettings, direct_names, direct_route
from .run import RunSettings
from .section import SettingsSection
from .sections import (
    BreakerSettings,
    BudgetSettings,
    CorrectionSettings,
    FallbackSettings,
    FeatureSettings,
    LedgerSettings,
    LimitSettings,
    MemoriesSettings,
    PlaceholderSettings,
    RecallSettings,
    RecordSettings,
    StatusSettings,
    StoreSettings,
    TelemetrySettings,
    TurnSettings,
)
from .web import WebSettings

FORMAT = 1


# Work that may have a route of its own: a route with this name.
Stage: TypeAlias = Literal[
    "correction",
    "beat",
    "afterthought",
    "persona_update",
    "helper",
    "primary",
    "sense_helper",
    "act_descriptor_helper",
    "goal_tree_helper",
    "acts_helper",
    "goal_tree_patch_helper",
    "l1_memory_patch_helper",
]
_OLD_STAGES: dict[Stage, str] = {"beat": "grillo"}  # what its route may be called as well
# Those that work without a model unless they, or `helper`, have a route.
HELPERS: tuple[Stage, ...] = (
    "sense_helper",
    "act_descriptor_helper",
    "goal_tree_helper",
    "acts_helper",
    "goal_tree_patch_helper",
    "l1_memory_patch_helper",
)


class SettingsModel(SettingsSection):
    format: Annotated[int, Field(ge=1, description="Version of the home's layout.")] = FORMAT
    name: Annotated[
        str,
        Field(
            pattern=r"^([a-z0-9][a-z0-9_-]{0,63})?$",
            description="Name of the home, the first half of agent ids; by default the folder's.",
        ),
    ] = ""
    persona: Annotated[
        str,
        Field(
            pattern=r"^([a-z0-9][a-z0-9_-]{0,63})?$",
            description="The default persona of a home with several: `mentis persona use ID`.",
        ),
    ] = ""
    routes: Annotated[
        dict[str, RouteSettings], Field(description="Destinations by name; `default` is used.")
    ] = Field(default_factory=lambda: {"default": RouteSettings()})
    store: StoreSettings = StoreSettings()
    ledger: LedgerSettings = LedgerSettings()
    memories: MemoriesSettings = MemoriesSettings()
    recall: RecallSettings = RecallSettings()
    assembly: AssemblySettings = AssemblySettings()
    status: StatusSettings = StatusSettings()
    limits: LimitSettings = LimitSettings()
    budgets: BudgetSettings = BudgetSettings()
    turn: TurnSettings = TurnSettings()
    correction: CorrectionSettings = CorrectionSettings()
    fallback: FallbackSettings = FallbackSettings()
    breaker: BreakerSettings = BreakerSettings()
    record: RecordSettings = RecordSettings()
    recorder: RecorderSettings = RecorderSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    features: FeatureSettings = FeatureSettings()
    placeholders: PlaceholderSettings = PlaceholderSettings()
    conversations: ConversationSettings = ConversationSettings()
    lore: LoreSettings = LoreSettings()
    afterthought: AfterthoughtSettings = AfterthoughtSettings()
    memory: MemorySettings = MemorySettings()
    persona_update: PersonaUpdateSettings = PersonaUpdateSettings()
    beats: BeatSettings = BeatSettings()
    delivery: DeliverySettings = DeliverySettings()
    acts: ActSettings = ActSettings()
    cortex: CortexSettings = CortexSettings()
    run: RunSettings = RunSettings()
    web: WebSettings = WebSettings()
    channels: Annotated[
        dict[Annotated[str, Field(pattern=CHANNEL_NAME)], ChannelSettings],
        Field(description="Accounts at chat platforms by name: small letters and digits."),
    ] = Field(default_factory=dict[str, ChannelSettings])
    tools: Annotated[
        dict[Annotated[str, Field(pattern=TOOL_NAME)], ToolSettings],
        Field(description="Sources of acts by name: small letters, digits and hyphens."),
    ] = Field(default_factory=dict[str, ToolSettings])


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value and where it came from."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings; `origins` tells for each key that was set who set it, `notices` which
    keys were set and have no effect any more.
    """

    model: SettingsModel
    origins: Mapping[KeyPath, str] = field(default_factory=dict[KeyPath, str])
    notices: tuple[SettingNotice, ...] = ()

    def route(self, name: str = "default") -> Route:
        """The route of that name, or the one a direct name such as `anthropic/MODEL` spells out."""
        if name in self.model.routes:
            return self._named(name)
        if (direct := direct_route(name)) is not None:
            return self._finished(direct)
        known, backends = ", ".join(sorted(self.model.routes)), ", ".join(sorted(direct_names()))
        raise RouteError(
            f"there is no route {name!r}",
            hint=did_you_mean(name, self.model.routes)
            or f"known: {known}; or BACKEND/MODEL with one of {backends}",
        )

    def _named(self, name: str) -> Route:
        """A route of the settings; an alias becomes the route it stands for, under its own name."""
        steps = [name]
        while (there := self.model.routes.get(steps[-1])) is not None and there.use:
            if there.use in steps:
                raise RouteError(
                    f"route {name!r} leads in a circle: {' -> '.join((*steps, there.use))}",
                    hint="let one of them stand for a route with a model",
                )
            steps.append(there.use)
        if len(steps) > 1:
            return replace(self.route(steps[-1]), name=name)
        return self._finished(self.model.routes[name].as_route(name))

    def chain(self, name: str = "default") -> tuple[Route, ...]:
        """The route and those it falls back on, in their order."""
        first = self.route(name)
        chain = {first.name: first, **{other: self.route(other) for other in first.fallback}}
        offline = first.backend == "replay"
        for route in chain.values():
            if offline and route.backend not in ("replay", "scripted"):
                raise RouteError(
                    f"route {name!r} is a replay and falls back on {route.name!r}, which is not",
                    hint="a replay never touches the network: let it fall back on replays only",
                )
        return tuple(chain.values())

    def every_route(self) -> tuple[Route, ...]:
        """All that have a name. One that leads nowhere is left out: `routes check` tells of it."""
        routes: list[Route] = []
        for name in sorted(self.model.routes):
            try:
                routes.append(self.route(name))
            except RouteError:
                continue
        return tuple(routes)

    def of_environment(self, *key: str) -> bool:
        """Whether a variable set this key. Whoever sets the environment is the owner."""
        return self.origins.get(key, "").startswith("environment")

    def has_stage(self, stage: Stage) -> bool:
        """Whether a stage has a route of its own."""
        return stage in self.model.routes or _OLD_STAGES.get(stage) in self.model.routes

    def stage(self, stage: Stage) -> Route:
        """The route of a stage: the one that has its name, else `default`; a helper's is `helper`
        before that.
        """
        own = (stage, _OLD_STAGES.get(stage, stage))
        names = (*own, "helper", "default") if stage in HELPERS else (*own, "default")
        return self.route(
            next(name for name in names if name in self.model.routes or name == "default")
        )

    def has_helper_route(self, stage: Stage) -> bool:
        """Whether a helper is a model: it has a route, or all of them have one."""
        return self.has_stage(stage) or self.has_stage("helper")

    def _finished(self, route: Route) -> Route:
        features = self.model.features
        experimental = features.experimental_variant and route.variant == "default"
        return replace(
            route,
            caching=route.caching and features.prompt_caching,
            variant="experimental" if experimental else route.variant,
        )

    @property
    def holds_back(self) -> bool:
        """Whether what the agent changed in itself waits for its owner."""
        return self.model.memory.review == "manual"

    @property
    def policies(self) -> Policies:
        given, talk = self.model.placeholders, self.model.conversations
        return Policies(
            given.system_prompt,
            given.message,
            given.prefill,
            self.model.lore.rules,
            talk.history_tokens,
        )

    def effective(self) -> list[Setting]:
        """Every setting with its value and origin, in a fixed order."""
        data = self.model.model_dump()
        data["routes"] = {
            name: _filled(self.route(name), given)
            for name, given in sorted(self.model.routes.items())
        }
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
        if each := _each(annotation):
            yield from _describe(each, f"{prefix}{name}.NAME.")
        elif section := _section(annotation):
            yield from _describe(section, f"{prefix}{name}.")
        else:
            unset = info.is_required() or info.default is None or info.default_factory is not None
            default = "" if unset else f"`{_toml(info.default)}`"
            doc = info.description or ""
            yield SettingDoc(f"{prefix}{name}", _type_name(annotation), default, doc)


@cache
def constants() -> Mapping[KeyPath, Constant[object]]:
    """What used to be a setting and is none any more, by its key."""
    return {
        (name, key): cast("Constant[object]", constant)
        for name, info in SettingsModel.model_fields.items()
        if (section := _section(cast("object", info.annotation)))
        for key, constant in vars(section).items()
        if isinstance(constant, Constant)
    }


def names_in(section: Sequence[str]) -> list[str]:
    """The settings and sections there are inside a section; every route has the same ones."""
    model: type[BaseModel] | None = SettingsModel
    each: type[BaseModel] | None = None
    for step in section:
        if each is not None:  # the step is a name that somebody chose
            model, each = each, None
            continue
        info = model.model_fields.get(step) if model else None
        annotation = cast("object", info.annotation) if info else None
        model, each = _section(annotation), _each(annotation)
    return list(model.model_fields) if model else []


def _section(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return None


def _each(annotation: object) -> type[BaseModel] | None:
    """What each of a table's entries is, where it is a section and its name is free."""
    options = get_args(annotation)
    return _section(options[1]) if get_origin(annotation) is dict else None


def _type_name(annotation: object) -> str:
    """The type in words a person would use."""
    options = [option for option in get_args(annotation) if option is not NoneType]
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(map(str, options))
    if get_origin(annotation) is tuple:
        return "list of strings"
    if get_origin(annotation) is dict:
        return "table"
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


_OF_SETTINGS = ("use", "preset", "options")  # a route has them in another form, or not at all


def _filled(route: Route, given: RouteSettings) -> dict[str, object]:
    names = [name for name in RouteSettings.model_fields if name not in _OF_SETTINGS]
    values = {name: getattr(route, name) for name in names}
    options = {name: getattr(route.options, name) for name in OptionSettings.model_fields}
    return {"use": given.use, "preset": given.preset, **values, "options": options}


def did_you_mean(name: str, known: Mapping[str, object] | list[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
