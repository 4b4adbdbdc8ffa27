"""Which sense it is that no tick can take, whether a source gave it or an earlier tick left it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import MentisError, ProviderRefused, ProviderUnreachable, StoreFull
from mentis.home.parts import Parts
from mentis.loop.sources import LoopChoice
from mentis.loop.suspects import SenseTrial, Suspects
from mentis.ports.sense_source import ListedSenses
from mentis.prompts.prompts import Prompts
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.tick.events import TickEvent
from mentis.tools.acts import open_acts
from mentis.values.cognition import Sense
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .living import QUIET, Life, Paced, Where, answer, made, note, sense, wants

pytestmark = pytest.mark.anyio
Says = Callable[[str], str | MentisError]
LATE = 'ask = ["note"]\n[run]\ndeliver = false\n'  # goes on with the table [acts]
ASKS = '{"actions": [{"type": "note", "payload": {"text": "it"}}]}'
REFUSED = ProviderRefused("this is not allowed", status=400)
INNOCENT = [(sense(name, f"letter {name}"),) for name in "bcd"]


class Minding(ScriptedProvider):
    """Answers by what it is told."""

    def __init__(self, says: Says, *, hangs: bool = False) -> None:
        super().__init__()
        self._says = says
        self._hangs = hangs

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        if self._hangs:
            await anyio.sleep_forever()
        said = self._says(rendering.body().decode())
        if isinstance(said, MentisError):
            raise said
        async with ScriptedProvider([said]).open(rendering, route) as events:
            yield events


@act
def fetch() -> str:
    """Fetch a page."""
    return "the page says poison"


@asynccontextmanager
async def lives(where: Where, says: Says, *, hangs: bool = False) -> AsyncGenerator[Life]:
    clock, provider = Paced(), Minding(says, hangs=hangs)
    parts = Parts(provider=provider, clock=clock, handlers=(note, fetch))
    async with Agent.open(where.home, parts=parts) as agent:
        yield Life(agent, clock, provider, where.home)


def poisoned(body: str) -> str | MentisError:
    if "says poison" in body or "noted it" in body:
        return REFUSED
    if "Note it." in body:
        return ASKS
    return answer(wants("fetch")) if "go and fetch" in body else QUIET


async def came_late(life: Life) -> None:
    """Somebody asked for a note in a talk, and said yes later."""
    await life.agent.chat("Note it.")
    with open_acts(life.home, parts=Parts(clock=life.clock, handlers=(note,))) as acts:
        acts.approve(acts.pending()[0][0].call.key, by="robin")
    assert (await life.agent.backlog()).news == 1


def add_route(where: Where, lines: str) -> None:
    toml = where.home / "mentis.toml"
    facts = "facts = {native_tools = false}\n"
    toml.write_text(toml.read_text(encoding="utf-8").replace(facts, facts + lines))


async def test_what_a_tick_left_that_no_tick_can_take_is_set_aside_and_no_new_sense_is(
    tmp_path: Path,
) -> None:
    where = made(tmp_path)
    async with lives(where, poisoned) as life:
        source = ListedSenses([(sense("a", "go and fetch"),), *INNOCENT])
        report = await life.loop(source, ticks=9).run()
        assert (report.senses, report.failed, report.aside, report.idle) == (4, 3, 1, 2)
        (aside,) = life.agent.senses_set_aside.all()
        assert (aside.kind, aside.failures) == ("act.result", 3)
        assert "says poison" in str(life.agent.senses_set_aside.sense(aside).payload["text"])
        assert (await life.agent.backlog()).left == 0
        entry: Any = next(one for one in life.agent.entries() if one.kind == "sense").body
        assert entry["sense"]["reason"] == "provider-refused: this is not allowed"
        assert life.agent.verify().intact


async def test_news_that_no_tick_can_take_are_set_aside_after_a_tick_without_them(
    tmp_path: Path,
) -> None:
    async with lives(made(tmp_path, LATE), poisoned) as life:
        await came_late(life)
        report = await life.loop(ticks=5).run()
        # Three ticks with it, one that is told nothing, and then there is nothing any more.
        assert (report.failed, report.thought, report.aside, report.idle) == (3, 4, 1, 1)
        (aside,) = life.agent.senses_set_aside.all()
        assert aside.kind == "act.result"
        waiting = await life.agent.backlog()
        assert (waiting.left, waiting.news, waiting.carried) == (0, 0, ())


@pytest.mark.parametrize(
    ("refusal", "aside"),
    [
        (ProviderRefused("your input was flagged", status=403, about="content"), 1),
        (ProviderRefused("the provider broke off: it may not say this"), 1),
        (ProviderRefused("the key may not use this model", status=403), 0),
    ],
)
async def test_a_refusal_is_held_against_a_sense_by_what_it_says(
    tmp_path: Path, refusal: ProviderRefused, aside: int
) -> None:
    async with lives(made(tmp_path), lambda body: refusal if "poison" in body else QUIET) as life:
        source = ListedSenses([(sense("a", "poison"), sense("b", "letter b"))])
        report = await life.loop(source, ticks=9).run()
        assert (report.aside, report.senses) == (aside, aside)
        assert [one.id for one in life.agent.senses_set_aside.all()] == ["a"] * aside


async def test_a_restart_does_not_give_a_sense_that_no_tick_can_take_all_its_tries_again(
    tmp_path: Path,
) -> None:
    where = made(tmp_path)
    batch = (sense("a", "it says poison"), sense("b", "letter b"))
    for _ in range(2):
        async with lives(where, poisoned) as life:
            report = await life.loop(ListedSenses([batch]), ticks=1).run()
            assert (report.failed, report.aside) == (1, 0)
    async with lives(where, poisoned) as life:
        report = await life.loop(ListedSenses([batch]), ticks=3).run()
        assert (report.senses, report.failed, report.aside) == (1, 1, 1)
        (aside,) = life.agent.senses_set_aside.all()
        assert (aside.id, aside.failures) == ("a", 3)
    (kept,) = (where.home / "owners" / "run").glob("*.suspects.json")
    assert kept.read_text(encoding="utf-8") == "{}"
    kept.write_text("not ours", encoding="utf-8")
    async with lives(where, poisoned) as life:
        heard = list[TickEvent]()
        await life.agent.loop(choice=LoopChoice(0, 1), emit=heard.append, pause=life.clock).run()
        told = [one.facts for one in heard if one.event == "stage_failed"]
        assert [(one["stage"], "cannot be read" in str(one["reason"])) for one in told] == [
            ("suspects", True)
        ]


async def test_where_a_tick_that_is_told_nothing_fails_too_no_sense_is_to_blame(
    tmp_path: Path,
) -> None:
    """What is held in mind is poisonous, or the provider refuses everything."""
    refused = 9

    def says(_body: str) -> str | MentisError:
        nonlocal refused
        refused -= 1
        return REFUSED if refused >= 0 else QUIET

    async with lives(made(tmp_path), says) as life:
        source = ListedSenses([(sense("a"), sense("b"))])
        report = await life.loop(source, ticks=11).run()
        assert (report.failed, report.aside, report.senses) == (9, 0, 2)


async def test_what_is_held_back_from_a_trial_goes_on_to_the_next_tick(tmp_path: Path) -> None:
    first = answer(wants("fly"), wants("swim"))
    async with lives(made(tmp_path), lambda body: first if "letter a" in body else QUIET) as life:
        left = (await life.agent.tick([sense("a", "letter a")])).senses
        fly, swim = (one.id for one in left)
        assert (await life.agent.backlog()).carried == (fly, swim)
        done = await life.agent.tick([sense("b", "letter b")], only=(swim,))
        assert "python/swim" in life.told()
        assert "python/fly" not in life.told()
        assert [one.id for one in done.carried] == [swim]
        assert [one.id for one in done.senses] == [fly]
        await life.agent.tick()
        assert "python/fly" in life.told()
        assert (await life.agent.backlog()).left == 0


def no_prompt(where: Where) -> None:
    with Prompts.open(where.home) as prompts:
        prompts.change(lambda editor: editor.toggle("cortex_primary", False))


def no_room(where: Where) -> None:
    add_route(where, "context_tokens = 1000\nmax_tokens = 100\n")


def too_slow(where: Where) -> None:
    with (where.home / "mentis.toml").open("a", encoding="utf-8") as toml:
        toml.write("[cortex]\nseconds = 0.05\n")


def two_routes(where: Where) -> None:
    """The one that cannot be reached might have taken it."""
    other = '[routes.other]\nbackend = "scripted"\nfacts = {native_tools = false}\n'
    add_route(where, f'fallback = ["other"]\n{other}')


@pytest.mark.parametrize("happens", [no_prompt, no_room, too_slow, two_routes])
async def test_what_any_sense_would_have_met_is_held_against_none(
    tmp_path: Path, happens: Callable[[Where], None]
) -> None:
    where = made(tmp_path)
    happens(where)
    away = [REFUSED, ProviderUnreachable("nobody there")] * 6
    async with lives(where, lambda _body: away.pop(), hangs=happens is too_slow) as life:
        source = ListedSenses([(sense("a"), sense("b"))])
        report = await life.loop(source, ticks=5).run()
        assert (report.failed, report.aside, report.senses) == (5, 0, 0)


async def test_a_sense_that_no_route_has_room_for_is_set_aside_and_the_small_ones_are_taken(
    tmp_path: Path,
) -> None:
    where = made(tmp_path)
    add_route(where, "context_tokens = 1800\nmax_tokens = 100\n")
    async with lives(where, lambda _body: QUIET) as life:
        batch = (sense("a", "word " * 380), sense("b", "letter b"))
        report = await life.loop(ListedSenses([batch]), ticks=6).run()
        assert (report.senses, report.failed, report.aside) == (1, 3, 1)
        (aside,) = life.agent.senses_set_aside.all()
        assert (aside.id, aside.reason.split(":")[0]) == ("a", "sense-too-large")
        assert not any("word word" in life.told(number) for number in range(life.asked))


@pytest.mark.parametrize("saved", [True, False])
async def test_an_outcome_is_told_again_only_if_nothing_came_of_the_tick_that_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, saved: bool
) -> None:
    append, count = SqliteLedger.append, 0

    def full(*args: Any, **rest: Any) -> Any:  # noqa: ANN401
        nonlocal count
        count += 1
        if count > 1:  # what it is about to do is written down, and nothing after that
            raise StoreFull("no space left", hint="make some")
        return append(*args, **rest)

    thought = answer(memory=[{"op": "append", "value": "heard of it"}])
    thought = thought if saved else answer(wants("note", text="more"))

    def says(body: str) -> str:
        if "Note it." in body:
            return ASKS
        return thought if "noted it" in body else QUIET

    where = made(tmp_path, LATE)
    async with lives(where, says) as life:
        await came_late(life)
        monkeypatch.setattr(SqliteLedger, "append", full)
        with pytest.raises(StoreFull):
            await life.agent.tick()
        monkeypatch.undo()
    async with lives(where, says) as life:
        life.agent.taken_deliveries()
        assert (await life.agent.backlog()).news == (0 if saved else 1)
        entry: Any = life.agent.entries()[-1].body
        assert (len(entry.get("told", ())), "unheard" in entry["tick"]) == (saved, not saved)
        done = await life.agent.tick()
        assert ("noted it" in life.told()) is not saved
        assert [one.text for one in done.state.l1_memory] == ["heard of it"] * saved


# Without a loop


def test_suspects_are_tried_by_themselves_the_least_tried_first() -> None:
    one, two = sense("one"), sense("two")
    suspects = Suspects(2)
    assert suspects.trial([one, two], ["left"]) == SenseTrial((one, two))
    suspects.note_failure([one, Sense("left", "act.result", {})], "no")
    assert suspects.trial([one, two], ["left"]) == SenseTrial((one,), ())
    suspects.note_failure([one], "no")
    assert suspects.trial([one, two], ["left"]) == SenseTrial((), ("left",))
    assert suspects.found_out(["one", "left"]) == ()  # nothing was heard without it
    suspects.note_failure([Sense("left", "act.result", {})], "no")
    assert suspects.trial([one, two], ["left", "more"]) == SenseTrial((two,), ("more",))
    suspects.note_success(["left"])
    ((found, why),) = suspects.found_out(["one", "left"])
    assert (found, why.failures, why.reason) == (one, 2, "no")
    assert suspects.found_out(["left"]) == ()  # somebody took it away
    suspects.note_failure((), "no")
    assert suspects.trial([one, two], []) == SenseTrial((one, two))


def test_without_tries_nothing_is_suspected() -> None:
    suspects = Suspects(0)
    suspects.note_failure([sense("one")], "no")
    suspects.note_success([])
    assert suspects.trial([sense("one")], []) == SenseTrial((sense("one"),))
    assert suspects.found_out(["one"]) == ()


def test_a_sense_with_which_no_tick_comes_to_an_end_is_told_from_a_provider_that_is_slow() -> None:
    batch = [sense("one"), sense("endless"), sense("two")]

    def lived(late: Callable[[int, SenseTrial], bool]) -> tuple[list[str], list[str]]:
        """What was heard, and what was found out, in so many ticks."""
        suspects, heard, out = Suspects(3), list[str](), list[str]()
        for number in range(20):
            present = [one for one in batch if one.id not in (*heard, *out)]
            trial = suspects.trial(present, [])
            ids = [one.id for one in trial.senses]
            if late(number, trial):
                suspects.note_failure(trial.senses, "late", unsure=True)
            else:
                suspects.note_success(ids)
                heard += ids
            names = [one.id for one in present]
            out += [one.id for one, _ in suspects.found_out(names) if one.id not in heard]
        return sorted(heard), out

    everything = ["endless", "one", "two"]
    assert lived(lambda _number, trial: batch[1] in trial.senses) == (["one", "two"], ["endless"])
    assert lived(lambda number, _trial: number < 9) == (everything, [])
    assert lived(lambda number, _trial: number % 3 != 2) == (everything, [])
    assert lived(lambda _number, _trial: True) == ([], [])
