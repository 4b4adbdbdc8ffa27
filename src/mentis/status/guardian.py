"""The guardian's profiles of a home: those that ship, and the owner's in `guardian.toml`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from mentis.codec.toml import parse_toml, read_text
from mentis.disk.atomic import write_atomic
from mentis.errors import MentisError, SettingsError
from mentis.ledger.guardian import prove
from mentis.ledger.guardian.owner import read_profiles
from mentis.ledger.guardian.profiles import SHIPPED, digest_of, find_profile
from mentis.ledger.guardian.prove import activate
from mentis.values.guardian import GuardianProfile

FILE = "guardian.toml"


def owner_profiles(home: Path) -> Mapping[str, GuardianProfile]:
    """The owner's profiles, read but not proved; none when there is no file."""
    file = home / FILE
    if not file.exists():
        return {}
    text = read_text(file, error=SettingsError)
    return read_profiles(parse_toml(text, str(file), error=SettingsError), file=str(file))


def look_up_profile(home: Path, name: str) -> GuardianProfile:
    """A profile by its name, to look at; `open_profile` is for using it."""
    return find_profile(name, owner_profiles(home))


def open_profile(home: Path, name: str) -> GuardianProfile:
    """A profile that is proved to be one that can be obeyed.

    That an owner's profile was proved is kept in the cache folder, by its content and the rules'.
    """
    profile = look_up_profile(home, name)
    if profile in SHIPPED.values():
        return activate(profile)
    file = _proved_file(profile)
    if file.is_file():
        return profile
    activate(profile)
    with suppress(MentisError, OSError):  # then it is proved again the next time
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(file, f"{profile.name}\n")
    return profile


def _proved_file(profile: GuardianProfile) -> Path:
    from mentis.engines.weights import cache_dir

    key = hashlib.sha256(f"{digest_of(profile)} {_rules_digest()}".encode()).hexdigest()
    return cache_dir() / "guardian" / f"proved-{key}"


@cache
def _rules_digest() -> str:
    """What was proved with other rules, or by another search, is not proved."""
    whole = hashlib.sha256()
    folder = Path(prove.__file__).parent
    for file in sorted((*folder.glob("*.py"), *folder.glob("*.json"))):
        whole.update(file.name.encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()
