"""A sense out of what somebody wrote down: JSON in a file, a line, an argument."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from mentis.codec.forms import from_json
from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput
from mentis.values.cognition import Sense
from mentis.values.skeleton import skeleton
from mentis.values.tick import HIBERNATE
from mentis.values.trust import Trust

_HINT = 'for example {"text": "It rains."}'
_NAME = re.compile(r"[\w.:-]{1,64}")
# Kinds of the senses that the program itself makes, and from where: they tell a model who speaks.
OWN_KINDS = (
    "act.failed",
    "act.result",
    "draft.dropped",
    "sense.part",
    "senses.lost",
    "tick.cut_off",
    "timer",
    "window_verdict",
)
OWN_DOORS = ("cli", "folder")  # to the agent's own folder
DOORS = ("cli", "cortex", "folder", "owner", "runtime", "self", "socket", "timer")


def read_object(text: str | bytes) -> dict[str, object]:
    found = read_outside(text, what="this sense", hint=_HINT)
    if not isinstance(found, dict):
        raise BadInput("a sense is a JSON object", hint=_HINT)
    return cast("dict[str, object]", found)


def given_senses(
    given: Sequence[Mapping[str, object]], *, endpoint: str, owner: bool
) -> tuple[Sense, ...]:
    """Senses as somebody gave them. Who vouches for them is not what they say themselves, but what
    the person says who gives them.
    """
    trust = Trust.OWNER if owner else Trust.UNTRUSTED
    found: list[Sense] = []
    for number, one in enumerate(given, 1):
        own = {"kind", "payload", "id"} <= one.keys()
        name = one["id"] if own else f"{endpoint}-{number}"
        if not isinstance(name, str):
            raise BadInput(f"sense {number}: its id is no text", hint="put it in quotes")
        rest = {key: value for key, value in one.items() if not own or key != "id"}
        try:
            found.append(read_sense(rest, name, endpoint=endpoint, trust=trust))
        except BadInput as error:
            raise BadInput(f"sense {number}: {error.message}", hint=error.hint) from error
    return tuple(found)


def read_sense(
    given: Mapping[str, object],
    delivery: str,
    *,
    endpoint: str,
    trust: Trust,
    doors: tuple[str, ...] = (),
) -> Sense:
    """With `kind` and `payload` it is a sense, else the payload of one; `endpoint` is where it is
    from if it does not say, `doors` are others of our own that it may be from. Who vouches for
    it, and what makes it the same one when it comes again, is not what it says itself; that nobody
    does, it may say.
    """
    if given.get("trust", Trust.UNTRUSTED.value) != Trust.UNTRUSTED.value:
        raise BadInput(
            "a sense says itself whom it can be trusted by",
            hint="take `trust` out; --owner says that the senses are your own words",
        )
    trust = Trust.UNTRUSTED if "trust" in given else trust
    if not {"kind", "payload"} <= given.keys():
        payload = {name: one for name, one in given.items() if name != "trust"}
        given = {"kind": "input", "payload": payload}
    if "id" in given:
        raise BadInput("a sense that comes this way has no id of its own", hint="take `id` out")
    whole = {"endpoint": endpoint, **given, "id": delivery, "trust": trust.value}
    check_names(whole, (endpoint, *doors))
    try:
        written = json.dumps(whole)
    except RecursionError as error:
        raise BadInput("a sense is nested too deeply", hint="flatten the data") from error
    sense = from_json(Sense, written)
    if reason := stops_unvouched(sense):
        raise BadInput(reason, hint="--owner says that the senses are your own words")
    return sense


def stops_unvouched(sense: Sense) -> str:
    """Why a sense may not put the agent to rest: only its owner and the runtime do."""
    if sense.kind != HIBERNATE or sense.trust.rank <= Trust.RUNTIME.rank:
        return ""
    return "nobody vouches for this sense, and its kind stops the loop"


def check_names(given: Mapping[str, object], doors: tuple[str, ...]) -> None:
    """BadInput if a sense from outside has no short name, or one that is the program's own, or
    looks like it. It may be from those `doors` that it came by.
    """
    reserved = {"kind": OWN_KINDS, "endpoint": tuple([one for one in DOORS if one not in doors])}
    for name, taken in reserved.items():
        said = given.get(name)
        if not isinstance(said, str) or not _NAME.fullmatch(said):
            hint = "use 1 to 64 letters, digits and any of _ . : -"
            raise BadInput(f"the {name} of a sense is no short name", hint=hint)
        if _drawn(said) in map(_drawn, taken):
            raise BadInput(
                f"the {name} {said!r} of a sense is the program's own",
                hint=f"choose another one; taken are {', '.join(taken)}",
            )


def poses_as_ours(sense: Sense) -> str:
    """Why a sense that another program hands over may not be told as it is; nothing if it may.
    Its names need not be short, but no piece of them is one of ours; who vouches for it may say by
    which door it came.
    """
    kinds, doors = _pieces(sense.kind), _pieces(sense.endpoint or sense.kind)
    if not kinds.isdisjoint(map(_drawn, OWN_KINDS)):
        return f"the kind {sense.kind!r} of a sense is the program's own"
    ours = {_drawn(one) for one in DOORS if one != "cli"}
    if sense.trust.rank > Trust.RUNTIME.rank and not doors.isdisjoint(ours):
        return f"the endpoint {sense.endpoint!r} of a sense is the program's own"
    return ""


def _pieces(name: str) -> set[str]:
    """As a model sees them: without white space, and a slash stands between endpoint and kind."""
    return {_drawn("".join(one.split())) for one in name.split("/")}


def _drawn(name: str) -> str:
    """What it looks like, whatever stands between its parts."""
    return skeleton(re.sub(r"[_.:-]", "", name))
