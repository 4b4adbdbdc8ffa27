"""The agents of a home that are served, opened when somebody first asks for one; which of them, and
which conversation, a name means for whoever holds a token; and as whose words theirs count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from anyio import Lock, to_thread

from mentis.app.agent import Agent
from mentis.errors import AccessDenied, RequestRefused
from mentis.home.parts import Parts
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home, is_id
from mentis.talk.session_queue import SessionQueue
from mentis.values.recalled import Stimulus
from mentis.values.session import BEATS
from mentis.values.surroundings import Person, Surroundings
from mentis.values.trust import Trust
from mentis.values.value import Value

from .tokens import OWNER, AccessToken

_APART = "--"  # between a person and the name of a session that is theirs
_FRESH = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ModelName(Value):
    """What a model id names: a persona, and a session if one is said."""

    persona: str
    session: str = ""


class AgentPool:
    """All agents of one home that were asked for. It belongs to one event loop."""

    def __init__(self, home: Home, settings: Settings, parts: Parts, *, route: str) -> None:
        self._home = home
        self._settings = settings
        self._parts = parts
        self._route = route
        self._agents: dict[tuple[str, str], Agent] = {}
        self._former: list[Agent] = []
        self._queues: dict[str, SessionQueue] = {}
        self._opening = Lock()

    @property
    def path(self) -> Path:
        return self._home.path

    @property
    def route(self) -> str:
        """The route that is asked unless another is named."""
        return self._route

    async def personas(self, token: AccessToken) -> tuple[str, ...]:
        """Those that this token may talk to."""
        known = await to_thread.run_sync(self._home.personas)
        return tuple(one for one in known if token.agent in ("", one))

    async def named(self, model: str, token: AccessToken) -> ModelName:
        """The persona and session of a model id; refused where it is nobody's, or not for them."""
        chosen = self._alias(model)
        name, _, session = chosen.partition("@")
        persona = name.rpartition("/")[2] if name.startswith(f"{self._name}/") else name
        if (persona, self._route) in self._agents and token.agent in ("", persona):
            return ModelName(persona, session)
        personas = await self.personas(token)
        if persona not in personas:
            raise RequestRefused(
                f"there is no model {model!r}",
                hint=f"there are: {', '.join(personas) or 'none'}; or name it in web.models",
                status=404,
                openai_code="model_not_found",
                param="model",
            )
        return ModelName(persona, session)

    async def agent(self, persona: str, *, route: str = "") -> Agent:
        """The agent of a persona, on the route that is served unless another is named."""
        key = persona, route or self._route
        if key not in self._agents:
            async with self._opening:
                if key not in self._agents:
                    opening = partial(
                        Agent.open,
                        self._home.path,
                        persona=persona,
                        route=key[1],
                        parts=self._parts,
                    )
                    self._agents[key] = await to_thread.run_sync(opening)
        return self._agents[key]

    def open_anew(self, settings: Settings) -> None:
        """Let whoever asks from now on get agents with these settings; what was begun goes on."""
        self._settings = settings
        self._former += self._agents.values()
        self._agents.clear()

    def queue(self, agent: Agent) -> SessionQueue:
        """Whose request is answered in each session of an agent: from the look at what was said
        there to the answer. Turns of the agent itself wait in one of its own.
        """
        return self._queues.setdefault(agent.id, SessionQueue(self._settings.model.turn.queue))

    async def aclose(self) -> None:
        agents = [*self._former, *self._agents.values()]
        self._former.clear()
        self._agents.clear()
        for agent in agents:
            await agent.aclose()

    @property
    def _name(self) -> str:
        return self._settings.model.name or self._home.name

    def _alias(self, model: str) -> str:
        """What the settings say that a foreign id stands for; the first that fits."""
        known = self._settings.model.web.models
        return next((to for name, to in known.items() if fnmatchcase(model, name)), model)


def session_of(token: AccessToken, given: str) -> str:
    """The session that a name means for whoever holds this token: each person has their own."""
    if token.session and given not in ("", token.session):
        raise AccessDenied(
            f"token {token.name!r} is for the session {token.session!r} alone",
            hint="leave the session out",
            status=403,
        )
    name = token.session or given
    if _APART in name:
        raise AccessDenied(f"the session {name!r} is not yours", hint="name another", status=403)
    whole = _person_prefix(token) + name
    if not is_id(name) or not is_id(whole):
        raise RequestRefused(
            f"{name!r} is no name of a session",
            hint="use small letters, digits, dashes and underscores, and begin with no dash",
            status=400,
        )
    if whole == BEATS:
        raise AccessDenied(
            f"the session {name!r} is the agent's own", hint="name another", status=403
        )
    return whole


def own_name(token: AccessToken, session: str) -> str:
    """The name by which whoever holds this token calls a session; "" if it is not theirs."""
    prefix = _person_prefix(token)
    name = session.removeprefix(prefix)
    return name if session.startswith(prefix) and _APART not in name else ""


def fresh_session(token: AccessToken, ending: str) -> str:
    """A new one, named after the token, so that it is known as its own."""
    return _prefix(token) + ending


def is_own_session(token: AccessToken, session: str) -> bool:
    """Whether this token began it."""
    prefix = _prefix(token)
    return session.startswith(prefix) and bool(_FRESH.fullmatch(session.removeprefix(prefix)))


def _prefix(token: AccessToken) -> str:
    return f"{_person_prefix(token)}{token.name}-"


def _person_prefix(token: AccessToken) -> str:
    return "" if token.person.id == OWNER else f"{token.person.id}{_APART}"


def is_guest(token: AccessToken) -> bool:
    """Whether somebody holds it whom nobody vouches for."""
    return token.person.trust == "guest"


def said_by(token: AccessToken, message: Stimulus) -> Stimulus:
    """The message as the words of whoever holds this token: a guest's are untrusted, and nobody but
    the owner is told of other conversations.
    """
    person = token.person
    own, guest = person.id == OWNER, is_guest(token)
    about = (Person(person.name, bio=person.about),) if guest and person.about else ()
    return replace(
        message,
        author="" if own else person.name,
        trust=Trust.UNTRUSTED if guest else Trust.OWNER,
        surroundings=Surroundings(people=about) if about else message.surroundings,
        scope=message.scope if own else "local",
    )
