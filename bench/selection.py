"""What it costs to select for a task once it is embedded, against the bare product and a join.

200 tools and 100 skills with four examples each, 640 dimensions, as the default embedder has them.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache, partial
from pathlib import Path

import anyio
import numpy as np

from mentis.engines.embedders import open_embedder
from mentis.engines.gloss import gloss
from mentis.engines.ngrams import NgramEmbedder
from mentis.recall.manifest import WordReader, build_manifest
from mentis.recall.ranking import Ranking
from mentis.recall.selecting import Sight, choose, look
from mentis.values.selection import Capability, Kind

from .harness import Pair, benchmark, weight

READER = WordReader("gloss", gloss)
EMBEDDER = NgramEmbedder(640, read=gloss, name="ngrams-1")
TASK = "find the invoice of last month and send it to the customer"
VERBS = ("find", "send", "open", "close", "convert", "record", "cancel", "show", "print", "check")
NOUNS = ("invoice", "mail", "door", "lamp", "parcel", "file", "song", "route", "note", "chart")


def capability(number: int, kind: Kind) -> Capability:
    verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
    examples = tuple(f"{verb} my {noun} of customer {number + step}" for step in range(4))
    return Capability(f"{verb}_{noun}_{number}", kind, f"{verb} one {noun} by number", examples)


@cache
def ready() -> tuple[Ranking, Sight]:
    tools = [capability(number, "tool") for number in range(200)]
    skills = [capability(number, "skill") for number in range(100)]

    async def made() -> tuple[Ranking, Sight]:
        manifest, _ = await build_manifest([*tools, *skills], EMBEDDER, READER)
        ranking = Ranking(manifest)
        return ranking, await look(TASK, ranking=ranking, embedder=EMBEDDER, reader=READER)

    return anyio.run(made)


@benchmark("select", against="numpy product of all vectors, sorted, names joined", gate=8.0)
def select_of_300() -> Pair:
    ranking, sight = ready()
    rows = np.frombuffer(ranking.manifest.vectors, dtype="<f4").reshape(-1, 640)
    names = [f"- {one.name}: {one.description}" for one in _all(ranking)]
    wanted = np.array(sight.vector, dtype=np.float32)

    def bare() -> str:
        order = np.argsort(-(rows @ wanted), kind="stable")
        return "\n".join(names[int(place) // 5] for place in order[:15])

    return partial(choose, sight, ranking=ranking), bare


def _all(ranking: Ranking) -> list[Capability]:
    return [entry.capability for entry in ranking.manifest.entries]


@benchmark("embed one task", against="the select above, wall", gate=None, rounds=5, clock="wall")
def embed_one() -> Pair:
    embedder, _ = open_embedder()
    ranking, sight = ready()
    number = iter(range(10_000_000))

    def fresh() -> object:
        return anyio.run(embedder.embed, [f"{TASK} {next(number)}"])

    return fresh, partial(choose, sight, ranking=ranking)


ROUTER = Path(__file__).resolve().parent.parent / ".venv-router/bin/python"


@cache
def beside_router() -> dict[str, dict[str, int]]:
    """What `bench.router` measured, in the environment that semantic-router needs."""
    if not ROUTER.exists():
        raise SystemExit("semantic-router is not installed: make .venv-router/.router")
    command = [str(ROUTER), "-m", "bench.router"]
    done = subprocess.run(
        command, cwd=ROUTER.parents[2], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


@weight("tools missed", against="semantic-router, our vectors", gate=1.0, slow=True)
def missed() -> tuple[int, int]:
    found = beside_router()
    return found["mentis"]["missed"], max(found["semantic-router, our vectors"]["missed"], 1)


@weight("select, microseconds", against="semantic-router, vector given", gate=2.0, slow=True)
def microseconds() -> tuple[int, int]:
    found = beside_router()
    return found["mentis"]["microseconds"], found["semantic-router"]["microseconds"]
