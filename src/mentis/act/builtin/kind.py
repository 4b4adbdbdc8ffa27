"""The kind of a built-in act, apart from its words, and what all built-in acts have in common.

The words a model reads come in as a `ToolDeclaration`; what the act touches and may do stands here
beside its code, so that no wording can change it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mentis.errors import Defect, LedgerError, UserError, WorldError
from mentis.values.act import ActCall, ActSpec, Scope
from mentis.values.action import Outcome, OutcomeState
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.value import Value
from mentis.values.written import dump

from .arguments import Arguments, Unfit

SOURCE = "builtin"


@dataclass(frozen=True, slots=True)
class Kind(Value):
    """`limits` is for people, in the table of acts; `on` says whether it is there unasked."""

    name: str
    scope: Scope
    external_effects: bool = False
    idempotent: bool = True
    on: bool = True
    endpoint: str = ""
    timeout_seconds: float = 30.0
    limits: str = ""

    @property
    def place(self) -> str:
        """As that of its spec: another act of this name, at another place, is another act."""
        return self.endpoint or SOURCE

    def spec(self, declaration: ToolDeclaration) -> ActSpec:
        if declaration.name != self.name:
            raise Defect(f"the act {self.name!r} was given the words of {declaration.name!r}")
        declared = replace(
            declaration, external_effects=self.external_effects, idempotent=self.idempotent
        )
        return ActSpec(
            declared,
            scope=self.scope,
            source=SOURCE,
            endpoint=self.endpoint,
            timeout_seconds=self.timeout_seconds,
        )


class BuiltIn(ABC):
    """Answers every call with an outcome: what does not fit, is refused or fails is one too."""

    def __init__(self, spec: ActSpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> ActSpec:
        return self._spec

    async def handle(self, call: ActCall) -> Outcome:
        try:
            return await self._act(call, Arguments(call.action.payload))
        except Unfit as error:
            return self._failed(call, "invalid", str(error))
        except UserError as error:
            return self._failed(call, "refused", "; ".join(error.problems) or error.message)
        except (WorldError, LedgerError) as error:
            return self._failed(call, "unavailable", error.message)

    @abstractmethod
    async def _act(self, call: ActCall, given: Arguments) -> Outcome: ...

    def _done(
        self, call: ActCall, result: Mapping[str, object], trust: Trust, *, source: str = ""
    ) -> Outcome:
        """The result is facts under names: a model reads JSON in any language."""
        return Outcome(
            call.action,
            "done",
            text=dump(result).decode(),
            trust=trust,
            key=call.key,
            source=source or f"{SOURCE}:{self._spec.name}",
        )

    def _failed(self, call: ActCall, state: OutcomeState, reason: str) -> Outcome:
        source = f"{SOURCE}:{self._spec.name}"
        return Outcome(call.action, state, reason=reason, key=call.key, source=source)

    def _stopped(self, outcome: Outcome, state: OutcomeState, reason: str) -> Outcome:
        """Begun and broken off: what there is of a result stays with it."""
        return replace(outcome, state=state, reason=reason)
