"""Operations as handlers: the owner says which, where, and with which keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urlencode

from mentis.errors import ActFailed, BadInput, RouteError
from mentis.net.client import open_client
from mentis.net.redact import redact
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.ports.secrets import Secrets
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Outcome, OutcomeState
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .answers import ApiAnswer, read_answer, reason_in, state_of, text_in, without
from .document import Document, Operation, OperationProblem
from .keys import Key, fill_in, keys_for
from .plan import OperationPlan, plan_of
from .wire import OutgoingRequest, request_for

if TYPE_CHECKING:
    import httpx2

_SAFE = ("get", "head")
_IDEMPOTENT = ("get", "head", "put", "delete")
_MOST_DESCRIPTION = 4 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiSource:
    """What the owner wants of a document.

    `url` is where it is called. Without one the document's first server counts, if its host is
    among `hosts`: a document alone never decides where we connect. `keys` says, for a security
    scheme, what the secret is called. `effects` are operations that change something though they
    are a GET; `idempotent` others whose server heeds the key of a call.
    """

    name: str
    operations: tuple[str, ...]
    url: str = ""
    hosts: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    prefix: str = ""
    effects: tuple[str, ...] = ()
    idempotent: tuple[str, ...] = ()
    timeout_seconds: float = 30.0
    max_bytes: int = 8 * 1024 * 1024
    trusted: bool = False  # the owner vouches for what it answers


class OpenApi:
    """The chosen operations of one document; close it when none of them will be called again.

    `problems` say what of the document is not used, and which descriptions are told in part.
    """

    def __init__(self, source: OpenApiSource, document: Document, secrets: Secrets) -> None:
        self.source = source
        self.secrets = secrets
        self.url = _server(source, document)
        self._client: httpx2.AsyncClient | None = None
        chosen = [document.operation(name) for name in dict.fromkeys(source.operations)]
        self.handlers = tuple(OpenApiAct(self, document, operation) for operation in chosen)
        cut = [problem for handler in self.handlers if (problem := handler.description_problem)]
        self.problems: tuple[OperationProblem, ...] = (*document.problems, *cut)

    def client(self) -> httpx2.AsyncClient:
        if self._client is None:
            outside = not is_loopback(host_of(self.url))
            seconds = self.source.timeout_seconds
            self._client = open_client(read_seconds=seconds, through_proxy=outside)
        return self._client

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


class OpenApiAct:
    def __init__(self, owner: OpenApi, document: Document, operation: Operation) -> None:
        self._owner = owner
        self._keys = keys_for(document, operation, owner.source.keys)
        check_target(owner.url, with_key=bool(self._keys))
        taken = frozenset((key.place, key.name.lower()) for key in self._keys)
        self._plan = plan_of(document, operation, taken)
        self._spec = _spec(owner.source, self._plan, owner.url)

    @property
    def description_problem(self) -> OperationProblem | None:
        """That its description is not told as it stands in the document, if it is so."""
        whole, told = len(_said(self._plan.operation)), len(self._spec.declaration.description)
        if whole <= _MOST_DESCRIPTION:
            return None
        reason = f"its description has {whole} characters; the first {told} are told"
        return OperationProblem(self._spec.name, reason)

    @property
    def spec(self) -> ActSpec:
        return self._spec

    async def handle(self, call: ActCall) -> Outcome:
        known: tuple[str, ...] = ()
        try:
            sent = request_for(self._plan, call.action.payload)
            _refuse_key_places(sent, self._keys)
            known = fill_in(sent, self._keys, self._owner.secrets)
            answer = without(await self._exchange(sent, call), known)
        except BadInput as error:
            return self._outcome(call, "invalid", reason=error.message)
        except ActFailed as error:
            return self._outcome(call, error.state, reason=redact(error.message, known))
        state = state_of(answer.status, repeatable=self._repeatable)
        if state == "done":
            text = text_in(answer, self._plan.operation.method)
            reason = "" if answer.whole else f"the answer was cut at {len(answer.body)} bytes"
            return self._outcome(call, state, text=text, reason=reason)
        return self._outcome(call, state, reason=reason_in(answer))

    @property
    def _repeatable(self) -> bool:
        told = self._spec.declaration
        return told.idempotent or not told.external_effects

    async def _exchange(self, sent: OutgoingRequest, call: ActCall) -> ApiAnswer:
        import httpx2

        method, client = self._plan.operation.method, self._owner.client()
        headers = {**sent.headers, "Accept": "application/json, */*;q=0.5"}
        headers["Accept-Encoding"] = "identity"  # what is packed may unpack to any size
        if sent.cookies:
            headers["Cookie"] = "; ".join(f"{name}={text}" for name, text in sent.cookies.items())
        if method not in _SAFE:
            headers["Idempotency-Key"] = call.key
        url = f"{self._owner.url}{sent.path}{'?' if sent.query else ''}{_query(sent)}"
        try:
            async with client.stream(
                method.upper(), url, headers=headers, content=sent.body
            ) as response:
                client.cookies.clear()  # one call knows nothing of another
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise self._broken("it answered with packed bytes, which were not asked for")
                most = self._owner.source.max_bytes
                body, whole = await read_answer(response.aiter_raw(), most)
                return ApiAnswer(response.status_code, dict(response.headers), body, whole)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise ActFailed(f"no connection: {_told(error)}") from error
        except httpx2.TimeoutException as error:
            raise self._broken(f"no answer in time: {_told(error)}", timeout=True) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._broken(f"the connection broke: {_told(error)}") from error

    def _broken(self, why: str, *, timeout: bool = False) -> ActFailed:
        """It may have been done: whether that matters depends on what it does."""
        if not self._repeatable:
            return ActFailed(f"{why}; how far it came is not known", state="unknown")
        return ActFailed(why, state="timeout" if timeout else "unavailable")

    def _outcome(
        self, call: ActCall, state: OutcomeState, *, text: str = "", reason: str = ""
    ) -> Outcome:
        source = self._spec.source
        return Outcome(call.action, state, text=text, reason=reason, key=call.key, source=source)


def _spec(source: OpenApiSource, plan: OperationPlan, url: str) -> ActSpec:
    operation = plan.operation
    declaration = ToolDeclaration(
        f"{source.prefix}{operation.id}",
        _description(operation),
        plan.schema,
        external_effects=operation.method not in _SAFE or operation.id in source.effects,
        idempotent=operation.method in _IDEMPOTENT or operation.id in source.idempotent,
        trust=Trust.UNTRUSTED,  # whoever wrote the document
    )
    return ActSpec(
        declaration,
        "agent",
        f"openapi:{source.name}",
        timeout_seconds=source.timeout_seconds,
        where=f"{operation.method.upper()} {url}{operation.path}",
        trusted=source.trusted,
    )


def _description(operation: Operation) -> str:
    """All that is said, as far as it can be told on every turn."""
    whole = _said(operation)
    if not whole:
        return f"{operation.method.upper()} {operation.path}"
    return whole[:_MOST_DESCRIPTION]


def _said(operation: Operation) -> str:
    said = [operation.content.get(name) for name in ("summary", "description")]
    texts = [text.strip() for text in said if isinstance(text, str) and text.strip()]
    return "\n\n".join(dict.fromkeys(texts))


def _server(source: OpenApiSource, document: Document) -> str:
    if source.url:
        return source.url.rstrip("/")
    servers = document.root.get("servers")
    listed = cast("list[object]", servers) if isinstance(servers, list) else []
    url = str(document.resolve(listed[0]).get("url", "")) if listed else ""
    try:
        host = host_of(url)
    except RouteError:
        host = ""
    if host and host in source.hosts:
        return url.rstrip("/")
    raise document.refusal(
        f"it would be called at {url or 'no address'!r}, and nobody allowed that",
        "say where: url = ..., or allow its host: hosts = [...]",
    )


def _refuse_key_places(sent: OutgoingRequest, keys: tuple[Key, ...]) -> None:
    """An object in a query brings names of its own; none of them may be that of a key."""
    for key in keys:
        if key.place == "query" and any(name == key.name for name, _ in sent.query):
            raise BadInput(f"{key.name} is not for a payload to say", hint="leave it out")


def _query(sent: OutgoingRequest) -> str:
    return urlencode(sent.query, quote_via=quote)


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
