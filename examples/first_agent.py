"""A home, an agent, one real turn, and the proof that its record holds.

Run it with:  python examples/first_agent.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio

from mentis import Agent, create_home


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = create_home(Path(folder) / "my-home")
        async with Agent.open(home) as agent:
            result = await agent.chat("Good morning! Who are you?")
            print(result.reply.text)
            print("entry", result.entry.index, result.entry.hash)
            print("record intact:", agent.verify().intact)


if __name__ == "__main__":
    anyio.run(main)
