"""`mentis` and `python -m mentis`. Next to nothing is loaded before Ctrl-C is provided for."""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from .surfaces.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the commands were being loaded
        sys.stderr.write("stopped\n")
        code = 130
    if code == 130:
        from .system.signals import ignore_interrupts

        ignore_interrupts()  # Python might end by one after all, and a second one leave a traceback
    return code


if __name__ == "__main__":
    sys.exit(main())
