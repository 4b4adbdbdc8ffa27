"""PostgreSQL's error codes as our errors, in the words of somebody who uses Mentis."""

from __future__ import annotations

from mentis.errors import (
    BadInput,
    MentisError,
    SettingsError,
    StoreConflict,
    StoreDamaged,
    StoreDown,
    StoreError,
    StoreFull,
    StoreLocked,
)

# The first code that begins so decides: kind, what it means, what to do.
_MEANINGS: tuple[tuple[tuple[str, ...], type[MentisError], str, str], ...] = (
    (
        ("55P03", "40P01", "40001"),
        StoreLocked,
        "another process is writing",
        "try again, or raise `store.busy_seconds`",
    ),
    (("53100", "53200"), StoreFull, "the server has no space left", "free some space"),
    (
        ("28", "42501", "3D000", "3F000"),
        SettingsError,
        "the server does not let us in",
        "check `ledger.url` and the rights it gives",
    ),
    (
        ("42P01", "42703"),
        StoreDamaged,
        "this is not the schema it should be",
        "it was left as it is; put a backup in its place",
    ),
    (("25006",), StoreError, "the server only reads", "use the primary server"),
    (
        ("22",),
        BadInput,
        "this cannot be kept there",
        "leave out what the message names; nothing was recorded",
    ),
    (("23",), StoreConflict, "it holds something else in that place", ""),
    (
        ("08", "57", "53300"),
        StoreDown,
        "there is no connection",
        "check `ledger.url` and the server; the ledger says whether the last entry was kept",
    ),
)
_NO_ANSWER = "08000"
_NO_PASSWORD = "no password supplied"  # noqa: S105  # libpq's words; there is no code for it


def translate(error: Exception, *, code: str | None, where: str) -> MentisError:
    """One of our errors for one of PostgreSQL's; `where` names the server without its password."""
    text = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if _NO_PASSWORD in str(error):
        hint = (
            "give the address with it in the variable that `ledger.url_env` names; PGPASSWORD goes"
            " to no server that mentis.toml names"
        )
        return SettingsError(f"{where}: the server wants a password", hint=hint)
    sqlstate = code or _NO_ANSWER
    for beginnings, kind, meaning, hint in _MEANINGS:
        if sqlstate.startswith(beginnings):
            return kind(f"{where}: {meaning}: {text}", hint=hint, sqlstate=code)
    return StoreError(f"{where}: {text}", hint="see the log of the server", sqlstate=code)
