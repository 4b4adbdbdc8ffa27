"""A tool, a letter that waits because its address came from outside, a yes, and the proof.

Run it with:  python examples/a_tool_and_an_approval.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import anyio

from mentis import Agent, create_home, open_acts, tool
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
    script = ScriptedProvider(
        [asks_for("read_board"), "Seeds are for sale.", order, "I need your yes.", "It is sent."]
    )
    tools = [read_board, send_letter]
    with tempfile.TemporaryDirectory() as folder:
        home = create_home(Path(folder) / "my-home")
        async with Agent.open(home, tools=tools, provider=script) as agent:
            for words in ("What is on the board?", "Order some seeds."):
                result = await agent.chat(words)
                (outcome,) = result.outcomes
                print(f"{outcome.action.type}: {outcome.state} {outcome.reason}")
                print(f"  {result.text} ({result.stop})")
            with open_acts(home) as acts:
                (waiting,), _ = acts.pending()
                print("would do:", dict(waiting.call.action.payload))
                acts.approve(waiting.call.key, by="me", words="I know the shop")
            went_on = await agent.resume()  # does what was approved, and tells the model
            print(went_on.text if went_on else "nothing was decided")
            with open_acts(home, readonly=True) as acts:
                story = acts.story(waiting.call.key)
                print(f"{story.type}: {story.state}, {story.text}")
                for step in story.steps:
                    print(f"  entry {step.entry}: {step.stage} {step.by}")
            print("record intact:", agent.verify().intact)


if __name__ == "__main__":
    anyio.run(main)
