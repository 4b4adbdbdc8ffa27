"""A loop as the settings and whoever starts it want it, with the sources it listens to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from mentis.disk.atomic import unwritable
from mentis.errors import BadInput, UsageError
from mentis.home.identity import Identity
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.ports.sense_source import SenseSource
from mentis.record.agent_record import AgentRecord
from mentis.settings.run import RunSettings
from mentis.tick.events import Emit
from mentis.values.trust import Trust
from mentis.values.value import Value

from .alone import loop_lock
from .chores import ChorePlan
from .folder import SenseFolder
from .loop import Loop, LoopAgent, LoopPlan
from .pause import Pause
from .sealed import Seals
from .socket import SenseSocket
from .suspected import SuspectsFile
from .timers import Timer, Timers


@dataclass(frozen=True, slots=True)
class LoopChoice(Value):
    """For one loop: `interval` and `ticks` (0: no end), folders and a socket to listen to, and
    who vouches for what comes from them and from the agent's own folder.
    """

    interval: float | None = None
    ticks: int = 0
    folders: tuple[Path, ...] = ()
    socket: Path | None = None
    trust: Trust = Trust.UNTRUSTED


def open_loop(
    thinker: LoopAgent,
    who: Identity,
    record: AgentRecord,
    chosen: RunSettings,
    *,
    sources: Sequence[SenseSource],
    choice: LoopChoice | None,
    emit: Emit,
    pause: Pause | None,
) -> Loop:
    choice = choice or LoopChoice()
    home, persona = who.home, who.persona.id
    inbox = _made(home.senses(persona))
    own = SenseFolder(
        inbox,
        trust=choice.trust,
        keeps=False,
        most_bytes=chosen.file_bytes,
        seals=Seals(who.agent, who.secret),
    )
    timers, named = _timers(record.clock, chosen), _named(record.ids, chosen, choice)
    return Loop(
        thinker,
        (own, *timers, *named, *sources),
        _plan(chosen, choice),
        emit=emit,
        pause=pause,
        alone=loop_lock(record, who),
        suspected=SuspectsFile(home.owners / "run" / f"{persona}.suspects.json"),
    )


def _made(inbox: Path) -> Path:
    try:
        inbox.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(inbox, error) from error
    return inbox


def _timers(clock: Clock, chosen: RunSettings) -> Iterator[SenseSource]:
    timers = {name: Timer(one.text, one.every, one.moment) for name, one in chosen.timers.items()}
    if timers:
        yield Timers(timers, clock)


def _named(ids: Ids, chosen: RunSettings, choice: LoopChoice) -> Iterator[SenseSource]:
    for folder in choice.folders:
        if not folder.is_dir():
            raise BadInput(f"{folder}: there is no such folder", hint="create it, or name another")
        yield SenseFolder(folder, trust=choice.trust, most_bytes=chosen.file_bytes)
    if choice.socket is not None:
        yield SenseSocket(choice.socket, ids, trust=choice.trust, most=chosen.senses)


def _plan(chosen: RunSettings, choice: LoopChoice) -> LoopPlan:
    interval = chosen.interval if choice.interval is None else choice.interval
    if not 0 <= interval < inf:
        hint = "give a number of seconds, for example 10; 0 is without a pause"
        raise UsageError(f"{interval} is no interval between ticks", hint=hint)
    return LoopPlan(
        interval=interval,
        ticks=choice.ticks,
        senses=chosen.senses,
        idle_gate=chosen.idle_gate,
        proactive=chosen.proactive,
        poll=chosen.poll,
        retry=chosen.retry,
        grace=chosen.grace,
        tries=chosen.tries,
        chores=ChorePlan(
            chosen.deliver,
            chosen.afterthoughts > 0,
            chosen.updates,
            poll=chosen.poll,
            retry=chosen.retry,
        ),
    )
