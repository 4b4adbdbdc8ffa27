"""semantic-router beside our selection: the same tools, examples and tasks.

`python -m bench.router` runs in an environment of its own (`.venv-router`), since semantic-router
pins older provider clients than the other peers. It is measured twice: with all-MiniLM-L6-v2 as it
is, which reads English, and with the vectors of our own embedder, so that only what follows the
embedding differs. All get the vector of a task; the time is for what follows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import anyio

from mentis.engines.catalogue import MINILM
from mentis.engines.embedders import open_embedder
from mentis.engines.minilm import MiniLm
from mentis.engines.weights import find_weights
from mentis.recall.evaluation_set import EvaluationSet, Task, load_set
from mentis.recall.manifest import build_manifest, texts_of
from mentis.recall.ranking import Ranking
from mentis.recall.selecting import Sight, choose, look
from mentis.tools.selection import own_reader

FIRST = 5
Ranked = Callable[[Task], Sequence[str]]


@cache
def model() -> MiniLm:
    weights = find_weights(MINILM.name)
    return MiniLm(weights, weights.with_name("vocab.txt"))


def plain(text: str) -> list[float]:
    return model().vector(text).tolist()


def embedded(texts: Sequence[str]) -> dict[str, list[float]]:
    """What our embedder makes of these texts."""
    embedder, _ = open_embedder("minilm")
    return dict(zip(texts, anyio.run(embedder.embed, list(texts)), strict=True))


def peer(found: EvaluationSet, vectors: Mapping[str, list[float]]) -> Ranked:
    """The nearest utterance of a route counts; of 12 settings tried none was better in English."""
    package: Any = import_module("semantic_router")
    base: Any = import_module("semantic_router.encoders").DenseEncoder

    class Plain(base):
        name: str = "all-MiniLM-L6-v2"

        def __call__(self, docs: list[str]) -> list[list[float]]:
            return [vectors[text] for text in docs]

        async def acall(self, docs: list[str]) -> list[list[float]]:
            return self(docs)

    routes: list[Any] = [
        package.Route(name=one.name, utterances=list(texts_of(one)), description=one.description)
        for one in found.capabilities
        if one.kind == "tool"
    ]
    settings = {"top_k": 50, "aggregation": "max"}
    router: Any = package.IndexedRouter(encoder=Plain(), routes=routes, **settings)

    def ranked(task: Task) -> list[str]:
        chosen = router(task.task, limit=FIRST, threshold=-1.0)
        return [one.name for one in chosen if one.name]

    return ranked


async def ours(found: EvaluationSet, tasks: Sequence[Task]) -> tuple[Ranked, Ranked]:
    embedder, _ = open_embedder("minilm")
    reader = own_reader()
    manifest, _ = await build_manifest(found.capabilities, embedder, reader)
    ranking = Ranking(manifest)
    sights: dict[Task, Sight] = {
        task: await look(task.task, ranking=ranking, embedder=embedder, reader=reader)
        for task in tasks
    }

    def ranked(task: Task) -> list[str]:
        sight = sights[task]
        return [one.name for one in ranking.by_both(sight.reading, sight.vector or ())]

    def tools(task: Task) -> list[str]:
        return [name for name in ranked(task) if name in names][:FIRST]

    def selected(task: Task) -> Sequence[str]:
        return choose(sights[task], ranking=ranking).tools

    names = {one.name for one in found.capabilities if one.kind == "tool"}
    return tools, selected


def measured(tasks: Sequence[Task], ranked: Ranked, timed: Ranked) -> dict[str, object]:
    asked = [task for task in tasks if task.tools]
    hits = dict.fromkeys((*(one.language for one in asked), "all"), 0)
    first = 0
    for task in asked:
        found = list(ranked(task))
        first += found[:1] == list(task.tools[:1])
        for key in (task.language, "all"):
            hits[key] += set(task.tools) <= set(found[:FIRST])
    sizes = {key: sum(key in (one.language, "all") for one in asked) for key in hits}
    begun = time.process_time()
    for task in tasks:
        timed(task)
    spent = (time.process_time() - begun) / len(tasks)
    return {
        "missed": len(asked) - hits["all"],
        "asked": len(asked),
        "recall@5": {key: round(hits[key] / sizes[key], 3) for key in hits},
        "first": round(first / len(asked), 3),
        "microseconds": round(spent * 1e6),
    }


def main() -> None:
    found = load_set()
    tasks = found.tasks
    tools = [one for one in found.capabilities if one.kind == "tool"]
    texts = list(dict.fromkeys([text for one in tools for text in texts_of(one)]))
    texts += [task.task for task in tasks if task.task not in texts]
    mine, chosen = anyio.run(partial(ours, found, tasks))
    told = {"mentis": measured(tasks, mine, chosen)}
    for name, vectors in (
        ("semantic-router", {text: plain(text) for text in texts}),
        ("semantic-router, our vectors", embedded(texts)),
    ):
        ranked = peer(found, vectors)
        told[name] = measured(tasks, ranked, ranked)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
