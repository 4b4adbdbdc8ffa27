"""Print the tables of docs/concepts/screening.md from the figures that training wrote down.

python tools/screening_table.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from screening_rows import DATA, LANGUAGES

Told: TypeAlias = Mapping[str, Any]
WAYS = {"vector": "with vectors", "text": "text alone"}
SETS = {
    "dev_file": "development file",
    "dev_file_and_twins": "the same attacks, our harmless texts too",
    "both": "and our own attacks, by concept",
    "both_by_language": "and our own attacks, by language",
    "unseen": "pairs of our own that nothing was made of",
}


def main() -> None:
    told: Told = json.loads((DATA / "model.json").read_text("utf-8"))["left_out"]
    for way, name in WAYS.items():
        _table([f"{name}, left out"], _figures(told[way]), list(SETS.values()))
    _table(["ordinary text, share dropped (of how many)"], _dropped(told), list(LANGUAGES))
    for way in told:
        print(f"{way}: crosswise {_percent(told[way]['dropped_crosswise'])}")
    for source, (share, count) in told["vector"]["dropped_by_source"].items():
        print(f"  {source}: {_percent(share)} of {count}")


def _figures(told: Told) -> dict[str, list[str]]:
    """One line for each figure, one column for each set of texts."""
    sets: list[Told] = [told[name] for name in SETS]
    recalls = ("recall_at_1", "explicit_at_1", "implicit_at_1")
    found = {
        "attacks, others": [f"{one['attacks']}, {one['others']}" for one in sets],
        "AUROC": [_short(one["auroc"]) for one in sets],
        "recall at 1 percent false positives: all, explicit, implicit": [
            ", ".join(_short(one[name]) for name in recalls) for one in sets
        ],
        "recall at 5 percent": [_short(one["recall_at_5"]) for one in sets],
    }
    for lang in LANGUAGES:
        found[f"AUROC, {lang}"] = [_short(one["auroc_by_language"].get(lang)) for one in sets]
    return found


def _dropped(told: Told) -> dict[str, list[str]]:
    kinds = {"notes": "notes and documents", "hard": "hard negatives"}
    return {
        f"{kind}, {name}": [
            f"{_percent(share)} ({count})"
            for share, count in (
                told[way]["ordinary_dropped_by_language"][lang][key] for lang in LANGUAGES
            )
        ]
        for key, kind in kinds.items()
        for way, name in WAYS.items()
    }


def _short(number: float | None) -> str:
    return "none" if number is None else f"{number:.3f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _table(corner: Sequence[str], lines: Mapping[str, Sequence[str]], columns: list[str]) -> None:
    print("| " + " | ".join([*corner, *columns]) + " |")
    print("|" + "---|" * (1 + len(columns)))
    for name, cells in lines.items():
        print("| " + " | ".join([name, *cells]) + " |")
    print()


if __name__ == "__main__":
    main()
