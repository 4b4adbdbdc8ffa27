"""Bearer tokens of a home and the people they belong to, kept beside the keys and not in the home.

A home that comes from elsewhere brings no tokens along, and whoever reads the file finds digests:
a token is shown once, when it is made. These methods block.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, cast, get_args

from mentis.codec.forms import from_json, to_object
from mentis.disk.atomic import write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import BadInput, StoreDamaged, UsageError
from mentis.stores.files.home import checked_id, find_home
from mentis.stores.files.key_folder import config_folder, safe_name
from mentis.stores.files.own import make_own, read_own
from mentis.values.value import Value

V = TypeVar("V", bound=Value)
# Each may do what those before it may.
Scope: TypeAlias = Literal["read", "chat", "edit", "admin"]
PersonTrust: TypeAlias = Literal["owner", "guest"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
OWNER = "owner"  # the person that a token belongs to where nobody else is named
_NAME = re.compile(r"[a-z0-9](-?[a-z0-9_])*")  # no two dashes: they part a person from a session
_MOST_NAME, _MOST_PERSON = 32, 16
_BUSY_SECONDS = 10.0
_MARK = "mts"
_TAG = b"mentis-token-1\0"


@dataclass(frozen=True, slots=True)
class TokenPerson(Value):
    """Somebody who has tokens. `about` is what the agent is told of a guest."""

    id: str
    name: str
    trust: PersonTrust = "guest"
    about: str = ""


@dataclass(frozen=True, slots=True)
class AccessToken(Value):
    """A token without its secret. Empty `agent` and `session` leave it free for which it is."""

    name: str
    scope: Scope
    person: TokenPerson
    digest: str = field(repr=False)
    created: str = ""
    agent: str = ""
    session: str = ""

    def allows(self, needed: Scope) -> bool:
        """Whether it may do that."""
        return SCOPES.index(self.scope) >= SCOPES.index(needed)


@dataclass(frozen=True, slots=True)
class _Kept:
    people: Mapping[str, TokenPerson]
    tokens: Mapping[str, AccessToken]


def open_tokens(home: str | Path, environ: Mapping[str, str] | None = None) -> Tokens:
    """The tokens of a home, to make, list and revoke them."""
    chosen = os.environ if environ is None else environ
    return Tokens(config_folder(chosen), find_home(Path(home)).path)


class Tokens:
    """Those of one home, which is known by where it is: a copy elsewhere is another one."""

    def __init__(self, config: Path, home: Path) -> None:
        self._config = config
        self._home = home.resolve()
        self._folder = config / "tokens"
        self._seen: tuple[object, _Kept] | None = None

    @cached_property
    def path(self) -> Path:
        return self._folder / f"{safe_name(str(self._home))}.json"

    def new(
        self,
        name: str,
        *,
        scope: Scope = "chat",
        agent: str = "",
        session: str = "",
        person: str = OWNER,
    ) -> str:
        """Make a token and return it: nobody can ask for it again. `agent` is the one persona that
        it is for, `session` the one conversation; `person` whose it is.
        """
        _checked_name(name, "token", _MOST_NAME)
        _checked_name(person, "person", _MOST_PERSON)
        for part, what in ((agent, "persona"), (session, "session")):
            if part:
                checked_id(part, what)
        if scope not in SCOPES:
            raise UsageError(f"there is no scope {scope!r}", hint=f"one of {', '.join(SCOPES)}")
        secret = f"{_MARK}_{name}_{secrets.token_urlsafe(32)}"

        def add(kept: _Kept) -> _Kept:
            if name in kept.tokens:
                raise UsageError(
                    f"there is a token {name!r} already",
                    hint=f"choose another name, or first: mentis tokens revoke {name}",
                )
            whose = kept.people.get(person) or _new_person(person)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            made = AccessToken(name, scope, whose, _digest(secret), now, agent, session)
            return _Kept({**kept.people, whose.id: whose}, {**kept.tokens, name: made})

        self._change(add)
        return secret

    def list(self) -> tuple[AccessToken, ...]:
        """All of them, by name."""
        return tuple(token for _, token in sorted(self._read().tokens.items()))

    def people(self) -> tuple[TokenPerson, ...]:
        """Everybody who ever had a token, by id."""
        return tuple(person for _, person in sorted(self._read().people.items()))

    def set_person(
        self,
        person: str,
        *,
        name: str | None = None,
        trust: PersonTrust | None = None,
        about: str | None = None,
    ) -> TokenPerson:
        """Say who somebody is; it counts for all of their tokens from the next request on."""
        _checked_name(person, "person", _MOST_PERSON)
        if person == OWNER and trust not in (None, "owner"):
            raise UsageError("the owner cannot be a guest", hint="name another person")

        def put(kept: _Kept) -> _Kept:
            known = kept.people.get(person) or _new_person(person)
            chosen = {"name": name, "trust": trust, "about": about}
            made = replace(known, **{k: v for k, v in chosen.items() if v is not None})  # pyright: ignore[reportArgumentType]  # by their names
            return replace(kept, people={**kept.people, person: made})

        return self._change(put).people[person]

    def revoke(self, name: str) -> bool:
        """From the next request on it counts no more; False when there was none."""
        if name not in self._read().tokens:
            return False

        def drop(kept: _Kept) -> _Kept:
            return replace(kept, tokens={n: t for n, t in kept.tokens.items() if n != name})

        self._change(drop)
        return True

    def find(self, secret: str) -> AccessToken | None:
        """Whose token it is; None for one that nobody made, or that was revoked."""
        given = _digest(secret)
        kept = self._read().tokens.values()
        # Every digest is compared, so that the time says nothing of which one was near.
        found = [token for token in kept if hmac.compare_digest(token.digest, given)]
        return found[0] if found else None

    def _read(self) -> _Kept:
        """Read anew only where the file has changed: it is looked at with every request."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._seen is None or self._seen[0] != stamp:
                self._check_folder()
                self._seen = stamp, self._parse(read_own(self.path, top=self._config))
            return self._seen[1]
        except FileNotFoundError:
            self._check_folder()
            return _Kept({}, {})
        except (OSError, ValueError, TypeError, KeyError, BadInput) as error:
            raise StoreDamaged(
                f"{self.path}: the tokens cannot be read: {error}",
                hint="remove the file, and make new tokens: mentis tokens new NAME",
                file=str(self.path),
            ) from error

    def _check_folder(self) -> None:
        if self._config.resolve().is_relative_to(self._home):
            raise StoreDamaged(
                f"the configuration folder {self._config} is inside the home",
                hint="set MENTIS_CONFIG to a folder elsewhere",
            )

    def _parse(self, content: bytes) -> _Kept:
        told = cast("dict[str, object]", json.loads(content))
        if told["home"] != str(self._home):
            raise ValueError("they are of another home")
        listed = cast("list[object]", told["people"])
        people = {one.id: one for one in (_from(TokenPerson, each) for each in listed)}
        tokens: dict[str, AccessToken] = {}
        for each in cast("list[dict[str, object]]", told["tokens"]):
            whose = to_object(people[str(each["person"])])
            token = _from(AccessToken, {**each, "person": whose})
            tokens[token.name] = token
        return _Kept(people, tokens)

    def _change(self, change: Callable[[_Kept], _Kept]) -> _Kept:
        self._read()  # nothing is made where it would be refused
        make_own(self._folder, top=self._config)
        with write_lock(self._folder / ".lock", seconds=_BUSY_SECONDS):
            kept = change(self._read())
            told = {
                "home": str(self._home),
                "people": [to_object(one) for _, one in sorted(kept.people.items())],
                "tokens": [
                    {**to_object(one), "person": one.person.id}
                    for _, one in sorted(kept.tokens.items())
                ],
            }
            write_atomic(self.path, f"{json.dumps(told, indent=2)}\n")
            self._seen = None
        return kept


def token_data(token: AccessToken) -> dict[str, object]:
    """A token as JSON, for every surface."""
    return {
        "name": token.name,
        "scope": token.scope,
        "person": token.person.id,
        "trust": token.person.trust,
        "agent": token.agent,
        "session": token.session,
        "created": token.created,
    }


def _from(kind: type[V], found: object) -> V:
    return from_json(kind, json.dumps(found))


def _new_person(person: str) -> TokenPerson:
    return TokenPerson(person, person, "owner" if person == OWNER else "guest")


def _digest(secret: str) -> str:
    """No salt and no slow hash: 256 random bits cannot be guessed from their digest."""
    return hashlib.sha256(_TAG + secret.encode("utf-8", "surrogatepass")).hexdigest()


def _checked_name(name: str, what: str, most: int) -> None:
    if len(name) > most or not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a {what}",
            hint=f"use 1 to {most} small letters, digits, underscores and single dashes",
        )
