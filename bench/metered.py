"""`python metered.py FD MODULE [ARGUMENT...]`: run a module's program and say, whenever asked, what
it has used of the processor. A byte on standard input asks; the answer is a line at FD.

It stands alone: servers of other people run it in environments without Mentis.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from threading import Thread


def answer(descriptor: int) -> None:
    while os.read(0, 1):
        os.write(descriptor, f"{time.process_time()}\n".encode())


def main() -> None:
    descriptor, module = int(sys.argv[1]), sys.argv[2]
    sys.argv = [module, *sys.argv[3:]]
    sys.path.pop(0)  # the folder of this file, whose modules nobody means
    Thread(target=answer, args=(descriptor,), daemon=True).start()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


main()
