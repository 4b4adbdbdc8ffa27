"""Every error Mentis raises, in one tree. Whose fault it is decides the branch.

MentisError
├── UserError            you can fix this: an argument, a file, a setting
│   ├── UsageError           usage             a call or command that makes no sense
│   ├── BadInput             bad-input         text or JSON that cannot be taken as it is
│   │   └── WindowRefused        window-refused    a rule of the guardian blocks this window
│   ├── SettingsError        settings          mentis.toml or a MENTIS_ variable is wrong
│   │   └── ProfileConflict      profile-conflict  a guardian profile that no window could obey
│   ├── HomeError            home              the home is not usable
│   │   ├── HomeMissing          home-missing      there is no home there
│   │   ├── HomeExists           home-exists       `init` would overwrite something
│   │   ├── HomeUnwritable       home-unwritable   the home cannot be written
│   │   ├── HomeTooNew           home-too-new      a newer Mentis made it
│   │   ├── HomeCopy             home-copy         it is a copy of another home, and only read
│   │   ├── BackupError          backup            a file of backups cannot be read or used
│   │   └── OutsideHome          outside-home      an id or path points out of the home
│   ├── PersonaError         persona           a persona or profile file is missing or wrong
│   ├── LibraryError         library           a prompt file is missing or wrong
│   ├── ComposeError         compose           the blocks cannot become this request
│   │   └── SenseTooLarge        sense-too-large   no route has room for what was sensed
│   ├── RenderError          render            the request cannot be said in this wire format
│   ├── RouteError           route             a route is unknown or incomplete
│   │   └── OptionError          option            an option of a call that cannot be sent
│   ├── ReplayError          replay            a recorded turn cannot be put together again
│   ├── BudgetReached        budget-reached    a limit on tokens or money that you set is reached
│   ├── SigningKeyError      signing-key       the ledger's key is missing or not safe to use
│   ├── AccessDenied         access-denied     a token is missing, unknown, or for something else
│   ├── RequestRefused       request-refused   an HTTP request that is outside of the limits
│   ├── EngineMissing        engine-missing    an optional package is not installed
│   └── WeightsMissing       weights-missing   the model file is not on this machine
├── WorldError           the world failed: disk, network, another process
│   ├── StoreError           store             the database could not do it
│   │   ├── StoreLocked          store-locked      another process holds it
│   │   ├── StoreFull            store-full        no space left
│   │   ├── StoreDown            store-down        the database server cannot be reached
│   │   ├── StoreTooNew          store-too-new     a newer Mentis wrote it
│   │   ├── StoreDamaged         store-damaged     it is not the database it should be
│   │   ├── StoreConflict        store-conflict    somebody else saved first
│   │   └── LeaseHeld            lease-held        another process has taken that over
│   ├── DownloadError        download          weights could not be fetched
│   ├── EngineFailed         engine-failed     the embedded model stopped working
│   ├── ActFailed            act-failed        an act says why it was not done
│   ├── SessionBusy          session-busy      too many messages of a session wait already
│   ├── ChannelFailed        channel-failed    a chat platform did not do what it was asked
│   ├── ProviderUnreachable  provider-unreachable  no connection, or it broke before an answer
│   ├── ProviderRefused      provider-refused  the provider answered with an error
│   └── ProviderPaused       provider-paused   it failed too often in a row to be asked again now
├── ModelError           the model's answer is unusable
│   └── ReplyError           reply             nothing in it can be read
│       └── OutputInvalid        output-invalid    it is not in the form that was asked for
├── LedgerError          the record does not hold
│   ├── NotCanonical         not-canonical     a value has no canonical JSON form
│   ├── BadCheckpoint        bad-checkpoint    a checkpoint cannot be read, or is not of this log
│   ├── HistoryBroken        history-broken    a history to import does not verify
│   └── RolledBack           rolled-back       the ledger is not what its last checkpoint saw
└── Defect               ours: a rule inside Mentis did not hold; please report it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

ActFailure: TypeAlias = Literal["unavailable", "refused", "invalid", "timeout", "unknown"]
# Whether a message went out: it did not and may be tried again, it never will, nobody knows.
SendFailure: TypeAlias = Literal["later", "never", "unknown"]


class MentisError(Exception):
    """What happened and where (the message), what to do next (the hint), and the facts."""

    code: ClassVar[str] = "error"

    def __init__(
        self, message: str, *, hint: str = "", problems: Sequence[str] = (), **facts: object
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.problems = tuple(problems)  # all of them, where one message tells only the first
        self.facts = facts

    def as_problem(self) -> dict[str, object]:
        """The JSON form, the same at every surface."""
        facts = {name: fact for name, fact in self.facts.items() if fact is not None}
        if self.problems:
            facts["problems"] = list(self.problems)
        return {"code": self.code, "message": self.message, "hint": self.hint, "facts": facts}


class UserError(MentisError):
    code = "user"


class UsageError(UserError):
    code = "usage"


class BadInput(UserError):
    code = "bad-input"


class WindowRefused(BadInput):
    code = "window-refused"


class SettingsError(UserError):
    code = "settings"


class ProfileConflict(SettingsError):
    code = "profile-conflict"


class HomeError(UserError):
    code = "home"


class HomeMissing(HomeError):
    code = "home-missing"


class HomeExists(HomeError):
    code = "home-exists"


class HomeUnwritable(HomeError):
    code = "home-unwritable"


class HomeTooNew(HomeError):
    code = "home-too-new"


class HomeCopy(HomeError):
    code = "home-copy"


class BackupError(HomeError):
    code = "backup"


class OutsideHome(HomeError):
    code = "outside-home"


class PersonaError(UserError):
    code = "persona"


class LibraryError(UserError):
    code = "library"


class ComposeError(UserError):
    code = "compose"


class SenseTooLarge(ComposeError):
    code = "sense-too-large"


class RenderError(UserError):
    code = "render"


class RouteError(UserError):
    code = "route"


class OptionError(RouteError):
    code = "option"


class ReplayError(UserError):
    code = "replay"


class BudgetReached(UserError):
    code = "budget-reached"


class SigningKeyError(UserError):
    code = "signing-key"


class AccessDenied(UserError):
    code = "access-denied"


class RequestRefused(UserError):
    code = "request-refused"


class EngineMissing(UserError):
    code = "engine-missing"


class WeightsMissing(UserError):
    code = "weights-missing"


class WorldError(MentisError):
    code = "world"


class StoreError(WorldError):
    code = "store"


class StoreLocked(StoreError):
    code = "store-locked"


class StoreFull(StoreError):
    code = "store-full"


class StoreDown(StoreError):
    code = "store-down"


class StoreTooNew(StoreError):
    code = "store-too-new"


class StoreDamaged(StoreError):
    code = "store-damaged"


class StoreConflict(StoreError):
    code = "store-conflict"


class LeaseHeld(StoreError):
    code = "lease-held"


class DownloadError(WorldError):
    code = "download"


class EngineFailed(WorldError):
    code = "engine-failed"


class ActFailed(WorldError):
    """Raised by what does an act. `state` says how it ended: unavailable, refused, invalid ..."""

    code = "act-failed"

    def __init__(
        self,
        message: str,
        *,
        state: ActFailure = "unavailable",
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint, state=state)
        self.state: ActFailure = state


class SessionBusy(WorldError):
    code = "session-busy"


class ChannelFailed(WorldError):
    """`sent` says what became of the message; `retry_after` when the platform said to come back."""

    code = "channel-failed"

    def __init__(
        self,
        message: str,
        *,
        sent: SendFailure = "never",
        retry_after: float = 0.0,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint, sent=sent, retry_after=retry_after or None)
        self.sent: SendFailure = sent
        self.retry_after = retry_after


class ProviderUnreachable(WorldError):
    code = "provider-unreachable"


class ProviderRefused(WorldError):
    code = "provider-refused"


class ProviderPaused(WorldError):
    code = "provider-paused"


class ModelError(MentisError):
    code = "model"


class ReplyError(ModelError):
    code = "reply"


class OutputInvalid(ReplyError):
    code = "output-invalid"


class LedgerError(MentisError):
    code = "ledger"


class NotCanonical(LedgerError):
    code = "not-canonical"


class BadCheckpoint(LedgerError):
    code = "bad-checkpoint"


class HistoryBroken(LedgerError):
    code = "history-broken"


class RolledBack(LedgerError):
    code = "rolled-back"


class Defect(MentisError):
    code = "defect"
