"""Models that a server says it has, and how many tokens each of them holds.

It is asked for its list, never for an answer: nothing is paid for, and no model has to be loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from mentis.errors import ProviderRefused, ProviderUnreachable
from mentis.facts.presets import PRESETS
from mentis.net.client import open_client
from mentis.net.targets import check_target, host_of, is_loopback, origin_of
from mentis.values.route import Route
from mentis.values.value import Value

from .answer import HttpAnswer
from .dialects import DIALECTS
from .faults import refusal, unreachable

if TYPE_CHECKING:
    import httpx2

Product: TypeAlias = Literal["", "ollama", "llamacpp", "vllm", "lmstudio"]
# By the word that each writes into its list, then by the port it usually has.
_OWNERS: Mapping[str, Product] = {
    "library": "ollama",
    "llamacpp": "llamacpp",
    "vllm": "vllm",
    "organization_owner": "lmstudio",
}
PRODUCTS: tuple[Product, ...] = ("ollama", "llamacpp", "vllm", "lmstudio")
# Words for the room that a model has, in the lists of vLLM, OpenRouter, Groq and Mistral.
_ROOM = ("max_model_len", "context_length", "context_window", "max_context_length")
_MOST_BYTES = 4_000_000  # OpenRouter lists hundreds of models, each with a description
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ServedModel(Value):
    """`context` is how many tokens it holds as it is served, None where the server does not say.

    `size` is told as the server tells it ("3.2B", "Q4_K_M"); `loaded` is whether it is in memory.
    """

    name: str
    context: int | None = None
    size: str = ""
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class ModelList(Value):
    """Models that write, in the order of the server; `product` is what it is known to be."""

    models: tuple[ServedModel, ...] = ()
    product: Product = ""

    def find(self, name: str) -> ServedModel | None:
        """The model that a route with this name gets; a server with one model takes any name."""
        wanted = (name, f"{name}:latest") if self.product == "ollama" else (name,)
        found = next((one for one in self.models if one.name in wanted), None)
        if found is None and self.product == "llamacpp" and len(self.models) == 1:
            return self.models[0]
        return found

    @property
    def strict(self) -> bool:
        """Whether a model that is not in the list is refused for sure."""
        return self.product in ("ollama", "vllm")


def start_command(route: Route) -> str:
    """The command that starts the server of a route, where it stands at its usual port here."""
    product = _usual_product(route)
    return PRESETS[product].start if product else ""


async def list_models(route: Route, key: str, *, seconds: float = SECONDS) -> ModelList:
    """The list of the server that a route leads to.

    ProviderUnreachable where nobody answers, ProviderRefused where it has no list for this key.
    """
    import httpx2

    check_target(route.url, with_key=bool(key))
    outside = not is_loopback(host_of(route.url))
    client = open_client(read_seconds=seconds, through_proxy=outside)
    client.timeout = httpx2.Timeout(seconds)
    desk = _Desk(client, route, key)
    try:
        async with client:
            dialect = DIALECTS[route.backend]
            found = _listed(await desk.get(dialect.list_address(route)), route)
            return await _completed(desk, found)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise unreachable(error, route, key) from error


@dataclass(frozen=True, slots=True)
class _Desk:
    """Asks one server, with the headers of its route."""

    client: httpx2.AsyncClient
    route: Route
    key: str

    async def get(self, url: str) -> Mapping[str, object]:
        headers = DIALECTS[self.route.backend].headers_for(self.route, self.key)
        async with self.client.stream("GET", url, headers=headers) as response:
            answer = HttpAnswer(
                response.status_code, dict(response.headers), response.aiter_bytes()
            )
            if answer.status != 200:
                raise await refusal(answer, self.route, self.key)
            async for piece in answer.body:
                answer.heard += piece
                if len(answer.heard) > _MOST_BYTES:
                    break
        return _object(bytes(answer.heard), self.route)

    async def look(self, path: str) -> Mapping[str, object]:
        """A page of the product's own, or nothing: not every version of it has it."""
        try:
            return await self.get(f"{origin_of(self.route.url)}{path}")
        except (ProviderRefused, ProviderUnreachable):
            return {}


