"""`python -m mentis` is the `mentis` command."""

from __future__ import annotations

from .surfaces.cli.main import main

if __name__ == "__main__":
    main()
