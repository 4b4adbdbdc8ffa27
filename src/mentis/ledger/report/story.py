"""Story of a record: gathered in one way through its entries, put down as sections of a page.

Everything here is derived from the entries, the texts and the verdict on them alone: `report.js`
derives the same again in the browser, and compares. A change here is a change there.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from mentis.ledger.auditor import jcs

from .nodes import Node, count, cut, moment, node, quantity, shown, table

MOST = 500  # rows of each table; all entries are in the page, and all are checked
_LONG, _SHORT = 1200, 400  # characters of a text, of what an act was given and gave
_KINDS: Mapping[str, str] = {
    "turn": "Turn",
    "act": "Act",
    "call": "Recorded call",
    "gap": "Calls not recorded",
    "window": "Status window",
    "refused_window": "Refused status window",
    "memory": "Memory",
    "state": "Goals and working memory",
    "persona": "Persona",
    "tool": "Tool",
    "sense": "Sense",
    "import": "Imported entry",
    "erasure": "Erasure",
    "key": "New signing key",
    "rollback": "Accepted loss",
    "rotation": "Entries moved to a segment",
    "retention": "Entries expired",
    "repair": "Repair",
    "clock": "Clock",
}
_STAGES: Mapping[str, str] = {
    "intent": "begun",
    "waiting": "waits for approval",
    "approved": "approved",
    "denied": "denied",
    "expired": "expired unanswered",
    "released": "result released",
}
_SUPPORT: Mapping[str, str] = {
    "match": "borne out",
    "unsupported": "NOT borne out",
    "unverifiable": "cannot be checked",
}


# What a person calls the text behind a digest.
_PLACES: Mapping[str, str] = {
    "acted": "What followed",
    "acts": "Outcomes of acts",
    "answer": "Words of the answer",
    "asked": "Message",
    "blob": "Whole result",
    "drafts": "Drafts of acts",
    "instruction": "Instruction to itself",
    "message": "Words of the message",
    "payload": "Prompt as it was sent",
    "reply": "Raw reply",
    "request": "Prompt before it was sent",
    "senses": "Senses",
    "state": "Goals and working memory",
}
_BODIES: Mapping[str, str] = {
    "request": "Call as it was sent",
    "answer": "Answer to the call",
    "original": "Call before it was repaired",
}


@dataclass(frozen=True, slots=True)
class Verifier:
    """The stand-alone verifier in Python, as the page offers it."""

    address: str
    sha256: str


@dataclass(slots=True)
class _Rows:
    """The newest of many, and how many there are."""

    kept: deque[Node] = field(default_factory=lambda: deque[Node](maxlen=MOST))
    number: int = 0

    def add(self, row: Node) -> None:
        self.kept.append(row)
        self.number += 1


@dataclass(slots=True)
class Story:
    """Fed with every entry in order, `total` of them; then it has the sections."""

    total: int
    entries: int = 0
    first: str = ""
    last: str = ""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    timeline: _Rows = field(default_factory=_Rows)
    approvals: _Rows = field(default_factory=_Rows)
    claims: _Rows = field(default_factory=_Rows)
    redacted: _Rows = field(default_factory=_Rows)
    absences: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    waiting: dict[str, str] = field(default_factory=dict[str, str])  # what acts are to be done with

    def take(self, entry: Mapping[str, Any], texts: Sequence[Mapping[str, Any]]) -> None:
        self.entries += 1
        self.first = self.first or str(entry["time"])
        self.last = str(entry["time"])
        body = _object(entry["body"])
        self._count(entry, body)
        if self.entries > self.total - MOST:
            self.timeline.add(_timeline_row(entry, body, texts))
        else:
            self.timeline.number += 1
        if entry["kind"] == "act":
            self._approval(entry, body)
        self._claims(entry, _object(body.get("claims")))
        for one in texts:
            if "left_out" in one:
                self._absent(one)

    def _absent(self, one: Mapping[str, Any]) -> None:
        """By a rule, which is named for each; or as what is never kept, which is counted."""
        what, why = _place_name(one), cut(shown(one["left_out"]), _SHORT)
        if why.startswith("the same text as "):
            return
        if why.startswith("rule "):
            self._add("redacted")
            self.redacted.add(_absence(one["entry"], what, why))
        else:
            self.absences[what, why] = self.absences.get((what, why), 0) + 1

    def _add(self, name: str, number: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def _count(self, entry: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        kind, act = entry["kind"], _object(body.get("act"))
        if kind in ("turn", "call"):
            self._add("ticks" if kind == "turn" and "tick" in body else f"{kind}s")
        if kind == "act" and act.get("stage") == "outcome":
            self._add("acts" if act.get("state") == "done" else "undone")
        if kind == "act" and act.get("stage") in ("approved", "denied", "expired", "released"):
            self._add(shown(act.get("stage")))

    def _approval(self, entry: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        act, decided = _object(body.get("act")), _object(body.get("decided"))
        stage, key = shown(act.get("stage")), shown(act.get("key"))
        if stage == "waiting" and _object(body.get("payload")):
            self.waiting[key] = cut(shown(jcs(body["payload"]).decode()), _SHORT)
        if stage not in ("approved", "denied", "expired", "released"):
            return
        given = self.waiting.pop(key, "")
        name = cut(shown(act.get("type")), _SHORT)
        self.approvals.add(
            _row(
                entry["index"],
                moment(entry["time"]),
                node("td", name, node("p", given, cls="detail") if given else ""),
                _STAGES[stage],
                cut(shown(decided.get("by")), _SHORT) or "nobody named",
                cut(shown(decided.get("words")), _SHORT),
            )
        )

    def _claims(self, entry: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        for one in map(_object, _listed(told.get("claims"))):
            verdict = shown(one.get("verdict"))
            self._add("claims")
            self._add(verdict)
            why = ": ".join(filter(None, (shown(one.get("act")), shown(one.get("why")))))
            marked = {"cls": "findings"} if verdict == "unsupported" else {}
            said = node("td", _SUPPORT.get(verdict, verdict), **marked)
            text = cut(shown(one.get("text")), _SHORT)
            self.claims.add(_row(entry["index"], text, said, cut(why, _SHORT)))
        for one in _listed(told.get("unclaimed")):
            self._add("unclaimed")
            text = cut(shown(one), _SHORT)
            self.claims.add(_row(entry["index"], "nothing was said of it", "done unsaid", text))

    # The page

    def sections(
        self, verdict: Mapping[str, Any], about: Mapping[str, Any], verifier: Verifier
    ) -> Iterator[Node]:
        yield self._head(verdict, about)
        yield self._summary(verdict)
        yield _verdicts(verdict, about)
        yield _section(
            "happened",
            "What happened",
            "Turns and acts in the order in which they were recorded. Times are those of the"
            " recording machine's clock.",
            _listing(self.timeline, ("Entry", "When", "What"), "Entries", "entries"),
        )
        yield _section(
            "approved",
            "Who approved what",
            "Each yes and each no that a person, or a deadline, gave to an act.",
            _listing(
                self.approvals,
                ("Entry", "When", "Act", "Decision", "By", "In their words"),
                "Decisions",
                "decisions",
            ),
        )
        yield _section(
            "claims",
            "Said against done",
            "What the agent said that it did, held against the acts that were recorded.",
            _listing(
                self.claims, ("Entry", "Said", "Verdict", "Act or reason"), "Claims", "claims"
            ),
        )
        yield self._left_out(verdict, about)
        yield _limits(about)
        yield _check_yourself(about, verifier)

    def _head(self, verdict: Mapping[str, Any], about: Mapping[str, Any]) -> Node:
        span = f", from {moment(self.first)} to {moment(self.last)}" if self.entries else ""
        return node(
            "header",
            node("p", "Report on a record", cls="kind"),
            node("h1", shown(about["agent"])),
            node("p", f"{quantity(self.entries, 'entry', 'entries')}{span}.", cls="lead"),
            node(
                "dl",
                *_pair("Log", shown(verdict["log"])),
                *_pair("Public key", shown(about["public_key"])),
                *_pair("Last hash", shown(verdict["head"]) or "none"),
            ),
        )

    def _summary(self, verdict: Mapping[str, Any]) -> Node:
        told = self.counts
        erased = sum(len(_listed(one.get("fields"))) for one in map(_object, verdict["erased"]))
        figures = (
            ("turns", told.get("turns", 0)),
            ("moments of its own", told.get("ticks", 0)),
            ("recorded calls", told.get("calls", 0)),
            ("acts done", told.get("acts", 0)),
            ("acts refused, failed or unknown", told.get("undone", 0)),
            ("approved by a person", told.get("approved", 0)),
            ("denied or expired", told.get("denied", 0) + told.get("expired", 0)),
            ("claims", told.get("claims", 0)),
            ("claims not borne out", told.get("unsupported", 0)),
            ("acts nothing was said of", told.get("unclaimed", 0)),
            ("fields erased", erased),
            ("left out by a rule", told.get("redacted", 0)),
        )
        items = [
            node("div", node("dt", name), node("dd", count(number)))
            for name, number in figures
            if number or name in ("turns", "acts done", "claims not borne out")
        ]
        return _section("short", "In short", "", [node("dl", *items, cls="figures")])

    def _left_out(self, verdict: Mapping[str, Any], about: Mapping[str, Any]) -> Node:
        if about.get("texts"):
            told = "Texts stand beside their digests. What does not is named here, with the reason."
        else:
            told = (
                "This export holds digests of what was said and sent, not the texts themselves."
                " What acts were given and gave is part of the entries."
            )
        erased = _Rows()
        for one in map(_object, verdict["erased"]):
            names = ", ".join(shown(name) for name in _listed(one.get("fields")))
            reason = cut(shown(one.get("reason")), _SHORT)
            erased.add(_absence(one["index"], cut(names, _SHORT), f"erased: {reason}"))
        heads = ("Entry", "What", "Why it is not here")
        absent = _Rows()
        for (what, why), number in self.absences.items():
            absent.add(node("tr", node("td", what), node("td", why), node("td", count(number))))
        parts = [
            node("h3", "Left out of this file by a rule"),
            *_listing(self.redacted, heads, "Left out by a rule", "texts or fields"),
            node("h3", "Erased for good, by a signed entry"),
            *_listing(erased, heads, "Erased fields", "erasures"),
        ]
        if about.get("texts"):
            parts.append(node("h3", "Bound by a digest, and not kept"))
            kinds = ("What", "Why", "Times")
            parts += _listing(absent, kinds, "Not kept", "kinds of text")
        return _section("left-out", "What is not here", told, parts)


def _section(name: str, title: str, lead: str, parts: Sequence[Node]) -> Node:
    told = [node("p", lead, cls="lead")] if lead else []
    return node("section", node("h2", title), *told, *parts, id=name)


def _pair(name: str, value: str) -> tuple[Node, Node]:
    return node("dt", name), node("dd", value)


def _listing(rows: _Rows, heads: Sequence[str], name: str, nouns: str) -> list[Node]:
    if not rows.number:
        return [node("p", f"No {nouns}.", cls="none")]
    made = [table(heads, list(rows.kept), name)]
    if (more := rows.number - len(rows.kept)) > 0:
        told = (
            f"These are the last {count(MOST)} of {count(rows.number)} {nouns}. The {count(more)}"
            " before them are in this file and are checked like these, but are not shown."
        )
        made.insert(0, node("p", told, cls="more"))
    return made


def _row(index: int, *cells: str | Node) -> Node:
    first = node("td", str(index), cls="entry")
    made = (one if isinstance(one, Node) else node("td", one) for one in cells)
    return node("tr", first, *made, data_entry=str(index))


def _absence(index: int, what: object, why: object) -> Node:
    return _row(index, cut(shown(what), _SHORT), cut(shown(why), _SHORT))


# One entry


def _timeline_row(
    entry: Mapping[str, Any], body: Mapping[str, Any], texts: Sequence[Mapping[str, Any]]
) -> Node:
    parts = [node("p", _title(entry, body), cls="what")]
    if detail := _detail(entry, body):
        parts.append(node("p", detail, cls="detail"))
    parts += _inside(entry, body)
    for one in texts:
        parts += _said(one)
    return _row(entry["index"], node("td", moment(entry["time"]), cls="when"), node("td", *parts))


def _title(entry: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    kind = shown(entry["kind"])
    if kind == "turn" and "tick" in body:
        return "Moment of its own"
    name = _KINDS.get(kind, kind)
    about = shown(_object(body.get("act")).get("type")) if kind == "act" else ""
    return f"{name}: {cut(about, _SHORT)}" if about else name


def _detail(entry: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    kind, told = entry["kind"], list[str]()
    if kind == "act":
        act, decided = _object(body.get("act")), _object(body.get("decided"))
        stage = shown(act.get("stage"))
        told.append(_STAGES.get(stage, "") or shown(act.get("state")) or stage)
        told.append(_after("by ", decided.get("by")))
        told.append(shown(act.get("reason")))
    elif kind in ("turn", "call"):
        head, route = _object(body.get(kind)), _object(body.get("route"))
        told.append(_after("session ", head.get("session")))
        told.append(_after("asked by itself: ", head.get("inner")))
        told.append(_after("model ", route.get("model")))
        told.append("" if head.get("stop") == "end" else _after("ended: ", head.get("stop")))
        told.append(_after("failed: ", head.get("failure")))
    else:
        window = _object(body.get("window"))
        told.append(_after("goal: ", window.get("goal")))
        signed = _object(_object(body.get("signed")).get("statement"))
        told.append(_after("reason: ", signed.get("reason")))
    return "; ".join(cut(one, _SHORT) for one in told if one)


def _after(words: str, value: object) -> str:
    text = shown(value)
    return f"{words}{text}" if text else ""


def _inside(entry: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[Node]:
    """What the entry itself holds of an act."""
    if entry["kind"] != "act":
        return
    if _object(body.get("payload")):
        yield _quoted("Given", jcs(body["payload"]).decode(), _SHORT)
    if text := shown(_object(body.get("result")).get("text")):
        yield _quoted("Result", text, _SHORT)


def _place_name(one: Mapping[str, Any]) -> str:
    place = shown(one["place"])
    top, _, rest = place[1:].partition("/")
    if "digest" not in one:
        return cut(f"Field {place[1:]}", _SHORT)
    name = _BODIES.get(top, "") if rest == "digest" else ""
    last = top if top == "acted" else place.rpartition("/")[2]
    name = name or _PLACES.get(last, "") or cut(place, _SHORT)
    step = re.match(r"/steps/([0-9]{1,6})/", place)
    return f"{name}, step {int(step[1]) + 1}" if step else name


_SPOKEN = ("/digests/message", "/digests/answer")  # the turns say these


def _said(one: Mapping[str, Any]) -> Iterator[Node]:
    """A text beside its digest; what is long or only bytes is told by its size."""
    name, text = _place_name(one), one.get("text")
    turn = re.match(r"/(asked|acted)\b", shown(one["place"]))
    if "left_out" in one:
        why = cut(shown(one["left_out"]), _SHORT)
        if turn or (why.startswith("rule ") and one["place"] not in _SPOKEN):
            yield node("p", f"{name}: left out, {why}", cls="gone")
    elif text is None:
        yield node("p", f"{name}: bytes, in this file and not shown", cls="gone")
    elif turn:
        yield from _turn(cast("str", text))
    elif one["place"] not in _SPOKEN:
        size = quantity(len(cast("str", text)), "character", "characters")
        yield node("p", f"{name}: {size}, in this file and not shown", cls="gone")


def _turn(text: str) -> Iterator[Node]:
    try:
        turn = _object(json.loads(text))
    except (ValueError, RecursionError):
        return
    speaker = "Agent" if turn.get("role") == "assistant" else "User"
    speaker = shown(turn.get("author")) or speaker
    for part in map(_object, _listed(turn.get("parts"))):
        kind = shown(part.get("kind"))
        if kind == "text":
            yield _quoted(speaker, shown(part.get("text")), _LONG)
        elif kind == "tool_call":
            yield _quoted("Calls", shown(part.get("name")), _SHORT)
        elif kind == "tool_result":
            name = cut(shown(part.get("name")), _SHORT)
            yield _quoted(f"Told by {name}", shown(part.get("text")), _LONG)
        elif kind != "reasoning":
            yield _quoted("Attached", f"{kind} {shown(part.get('name'))}", _SHORT)


def _quoted(who: str, text: str, most: int) -> Node:
    return node("blockquote", node("b", who), node("span", cut(shown(text), most)))


# The verdict


def _verdicts(verdict: Mapping[str, Any], about: Mapping[str, Any]) -> Node:
    rows = [
        _verdict("Is every entry what was recorded?", *_integrity(verdict)),
        _verdict("Who vouches for it?", *_signed(verdict)),
        _verdict("Is anything missing?", *_missing(verdict)),
        _verdict(
            "Is it the right record?",
            "Compare it yourself",
            "Name and key of the log stand at the top. They are this file's own: hold them against"
            " those that you have from elsewhere.",
        ),
        _verdict("Are the texts those that were recorded?", *_texts(verdict, about)),
    ]
    findings = [
        node("li", f"entry {one['index']}: {shown(one['column'])}", data_entry=str(one["index"]))
        for one in verdict["findings"][:MOST]
    ]
    listed = [node("ul", *findings, cls="findings")] if findings else []
    told = "As the file was made. The box at the top says what was checked here."
    return _section("verdicts", "Verdicts", told, [node("dl", *rows, cls="verdicts"), *listed])


def _verdict(question: str, word: str, meaning: str) -> Node:
    return node(
        "div", node("dt", question), node("dd", node("b", word), node("span", meaning, cls="means"))
    )


def _integrity(verdict: Mapping[str, Any]) -> tuple[str, str]:
    if verdict["findings"]:
        return "No", "These entries, or their places, are not what was recorded."
    return "Yes", "Each entry has the hash of what it says, and carries the hash of the one before."


def _signed(verdict: Mapping[str, Any]) -> tuple[str, str]:
    signed, entries = verdict["signed"], verdict["entries"]
    if signed is None:
        return (
            "Nobody",
            "No checkpoint of the key fits what is here: anybody could have written it.",
        )
    if signed < entries:
        rest = count(entries - signed)
        word = f"The key of the log, for {count(signed)} of {count(entries)} entries"
        return word, f"The last {rest}, anybody who had the record could have written."
    word = f"The key of the log, for {'all' if entries else 'none'} of {count(entries)} entries"
    return word, "Whoever holds the private key has signed exactly these."


def _missing(verdict: Mapping[str, Any]) -> tuple[str, str]:
    told = (
        "A file cannot say what was taken from its end. A checkpoint that somebody else kept can:"
        " give it to the verifier."
    )
    if verdict["dropped"]:
        gone = quantity(verdict["dropped"], "entry", "entries")
        return f"{gone} at the beginning; at the end, not known", f"Their hashes are here. {told}"
    return "Not known from this file alone", told


def _texts(verdict: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[str, str]:
    if not about.get("texts"):
        return "There are none", "This export holds digests only."
    counts = _object(verdict["texts"])
    fit, out = counts.get("fitting", 0), counts.get("left_out", 0)
    if any(one["column"] == "texts" for one in verdict["findings"]):
        return "No", "A text is not the one that its entry binds; the entry is named below."
    word = f"Yes, {'it fits' if fit == 1 else f'all {count(fit)}'}" if fit else "None is here"
    return (
        word,
        f"Each has the digest that its entry binds. Of {count(out)} more only the digest is here.",
    )


_UNKNOWN = """\
Whether what an entry says is true: it is what the agent's program recorded.
When something really happened: times are those of a clock that its owner can set.
Whether entries were removed from the end, or the whole history rewritten by whoever holds the key:\
 only a checkpoint kept by somebody else can show that.
