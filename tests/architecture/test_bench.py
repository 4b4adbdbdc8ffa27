"""The harness compares; what it measures is not judged here."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    module = importlib.import_module("bench.harness")
    for registry in ("REGISTERED", "SUMMARIES", "WEIGHTS"):
        monkeypatch.setattr(module, registry, {})
    monkeypatch.setattr(module, "SAMPLE_SECONDS", 0.0005)
    return module


def test_candidate_and_baseline_take_turns_and_the_ratio_is_theirs(harness: ModuleType) -> None:
    order: list[str] = []

    def work(name: str, amount: int) -> None:
        order.append(name)
        sum(range(amount))

    pair = (lambda: work("candidate", 40_000), lambda: work("baseline", 40_000))
    harness.benchmark("same", against="same", rounds=4)(lambda: pair)
    result = harness.measure(harness.REGISTERED["same"])
    assert result.rounds == 4
    assert result.ratio.low <= result.ratio.median <= result.ratio.high
    assert result.candidate.cpu.median > 0
    assert result.within_gate
    rounds = order[-4 * (result.candidate.loops + result.baseline.loops) :]
    assert set(rounds[: result.baseline.loops]) == {"baseline"}


@pytest.mark.parametrize(("gate", "within"), [(1e9, True), (1e-9, False)])
def test_a_ratio_over_its_gate_fails(harness: ModuleType, gate: float, within: bool) -> None:
    run = lambda: sum(range(5_000))  # noqa: E731
    harness.benchmark("same", against="same", gate=gate, rounds=2)(lambda: (run, run))
    assert harness.measure(harness.REGISTERED["same"], times=2).within_gate is within


def test_the_figures_are_kept_as_json_and_the_exit_code_tells_of_the_gate(
    harness: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main = importlib.import_module("bench.__main__")
    run = lambda: sum(range(5_000))  # noqa: E731
    harness.benchmark("fine", against="itself", gate=1e9, rounds=2)(lambda: (run, run))
    harness.benchmark("slow", against="itself", gate=1e-9, rounds=2)(lambda: (run, run))
    monkeypatch.setattr(main, "REGISTERED", harness.REGISTERED)
    monkeypatch.setattr(main, "WEIGHTS", harness.WEIGHTS)
    monkeypatch.setattr(main, "MODULES", ())
    monkeypatch.setattr(main, "RESULTS", tmp_path / "results")
    assert main.main(["fine"]) == 0
    kept = json.loads((tmp_path / "results/fine.json").read_text(encoding="utf-8"))
    assert kept["against"] == "itself"
    assert main.main(["--json", str(tmp_path / "all.json")]) == 1
    figures = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert [(one["name"], one["within_gate"]) for one in figures] == [
        ("fine", True),
        ("slow", False),
    ]
    with pytest.raises(SystemExit):
        main.main(["nothing"])


def test_a_summary_is_the_median_of_its_members_and_only_where_all_were_measured(
    harness: ModuleType,
) -> None:
    run = lambda: sum(range(5_000))  # noqa: E731
    for name in ("a", "b"):
        harness.benchmark(name, against="itself", rounds=2)(lambda: (run, run))
    harness.summary("both", against="itself", members=("a", "b"), gate=1e9)
    results = [harness.measure(one) for one in harness.REGISTERED.values()]
    assert harness.summed_up(results[:1]) == []
    (figure,) = harness.summed_up(results)
    ratios = [result.ratio.median for result in results]
    assert min(ratios) <= figure.ratio <= max(ratios)
    assert figure.within_gate


@pytest.mark.parametrize(("gate", "within"), [(3, True), (1.5, False)])
def test_bytes_held_are_weighed_against_bytes(
    harness: ModuleType, gate: float, within: bool
) -> None:
    harness.weight("held", against="text", gate=gate)(lambda: (200, 100))
    figure = harness.weighed(harness.WEIGHTS["held"])
    assert figure.ratio == 2
    assert figure.within_gate is within
