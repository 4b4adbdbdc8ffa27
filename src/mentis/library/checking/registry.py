"""Rules about placeholders: where their value comes from, and whether anything uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mentis.library.search import usages
from mentis.values.placeholder import Placeholder

from .desk import CheckDesk, CheckFinding
from .marks import marks_in
from .text import fence_finding

PHASES: Mapping[str, str] = {
    "persona_config": "static",
    "user_profile": "static",
    "static": "static",
    "custom": "static",
    "user": "static",
    "computed": "computed",
    "runtime": "runtime",
}


def check_registry(desk: CheckDesk) -> Iterator[CheckFinding]:
    for placeholder in desk.loaded.library.placeholders.values():
        yield from _phase(placeholder, desk)
        yield from _default(placeholder, desk)
    yield from _unused(desk)


def _phase(placeholder: Placeholder, desk: CheckDesk) -> Iterator[CheckFinding]:
    key, phase, fitting = placeholder.key, placeholder.phase, PHASES[placeholder.source]
    if phase != fitting:
        yield CheckFinding(
            "prompt-phase-source",
            desk.placeholder(key, "resolve_phase"),
            f"{key!r} has source {placeholder.source!r} and phase {phase!r}",
            f"with source {placeholder.source!r} goes phase {fitting!r}",
        )
    elif phase == "computed" and not placeholder.compute_function:
        yield CheckFinding(
            "prompt-no-function",
            desk.placeholder(key),
            f"{key!r} is computed, and names no function",
            "name it as compute_function",
        )


def _default(placeholder: Placeholder, desk: CheckDesk) -> Iterator[CheckFinding]:
    if "default" not in desk.loaded.owner.placeholders.get(placeholder.key, {}):
        return
    for name in marks_in(str(placeholder.default)):
        yield fence_finding(name, desk.placeholder(placeholder.key, "default"))


def _unused(desk: CheckDesk) -> Iterator[CheckFinding]:
    own = desk.loaded.owner.placeholders.keys() - desk.loaded.shipped.placeholders.keys()
    for key in usages(desk.loaded.library).unused:
        if key in own:
            yield CheckFinding(
                "prompt-unused-placeholder",
                desk.placeholder(key),
                f"no block uses {{{{{key}}}}}",
                "use it, or delete it",
            )