Who held the private key when it signed.
What a model computed: only what went to it and what came back is bound.
Whether this page's own script is honest: whoever made the file made the script. Use a verifier\
 that you have from elsewhere for anything that matters."""
_NO_TEXTS = "What was said and sent, word by word: this export holds digests of it only."
_SOME_TEXTS = (
    "What the texts that were left out say: a digest tells a text from another, not what is in it."
    " One that is short can be guessed."
)


def _limits(about: Mapping[str, Any]) -> Node:
    told = [*_UNKNOWN.split("\n"), _SOME_TEXTS if about.get("texts") else _NO_TEXTS]
    parts = [node("ul", *(node("li", one) for one in told))]
    return _section("limits", "What cannot be known from this file", "", parts)


def _check_yourself(about: Mapping[str, Any], verifier: Verifier) -> Node:
    command = (
        f"python -I verify.py report.html --origin {shown(about['origin'])}"
        f" --key {shown(about['public_key'])}"
    )
    parts = [
        node(
            "p",
            "With Python 3.11, the package cryptography, and nothing of Mentis. Name and key are to"
            " be those that you know, not those printed here; --checkpoint FILE adds a checkpoint"
            " that somebody kept.",
        ),
        node("p", node("code", command), cls="command"),
        node(
            "p",
            node("a", "Save verify.py", id="verifier", download="verify.py", href=verifier.address),
            " SHA-256 ",
            node("code", verifier.sha256),
        ),
        node(
            "p",
            "Whoever made this file could have put another verifier in. Take yours from an"
            " installation of Mentis that you trust (mentis ledger auditor), or compare its SHA-256"
            " before you run this one.",
        ),
    ]
    return _section("yourself", "Check it yourself", "", parts)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
