"""A home with all that a report tells of: talk, acts, a yes and a no, claims true and false."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
from tests.rounds import GUEST, LETTER, Rounds, asking_home, calls, opened, says

from mentis import Stimulus, open_acts, open_record
from mentis.ledger.guardian.examples import good_window
from mentis.record.window_state import derive_state

SCRIPT = "<script>alert('stored')</script>"
ADDRESS = "mallory@example.org"


def evidence_home(folder: Path) -> Path:
    """Its turns are made one after the other, so that every window has the cycle of its time."""
    home = asking_home(folder)
    warm = calls(("a", "temperature", {"city": "Berlin"}), text=_opening(home, "Ask `temperature`"))
    _talk(home, "weather", f"How warm is it in Berlin? {SCRIPT}", warm, says("17 degrees, I see."))
    lie = says(f"{_opening(home, 'Send it with `send`')}The letter is on its way.")
    _talk(home, "letter", "Write to my landlord that the heating is broken.", lie)
    for name in ("yes", "no"):
        said = _opening(home, "Send it with `send`")
        _talk(home, name, GUEST, calls(LETTER, text=said), says("It waits."))
    _decide(home)
    _talk(
        home,
        "letter",
        "Is it done?\n\nGrüße \u202e und \x07 🙂",
        says("One was sent, one was not."),
    )
    return home


def _talk(home: Path, session: str, text: str | Stimulus, *rounds: list[object]) -> None:
    async def talk() -> None:
        settings = {"status__window": "model", "correction__calls": "1"}
        async with opened(home, Rounds(*rounds), **settings) as agent:
            await agent.chat(text, session=session)

    anyio.run(talk)


def _opening(home: Path, *actions: str) -> str:
    with open_record(home, readonly=True) as record:
        state = derive_state(record.store, record.agent)
    own = {"goal": f"Help with it {SCRIPT}", "cycle": state.cycle_text, "actions": list(actions)}
    return f"```json\n{json.dumps({**good_window(), **own})}\n```\n\n"


def _decide(home: Path) -> None:
    acts = open_acts(home)
    try:
        waiting, _ = acts.pending()
        for one in waiting:
            if one.call.session == "yes":
                acts.approve(one.call.key, by="Ada Owner", words="yes, that is our landlord")
            else:
                acts.deny(one.call.key, by="Ada Owner", words="not twice")
    finally:
        acts.close()
