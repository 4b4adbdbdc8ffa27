"""Homes whose turns have one step, for what holds inside of it: the next turn tells results."""

from __future__ import annotations

from pathlib import Path


def one_step(home: Path) -> Path:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write("\n[turn]\nmax_steps = 1\n")
    return home
