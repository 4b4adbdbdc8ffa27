"""Said against done: what windows claim beside what was done, and what waits for a yes."""

from __future__ import annotations

from collections.abc import Mapping

from anyio import to_thread

from mentis.codec.forms import to_object
from mentis.errors import RequestRefused
from mentis.record.record import open_record
from mentis.record.said_and_done import (
    DoneAct,
    SaidAndDone,
    ValueOrigin,
    find_act,
    read_said_and_done,
)
from mentis.tools.acts import open_acts
from mentis.web.application import Door

from .pages import PageCall, PageData, Pages, check_persona

_STRETCH = 100  # entries that one page looks at
_FIRST = 8  # turns of each persona on the first page
_WAITING = 30  # acts that wait, of one persona
_TEXT = 2000  # characters of a result

STATES: Mapping[str, str] = {
    "done": "done",
    "waiting": "waits for a yes",
    "approved": "approved, not done yet",
    "denied": "refused by a person",
    "expired": "nobody decided in time",
    "begun": "begun, no outcome yet",
    "refused": "refused",
    "not_found": "nothing here does this",
    "invalid": "its arguments do not fit",
    "timeout": "took too long",
    "crashed": "failed",
    "unavailable": "could not be reached",
    "unknown": "nobody knows whether it was done",
}
STAGES: Mapping[str, str] = {
    "intent": "Begun",
    "waiting": "Asked for a yes",
    "approved": "Approved",
    "denied": "Refused",
    "expired": "Lapsed",
    "outcome": "Ended",
    "released": "Result released",
}


def done_doors(pages: Pages) -> list[Door]:
    """Everybody, one persona, and one act."""
    return [
        *pages.doors("/studio/waiting", "waiting_count.html", waiting_page),
        *pages.doors("/studio/done", "done.html", list_page),
        *pages.doors("/studio/done/{persona}", "done.html", list_page),
        *pages.doors("/studio/done/{persona}/{key}", "done-act.html", act_page),
    ]


async def list_page(call: PageCall) -> PageData:
    """What waits, and the newest turns of everybody, or a stretch of one persona's record."""
    known = await call.served.pool.personas(call.token)
    chosen = str(call.request.path_params.get("persona", ""))
    if chosen:
        check_persona(chosen, known)
    shown = [name for name in known if chosen in ("", name)]
    groups = [await to_thread.run_sync(_group, call, name, bool(chosen)) for name in shown]
    only = call.request.query_params.get("only", "")
    return {
        "chosen": chosen,
        "only": only if only == "different" else "",
        "personas": groups,
        "waiting": any(group["waiting"] for group in groups),
    }


async def waiting_page(call: PageCall) -> PageData:
    """How many acts wait for a yes: the top of every page asks for it."""
    known = await call.served.pool.personas(call.token)
    found = [await to_thread.run_sync(_waiting, call, name) for name in known]
    counts = {name: count for name, count in zip(known, found, strict=True) if count}
    return {"count": sum(found), "personas": counts}


def _waiting(call: PageCall, name: str) -> int:
    with open_acts(call.served.pool.path, name, call.served.parts, readonly=True) as acts:
        pending, _ = acts.pending()
    return len(pending)


def _group(call: PageCall, name: str, whole: bool) -> PageData:
    home, parts = call.served.pool.path, call.served.parts
    with open_acts(home, name, parts, readonly=True) as acts:
        pending, faults = acts.pending()
    with open_record(home, name, parts, readonly=True) as record:
        found = read_said_and_done(
            record.store, record.agent, _STRETCH, before=call.number("before") if whole else None
        )
        waits = [
            {
                **to_object(one),
                "origins": _origins(find_act(record.store, record.agent, one.call.key)),
            }
            for one in pending[:_WAITING]
        ]
    different = call.request.query_params.get("only") == "different"
    rows = [one for one in found.rows if not different or _differs(one)]
    shown = rows if whole else rows[:_FIRST]
    return {
        "name": name,
        "path": f"/studio/done/{name}",
        "waiting": waits,
        "later": max(0, len(pending) - _WAITING),
        "faults": [fault.message for fault in faults],
        "rows": [_row(one, name) for one in shown],
        "first": found.first,
        "count": found.count,
        "more": not whole and (len(rows) > _FIRST or found.first > 0),
        "older": found.first if whole and found.first else None,
    }


def _differs(one: SaidAndDone) -> bool:
    """Whether a window names what was not done, or what was done is not in it."""
    claims = one.claims
    return bool(one.refused) or (
        claims is not None and (claims.verdict == "unsupported" or bool(claims.unclaimed))
    )


def _row(one: SaidAndDone, name: str) -> PageData:
    claims = one.claims
    return {
        "entry": one.entry,
        "time": one.time,
        "session": one.session,
        "kind": one.kind,
        "goal": one.goal,
        "actions": list(one.actions),
        "refused": one.refused,
        "verdict": claims.verdict if claims else "",
        "claims": [to_object(claim) for claim in claims.claims] if claims else None,
        "unclaimed": list(claims.unclaimed) if claims else [],
        "acts": [_act(done, name) for done in one.acts],
    }


def _act(done: DoneAct, name: str) -> PageData:
    story = done.story
    return {
        "key": story.key,
        "type": story.type,
        "state": story.state,
        "words": STATES.get(story.state, story.state),
        "said": done.said,
        "reason": story.reason[:500],
        "entry": story.steps[-1].entry if story.steps else None,
        "path": f"/studio/done/{name}/{story.key}",
        "origins": [_origin(one) for one in done.origins],
    }


def _origins(done: DoneAct | None) -> list[PageData]:
    return [_origin(one) for one in done.origins] if done else []


def _origin(one: ValueOrigin) -> PageData:
    return {
        "path": one.path,
        "name": one.path.strip("/").replace("/", ", "),
        "value": one.value[:200],
        "source": one.source,
        "tainted": one.tainted,
        "key": one.key,
        "type": one.type,
        "entry": one.entry,
        "excerpt": list(one.excerpt) if one.excerpt else None,
    }


async def act_page(call: PageCall) -> PageData:
    """One act, from being asked for to what came of it, and where its arguments came from."""
    await call.persona()
    return await to_thread.run_sync(_act_page, call)


def _act_page(call: PageCall) -> PageData:
    name, key = call.path("persona"), call.path("key")
    with open_record(call.served.pool.path, name, call.served.parts, readonly=True) as record:
        done = find_act(record.store, record.agent, key)
    if done is None:
        raise RequestRefused(f"there is no act {key[:80]!r}", hint="see the list", status=404)
    story = done.story
    told = to_object(story)
    return {
        **told,
        "name": name,
        "path": f"/studio/done/{name}",
        "words": STATES.get(story.state, story.state),
        "text": story.text[:_TEXT],
        "left": max(0, len(story.text) - _TEXT),
        "origins": _origins(done),
        "stages": [
            {
                **to_object(step),
                "label": STAGES.get(step.stage, step.stage),
                "came_to": STATES.get(step.state, step.state),
            }
            for step in story.steps
        ],
        "result": f"/mentis/v1/personas/{name}/acts/{key}/result",
    }
