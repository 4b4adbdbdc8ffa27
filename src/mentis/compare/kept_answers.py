"""Answers of a comparison kept in a file: checked again, with other checks, without asking anybody.

Each stands beside the digest of the payload that it answers. The time of the prompts is kept too,
so that the same messages make the same payloads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import cast

from mentis.ask.attempt import RouteAttempt
from mentis.ask.lone_calls import AskAttempt, LoneReply
from mentis.ask.models import Models
from mentis.codec.forms import parse
from mentis.disk.atomic import write_atomic
from mentis.disk.bounded import read_bounded
from mentis.errors import BadInput, ModelError, ReplayError, ReplyError, WorldError
from mentis.values.json import json_object

FORMAT = 1
_MOST_BYTES = 500_000_000


@dataclass(slots=True)
class AnswerKeeper:
    """Asks, and keeps what came; `write` makes the file of it, also where it was broken off."""

    ask_first: AskAttempt
    now: datetime
    repeat: int
    answers: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    async def ask(self, models: Models, attempt: RouteAttempt) -> LoneReply:
        # In the order in which they were asked, whichever is answered first.
        place: dict[str, object] = {"payload": attempt.rendering.digest}
        self.answers.append(place)
        try:
            came = await self.ask_first(models, attempt)
        except (WorldError, ModelError) as error:
            place["failure"] = error.message
            raise
        place["events"] = list(came.events)
        return came

    def write(self, path: Path) -> None:
        came = [one for one in self.answers if len(one) > 1]  # no place of a call broken off
        form = {
            "format": FORMAT,
            "time": self.now.isoformat(),
            "repeat": self.repeat,
            "answers": came,
        }
        write_atomic(path, (json.dumps(form, ensure_ascii=False, indent=1) + "\n").encode())


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Each answer is given once, to the payload that it was an answer to, in their order."""

    path: Path
    now: datetime
    repeat: int  # how often each message was asked
    answers: dict[str, list[dict[str, object]]]

    async def ask(self, models: Models, attempt: RouteAttempt) -> LoneReply:
        """It reads what was kept; there is nobody here who could be asked."""
        del models
        left = self.answers.get(attempt.rendering.digest, [])
        if not left:
            raise ReplayError(
                f"{self.path} holds no answer (any more) to a prompt of this comparison",
                hint="what the model is told has changed since: ask again, and keep that",
                digest=attempt.rendering.digest,
            )
        kept = left.pop(0)
        if "failure" in kept:
            raise ReplyError(str(kept["failure"]))
        events = [str(one) for one in cast("list[object]", kept["events"])]
        for event in events:
            attempt.reader.feed(event)
        attempt.reader.rest()
        return LoneReply(tuple(events), attempt.reader.finish())


def read_kept(path: Path) -> KeptAnswers:
    """BadInput where the file is none that `keep` wrote."""
    hint = "it is the file that `mentis compare --keep FILE` wrote"
    try:
        found = json_object(parse(read_bounded(path, _MOST_BYTES).decode(), what=str(path)))
        answers: dict[str, list[dict[str, object]]] = {}
        for row in cast("list[object]", found["answers"]):
            told = dict(json_object(row))
            answers.setdefault(str(told["payload"]), []).append(told)
        if found["format"] != FORMAT:
            raise BadInput(f"{path} is of a newer Mentis", hint="upgrade this one")
        time, repeat = datetime.fromisoformat(str(found["time"])), found.get("repeat", 1)
        if not isinstance(repeat, int):
            raise BadInput(f"{path} says no number of repeats", hint=hint)
        return KeptAnswers(path, time, repeat, answers)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path} holds no kept answers", hint=hint) from error
