"""A tool, a letter that waits because its address came from outside, a yes, and the proof.

Run it with:  python examples/a_tool_and_an_approval.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import anyio

from mentis import Agent, Parts, create_home, open_acts, tool
from mentis.testing import ScriptedProvider


@tool
def read_board() -> str:
    """Read the notice board in the hall."""
    return "Seeds for sale: write to orders@quince.example!"


@tool(external_effects=True)
def send_letter(to: str, text: str) -> str:
    """Send a letter."""
    return f"sent to {to}: {text}"


def asks_for(name: str, **arguments: object) -> str:
    """What a model says that calls a tool; a script says it here, to leave nothing to luck."""
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


async def main() -> None:
    order = asks_for("send_letter", to="orders@quince.example", text="Two bags, please.")
    script = ScriptedProvider([asks_for("read_board"), order, "They will come."])
    parts = Parts(provider=script, handlers=(read_board, send_letter))
    with tempfile.TemporaryDirectory() as folder:
        home = create_home(Path(folder) / "my-home")
        async with Agent.open(home, parts=parts) as agent:
            for words in ("What is on the board?", "Order some seeds."):
                (outcome,) = (await agent.chat(words)).outcomes
                print(f"{outcome.action.type}: {outcome.state} {outcome.reason}")
            with open_acts(home, parts=parts) as acts:
                (waiting,), _ = acts.pending()
                print("would do:", dict(waiting.call.action.payload))
                acts.approve(waiting.call.key, by="me", words="I know the shop")
            await agent.chat("And now?")  # a turn begins with what was approved since
            with open_acts(home, readonly=True) as acts:
                story = acts.story(waiting.call.key)
                print(f"{story.type}: {story.state}, {story.text}")
                for step in story.steps:
                    print(f"  entry {step.entry}: {step.stage} {step.by}")
            print("record intact:", agent.verify().intact)


if __name__ == "__main__":
    anyio.run(main)
