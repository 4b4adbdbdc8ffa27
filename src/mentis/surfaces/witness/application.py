"""The doors of a witness: `POST /add-checkpoint` of C2SP tlog-witness, and `GET /checkpoints`,
which gives back the last one of a log and of each below it. Nobody needs a token: what counts is
who signed the checkpoint.
"""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from mentis.errors import BadCheckpoint, RequestRefused
from mentis.ledger.witnessing import SIZE_TYPE, WitnessRefusal
from mentis.record.log_witness import LogWitness
from mentis.web.application import Door


def witness_doors(witness: LogWitness) -> tuple[Door, ...]:
    async def add_checkpoint(request: Request) -> Response:
        try:
            answer = await to_thread.run_sync(witness.add_checkpoint, await request.body())
        except BadCheckpoint as error:
            return PlainTextResponse(f"{error.message}\n", status_code=400)
        if isinstance(answer, WitnessRefusal):
            return _refusal(answer)
        return PlainTextResponse(answer)

    async def checkpoints(request: Request) -> Response:
        origin = request.query_params.get("origin", "")
        notes = await to_thread.run_sync(witness.checkpoints, origin) if origin else ""
        if not notes:
            raise RequestRefused(
                f"no checkpoint of {origin!r} was seen here",
                hint="name a log: /checkpoints?origin=NAME",
                status=404,
            )
        return PlainTextResponse(notes)

    return (
        Door("/add-checkpoint", add_checkpoint, None, ("POST",)),
        Door("/checkpoints", checkpoints, None),
    )


def _refusal(refused: WitnessRefusal) -> Response:
    if refused.size is not None:
        return Response(f"{refused.size}\n", refused.status, media_type=SIZE_TYPE)
    return PlainTextResponse(f"{refused.reason}\n", status_code=refused.status)
