"""Which settings there are, what they default to, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Literal, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, Field

from mentis.call.dialects import PLACES
from mentis.compose.placeholders import Policy
from mentis.compose.purposes import Policies
from mentis.errors import RouteError
from mentis.values.route import Route

from .settings_acts import TOOL_NAME, ActSettings, ToolSettings
from .settings_routes import RouteSettings, Section, direct_route

FORMAT = 1


# Work that may have a route of its own: a route with this name.
Stage: TypeAlias = Literal["correction", "beat", "afterthought", "helper"]
# The keys that lead to a setting; a key may itself hold a dot.
KeyPath: TypeAlias = tuple[str, ...]


class StoreSettings(Section):
    """The database of the home."""

    busy_seconds: Annotated[
        float, Field(ge=0, description="How long to wait while another process writes.")
    ] = 5.0


class LedgerSettings(Section):
    """Where the record of what happened is kept."""

    store: Annotated[
        Literal["sqlite", "postgres"],
        Field(description="In the home's own database, or in PostgreSQL (extra `postgres`)."),
    ] = "sqlite"
    url: Annotated[
        str, Field(description="Address of the PostgreSQL database, without a password.")
    ] = ""
    url_env: Annotated[
        str,
        Field(
            description="Environment variable, or entry of the system's keyring, that holds the"
            " address with its password; it comes before `ledger.url`."
        ),
    ] = "LEDGER_URL"
    schema_name: Annotated[
        str,
        Field(
            pattern=r"^[a-z_][a-z0-9_]{0,62}$",
            description="Schema in the PostgreSQL database; homes of the same name need their own.",
        ),
    ] = "mentis"
    origin: Annotated[
        str,
        Field(
            pattern=r"^[^\s+]*$",
            description="Name of the log in checkpoints, such as example.org/ada; pinned here and"
            " never read from the database.",
        ),
    ] = ""
    public_key: Annotated[
        str,
        Field(description="The Ed25519 key, in base64, whose signatures count; pinned here too."),
    ] = ""
    key_env: Annotated[
        str,
        Field(
            description="Environment variable, or entry of the system's keyring, that holds the"
            " signing key; empty means a file in your configuration folder (or MENTIS_CONFIG)."
        ),
    ] = ""
    anchors: Annotated[
        tuple[str, ...],
        Field(
            description="Where each checkpoint is kept outside, too: `file:PATH` or `git:FOLDER`;"
            " `mentis ledger anchor add` writes this, and one it did not add is not used."
        ),
    ] = ()
    segments: Annotated[
        str,
        Field(
            description="Folder for sealed segments; relative to the home, empty means"
            " `ledger/PERSONA`."
        ),
    ] = ""
    keep_segments_days: Annotated[
        int,
        Field(
            ge=0,
            description="How old a segment has to be for `mentis ledger rotate --expire` to delete"
            " it; 0 keeps them all.",
        ),
    ] = 0
    checkpoint_entries: Annotated[
        int, Field(ge=1, description="Sign a checkpoint after so many entries.")
    ] = 100
    checkpoint_seconds: Annotated[
        float, Field(gt=0, description="Or after so many seconds, if there is a new entry.")
    ] = 600.0


class MemoriesSettings(Section):
    """The memories that are searched: facts, decisions, episodes."""

    store: Annotated[
        Literal["sqlite", "postgres"],
        Field(
            description="In the home's own database, or in PostgreSQL, where `ledger.url` points"
            " (extra `postgres`)."
        ),
    ] = "sqlite"
    index: Annotated[
        Literal["exact", "server"],
        Field(
            description="Search vectors exactly in this process (extra `recall`), or let PostgreSQL"
            " with pgvector find the candidates."
        ),
    ] = "exact"
    text_chars: Annotated[
        int, Field(ge=1, description="Longest memory that is taken, in characters.")
    ] = 8_000
    import_bytes: Annotated[
        int, Field(ge=1024, description="Largest file of memories that is imported, in bytes.")
    ] = 50_000_000
    half_life_days: Annotated[
        float,
        Field(ge=0, description="Days after which a memory counts half in a search; 0 never."),
    ] = 0.0


class StatusSettings(Section):
    """Status windows and how they come in."""

    profile: Annotated[
        str,
        Field(
            description="Rules that windows are judged by: `mentis`, `s2-4.0`, `strict`, or one of"
            " the home's `guardian.toml`."
        ),
    ] = "mentis"
    schema_versions: Annotated[
        tuple[str, ...],
        Field(description="Versions a window may name; empty means those of the profile."),
    ] = ()
    pending: Annotated[
        str,
        Field(
            description="The single slot, relative to the home, on the same disk; empty means"
            " `status/PERSONA/pending_status.json`, and with a single persona also"
            " `status/pending_status.json`."
        ),
    ] = ""
    scan_seconds: Annotated[
        float, Field(gt=0, le=3600, description="How often the watcher looks without an event.")
    ] = 2.0
    lease_seconds: Annotated[
        float, Field(ge=1, le=3600, description="How long a watcher that died keeps others out.")
    ] = 30.0
    monitor: Annotated[
        bool,
        Field(description="Whether `mentis mcp` consumes slot and spool; the watcher must be off."),
    ] = False


class LimitSettings(Section):
    """What is refused for being too large."""

    message_chars: Annotated[
        int, Field(ge=1, description="Longest message the agent takes, in characters.")
    ] = 100_000
    attachments: Annotated[int, Field(ge=0, description="Most attachments of one message.")] = 16
    attachment_bytes: Annotated[
        int, Field(ge=1, description="Largest attachment that is read and sent, in bytes.")
    ] = 20_000_000
    memory_chars: Annotated[
        int, Field(ge=1, description="Longest a persona's memory file may get, in characters.")
    ] = 8_000
    prompt_file_bytes: Annotated[
        int, Field(ge=1024, description="Largest prompt file that is read, in bytes.")
    ] = 5_000_000
    answer_bytes: Annotated[
        int, Field(ge=1024, description="Longest answer that is read from a server, in bytes.")
    ] = 8_000_000


class BudgetSettings(Section):
    """What may be spent. A call that could go over it is not made; 0 means no limit."""

    turn_tokens: Annotated[
        int, Field(ge=0, description="Most tokens one turn may use, read and written together.")
    ] = 0
    day_tokens: Annotated[
        int, Field(ge=0, description="Most tokens an agent may use in a day (UTC).")
    ] = 0
    agent_tokens: Annotated[
        int, Field(ge=0, description="Most tokens an agent may use in all its turns.")
    ] = 0
    turn_usd: Annotated[
        float,
        Field(ge=0, description="Most US dollars one turn may cost; needs the extra `prices`."),
    ] = 0.0
    day_usd: Annotated[
        float,
        Field(
            ge=0,
            description="Most US dollars an agent may use in a day; needs the extra `prices`.",
        ),
    ] = 0.0
    agent_usd: Annotated[
        float,
        Field(
            ge=0,
            description="Most US dollars an agent may use in all its turns; needs `prices`.",
        ),
    ] = 0.0


class CorrectionSettings(Section):
    """Asking the model again for what it got wrong."""

    calls: Annotated[
        int,
        Field(
            ge=1,
            le=20,
            description="Most calls of one turn, the first included; 1 never asks again.",
        ),
    ] = 3


class FallbackSettings(Section):
    """What happens when no route answers."""

    repeat_seconds: Annotated[
        int,
        Field(
            ge=0,
            le=86_400,
            description="Repeat an earlier answer to the same message in the same conversation if"
            " it is no older, marked as such. 0 never does.",
        ),
    ] = 0
    repeat_turns: Annotated[
        int, Field(ge=1, description="How many of the newest turns are searched for it.")
    ] = 512


class BreakerSettings(Section):
    """Leaving a server alone that keeps failing."""

    failures: Annotated[
        int, Field(ge=1, description="Failures in a row after which it is not asked for a while.")
    ] = 5
    seconds: Annotated[
        float, Field(gt=0, description="How long that is; then one call tries it again.")
    ] = 30.0


class RecordSettings(Section):
    """Exchanges kept as files, to look at and to replay."""

    folder: Annotated[
        str,
        Field(
            description="Folder for one file per exchange, without keys; relative to the home."
            " Empty records nothing."
        ),
    ] = ""


class FeatureSettings(Section):
    """What can be switched off. A change counts from the next request on."""

    cortexEnabled: Annotated[  # noqa: N815  # the name this switch has always had
        bool,
        Field(description="Whether the persona's own memory files are read and told."),
    ] = True
    prompt_caching: Annotated[
        bool,
        Field(description="Whether cache markers are sent; ENABLE_PROMPT_CACHING sets it too."),
    ] = True


class PlaceholderSettings(Section):
    """What stands where a placeholder has no value, by where the block goes."""

    system_prompt: Annotated[
        Policy, Field(description="In the system prompt: keep the key, leave it empty, or fail.")
    ] = "keep"
    message: Annotated[Policy, Field(description="The same in messages.")] = "keep"
    prefill: Annotated[Policy, Field(description="The same in prefills.")] = "keep"


class SettingsModel(Section):
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
    ledger: LedgerSettings = LedgerSettings()
    memories: MemoriesSettings = MemoriesSettings()
    status: StatusSettings = StatusSettings()
    limits: LimitSettings = LimitSettings()
    budgets: BudgetSettings = BudgetSettings()
    correction: CorrectionSettings = CorrectionSettings()
    fallback: FallbackSettings = FallbackSettings()
    breaker: BreakerSettings = BreakerSettings()
    record: RecordSettings = RecordSettings()
    features: FeatureSettings = FeatureSettings()
    placeholders: PlaceholderSettings = PlaceholderSettings()
    acts: ActSettings = ActSettings()
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
    """The effective settings; `origins` tells for each key that was set who set it."""

    model: SettingsModel
    origins: Mapping[KeyPath, str] = field(default_factory=dict[KeyPath, str])

    def route(self, name: str = "default") -> Route:
        """The route of that name, or the one a direct name such as `anthropic/MODEL` spells out."""
        if name in self.model.routes:
            return self._named(name)
        if (direct := direct_route(name)) is not None:
            return self._finished(direct)
        known, backends = ", ".join(sorted(self.model.routes)), ", ".join(sorted(PLACES))
        raise RouteError(
            f"there is no route {name!r}",
            hint=meant(name, self.model.routes)
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

    def has_stage(self, stage: Stage) -> bool:
        """Whether a stage has a route of its own."""
        return stage in self.model.routes

    def stage(self, stage: Stage) -> Route:
        """The route of a stage: the one that has its name, else `default`."""
        return self.route(stage if stage in self.model.routes else "default")

    def _finished(self, route: Route) -> Route:
        caching = route.caching and self.model.features.prompt_caching
        return replace(route, caching=caching)

    @property
    def policies(self) -> Policies:
        given = self.model.placeholders
        return Policies(given.system_prompt, given.message, given.prefill)

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
            unset = info.default is None or info.default_factory is not None
            default = "" if unset else f"`{_toml(info.default)}`"
            doc = info.description or ""
            yield SettingDoc(f"{prefix}{name}", _type_name(annotation), default, doc)


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


def _filled(route: Route, given: RouteSettings) -> dict[str, object]:
    values = {name: getattr(route, name) for name in RouteSettings.model_fields if name != "use"}
    return {"use": given.use, **values}


def meant(name: str, known: Mapping[str, object] | list[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""
