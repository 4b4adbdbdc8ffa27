"""Models of this machine: which there are, and which of them answers in a home.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .engines.gguf_files import GgufFile, add_model
    from .home.found_models import (
        FoundModel,
        ModelSearch,
        best_model,
        choose_model,
        find_models,
        look_up_model,
        named_model,
    )

_HOMES = {
    "FoundModel": "home.found_models",
    "GgufFile": "engines.gguf_files",
    "ModelSearch": "home.found_models",
    "add_model": "engines.gguf_files",
    "best_model": "home.found_models",
    "choose_model": "home.found_models",
    "find_models": "home.found_models",
    "look_up_model": "home.found_models",
    "named_model": "home.found_models",
}

__all__ = (
    "FoundModel",
    "GgufFile",
    "ModelSearch",
    "add_model",
    "best_model",
    "choose_model",
    "find_models",
    "look_up_model",
    "named_model",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