def _object(body: bytes, route: Route) -> Mapping[str, object]:
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return cast("Mapping[str, object]", found)
    raise ProviderRefused(
        f"route {route.name!r}: {route.url} answers, and not as a server of models does",
        hint=f"check routes.{route.name}.url: it usually ends in /v1",
        url=route.url,
    )


def _listed(told: Mapping[str, object], route: Route) -> ModelList:
    """OpenAI, Anthropic and most servers call it `data`, Gemini `models`."""
    rows = _rows(told.get("data")) or _rows(told.get("models"))
    models = tuple(filter(None, map(_served, rows)))
    owners = {str(row.get("owned_by")) for row in rows}
    named: list[Product] = [product for owner, product in _OWNERS.items() if owner in owners]
    product = named[0] if named else _usual_product(route)
    return ModelList(models, product)


def _usual_product(route: Route) -> Product:
    here = origin_of(route.url)
    usual: list[Product] = [one for one in PRODUCTS if origin_of(PRESETS[one].url) == here]
    return usual[0] if usual else ""


def _served(row: Mapping[str, object]) -> ServedModel | None:
    name = row.get("id") or row.get("name")
    if not isinstance(name, str) or not name:
        return None
    meta = _mapping(row.get("meta"))
    room = next((row[key] for key in _ROOM if key in row), meta.get("n_ctx"))
    params = meta.get("n_params")
    size = f"{params / 1e9:.1f}B" if isinstance(params, int) else ""
    return ServedModel(name.removeprefix("models/"), _count(room), size, loaded=bool(meta))


async def _completed(desk: _Desk, found: ModelList) -> ModelList:
    """With what only the product's own pages say: which models write, their size, their room."""
    if found.product == "ollama":
        return _with_ollama(found, await desk.look("/api/tags"), await desk.look("/api/ps"))
    if found.product == "lmstudio":
        return _with_lmstudio(found, await desk.look("/api/v0/models"))
    if found.product == "llamacpp" and [one.context for one in found.models] == [None]:
        settings = _mapping((await desk.look("/props")).get("default_generation_settings"))
        room = _count(settings.get("n_ctx"))
        return replace(found, models=(replace(found.models[0], context=room),))
    if found.product == "vllm":
        loaded = tuple(replace(one, loaded=True) for one in found.models)
        return replace(found, models=loaded)
    return found


def _with_ollama(
    found: ModelList, tags: Mapping[str, object], running: Mapping[str, object]
) -> ModelList:
    known = {
        str(row.get("name")): _mapping(row.get("details")) for row in _rows(tags.get("models"))
    }
    loaded = {
        str(row.get("name")): _count(row.get("context_length"))
        for row in _rows(running.get("models"))
    }
    models = list[ServedModel]()
    for one in found.models:
        details = known.get(one.name, {})
        if "bert" in str(details.get("family")):  # it turns text into vectors
            continue
        size = str(details.get("parameter_size") or "")
        room = loaded.get(one.name)
        models.append(replace(one, context=room, size=size, loaded=one.name in loaded))
    return replace(found, models=tuple(models))


def _with_lmstudio(found: ModelList, own: Mapping[str, object]) -> ModelList:
    known = {str(row.get("id")): row for row in _rows(own.get("data"))}
    models = list[ServedModel]()
    for one in found.models:
        row = known.get(one.name, {})
        if row.get("type") == "embeddings":
            continue
        loaded = row.get("state") == "loaded"
        room = _count(row.get("loaded_context_length")) if loaded else None
        size = str(row.get("quantization") or "")
        models.append(replace(one, context=room, size=size, loaded=loaded))
    return replace(found, models=tuple(models))


def _rows(value: object) -> list[Mapping[str, object]]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [row for one in listed if (row := _mapping(one))]


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
