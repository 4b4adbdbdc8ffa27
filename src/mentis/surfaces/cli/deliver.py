"""`mentis deliver`."""

from __future__ import annotations

import click

from mentis.errors import UsageError
from mentis.values.action import Outcome

from .options import home_option, home_path, persona_option, route_option
from .output import emit, say
from .report import Note, Report, json_wanted, prints_report


@click.command(epilog="For example: mentis deliver")
@click.argument("key", required=False)
@persona_option
@route_option
@home_option
@prints_report
def deliver(key: str | None, *, persona: str | None, route: str) -> Report:
    """Deliver the results of acts that arrived after their turn.

    Each is reported once, in the conversation that asked for it or by an act that sends messages;
    no other acts are offered. With KEY, only that one. What is not delivered is reported in the
    next turn of that conversation.
    """
    from mentis.talk.talk_data import delivery_data

    from .talk import open_talk

    done: list[dict[str, object]] = []
    with open_talk(home_path(), persona=persona, route=route) as talk:
        for outcome in _wanted(talk.wait_for(talk.agent.deliverable_outcomes), key):
            result = talk.wait_for(lambda outcome=outcome: talk.agent.deliver(outcome))
            done.append(delivery_data(outcome, result))
            if not json_wanted():
                sent = (f"{one.action.type} {one.state}" for one in result.outcomes)
                emit("\n".join(filter(None, (result.reply.text, *sent))))
                say(f"[entry {result.entry.index}, {outcome.action.type}]")
    return Report(done, () if done else Note("there is nothing to deliver"))


def _wanted(found: tuple[Outcome, ...], key: str | None) -> tuple[Outcome, ...]:
    if key is None:
        return found
    named = tuple(one for one in found if one.key == key)
    if not named:
        known = ", ".join(one.key for one in found) or "none"
        raise UsageError(f"there is nothing to deliver of act {key!r}", hint=f"there are: {known}")
    return named
