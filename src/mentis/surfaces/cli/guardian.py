"""`mentis guardian`: the rules windows are held against, and the proof that they can be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mentis.errors import BadInput

from .drafts import judgement_lines, open_service
from .files import read_bytes
from .groups import RenamedGroup
from .options import home_named, home_option, home_path, persona_option
from .output import say
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.ledger.guardian.prove import ProfileProof
    from mentis.values.guardian import GuardianProfile, Judgement

profile_option = click.option(
    "--profile",
    default="mentis",
    show_default=True,
    metavar="NAME",
    help="mentis, s2-4.0, strict, as-run, or one of the home's guardian.toml.",
)


@click.group(cls=RenamedGroup)
def guardian() -> None:
    """List the rules for windows, check one, prove a profile."""


@guardian.command(epilog="For example: mentis guardian rules --profile s2-4.0")
@profile_option
@home_option
@prints_report
def rules(*, profile: str) -> Report:
    """List every rule with what the profile does about it."""
    from mentis.ledger.guardian.profiles import level_words
    from mentis.ledger.guardian.table import RULES
    from mentis.status.guardian_data import rule_data

    chosen = _profile(profile)
    rows = [
        (rule.number, rule.id, level_words(chosen, rule), rule.stage, rule.kind, rule.what)
        for rule in RULES
    ]
    return Report(
        {"profile": profile, "rules": [rule_data(rule, chosen) for rule in RULES]},
        (
            TextTable(
                ("no.", "rule", "level", "stage", "kind", "requirement"), rows, right=("no.",)
            ),
            Note(f"profile {profile} settles: {', '.join(chosen.settles) or 'nothing'}"),
        ),
    )


@guardian.command(epilog="For example: mentis guardian check draft.json --profile s2-4.0")
@click.argument("file", metavar="FILE")
@click.option(
    "--profile",
    metavar="NAME",
    help="Other rules than the home's: mentis, s2-4.0, strict, as-run, or of its guardian.toml.",
)
@click.option("--response", is_flag=True, help="FILE is a whole answer that opens with a window.")
@click.option("--fresh", is_flag=True, help="Judge as in a new, healthy record.")
@persona_option
@home_option
@prints_report
def check(
    file: str,
    *,
    profile: str | None,
    response: bool,
    fresh: bool,
    persona: str | None,
) -> Report:
    """Judge a draft, or a whole answer of a model; - is standard input.

    In a home it is judged by what the record asks for now (an audit, a new cycle, a recovery);
    with --fresh, or where there is no home, as in a healthy record. Exit code 1 when a rule
    blocks it.
    """
    from mentis.codec.forms import to_object

    data = read_bytes(file)
    judged = None if fresh else _judged_at_home(data, profile, persona, response=response)
    if judged is None:
        judged = _judged_fresh(data, profile, file, response=response)
    return Report(
        {"blocked": judged.blocked, **to_object(judged)},
        judgement_lines(judged),
        code=1 if judged.blocked else 0,
    )


def _judged_at_home(
    data: bytes, profile: str | None, persona: str | None, *, response: bool
) -> Judgement | None:
    """By the record of the home; None when nobody named one and there is none."""
    from mentis.errors import HomeMissing
    from mentis.ledger.guardian.prove import activate

    chosen = None if profile is None else activate(_profile(profile))
    try:
        statuses = open_service(persona, readonly=True)
    except HomeMissing:
        if home_named():
            raise
        say("note: there is no home here, so it is judged as in a healthy record")
        return None
    with statuses:
        return statuses.check(data, response=response, profile=chosen)


def _judged_fresh(data: bytes, profile: str | None, file: str, *, response: bool) -> Judgement:
    from mentis.ledger.guardian.draft import read_draft
    from mentis.ledger.guardian.judge import judge_draft
    from mentis.ledger.guardian.prove import activate
    from mentis.ledger.guardian.response import check_response
    from mentis.values.guardian import GuardianState

    chosen = activate(_profile(profile or "mentis"))
    if response:
        return check_response(_text(data, file), GuardianState(), chosen)
    return judge_draft(read_draft(data), GuardianState(), chosen)


@guardian.command(epilog="For example: mentis guardian prove --profile s2-4.0")
@profile_option
@home_option
@prints_report
def prove(*, profile: str) -> Report:
    """Search, for every type and situation, for a window that the profile lets pass.

    Prints a witness for each, or the fewest rules that cannot hold together. Exit code 1 when
    there is a conflict that the profile does not declare.
    """
    from mentis.ledger.guardian import prove as proving
    from mentis.status.guardian_data import proof_data

    chosen = _profile(profile)
    proof = proving.prove(chosen)
    return Report(
        proof_data(proof), _proof_lines(proof, chosen), code=1 if proof.undeclared_conflicts else 0
    )


@guardian.command(epilog="For example: mentis guardian explain S2-H-VERCONF")
@click.argument("rule", metavar="RULE")
@home_option
@prints_report
def explain(rule: str) -> Report:
    """Explain a rule: what it wants, why, what passes and what breaks it."""
    from mentis.ledger.guardian.examples import EXAMPLES
    from mentis.ledger.guardian.profiles import SHIPPED, level_words
    from mentis.ledger.guardian.table import find_rule
    from mentis.status.guardian_data import prompt_line, rule_explanation

    found = find_rule(rule)
    example = EXAMPLES.get(found.id)

    def text() -> Iterator[Text]:
        yield f"{found.id} (no. {found.number}): {found.what}"
        yield f"why:    {found.why}"
        yield f"do:     {found.fix}"
        yield f"judged: at stage {found.stage}, kind {found.kind}"
        for name, profile in SHIPPED.items():
            yield f"        {name}: {level_words(profile, found)}"
        if example is not None:
            yield f"passes: {_change(example.passes.to_object())}"
            yield f"breaks: {_change(example.breaks.to_object())}"
        if line := prompt_line(found):
            yield f"the model is told: {line}"

    return Report(rule_explanation(found), text())


def _profile(name: str) -> GuardianProfile:
    """A shipped profile, or the home's."""
    from mentis.ledger.guardian.profiles import SHIPPED
    from mentis.status.guardian import look_up_profile

    return SHIPPED[name] if name in SHIPPED else look_up_profile(home_path(), name)


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{file} is not UTF-8 at byte {error.start}"
        raise BadInput(message, hint="save it as UTF-8") from error


def _proof_lines(proof: ProfileProof, profile: GuardianProfile) -> Iterator[Text]:
    plain = [cell for cell in proof.cells if cell.plain]
    situations = list(dict.fromkeys(cell.situation for cell in plain))
    held = {(cell.situation, cell.type): _witness(cell.window) for cell in plain}
    rows = [(name, *(held[name, kind] for kind in profile.types)) for name in situations]
    yield TextTable(("situation", *profile.types), rows)
    yield Note(
        f"{len(proof.cells)} cells (the situations above, every combination of them, 0 to 11 risks,"
        f" each with every type), {proof.points} points; the rules ran on {proof.evaluated} windows"
    )
    if not proof.conflicts:
        yield f"proved  {profile.name}: a window for each of the {len(proof.cells)} cells"
        return
    for conflict in proof.conflicts:
        word = f"known conflict {conflict.name}" if conflict.name else "CONFLICT"
        yield (
            f"{word}: {' and '.join(conflict.rules)} leave no window"
            f" ({conflict.situation}, {conflict.type}; {conflict.cells} cells)"
        )
    yield f"{proof.satisfied_cells} of {len(proof.cells)} cells have a window"


def _witness(window: object) -> str:
    """What is special about a witness, in short: its confidence and status."""
    if not isinstance(window, dict):
        return "none"
    return f"{window['confidence']:g} {window['critical_summary'].get('status', '-')}"  # pyright: ignore[reportUnknownMemberType]  # made by us


def _change(told: dict[str, object]) -> str:
    if not told:
        return "the good window as it is"
    return json.dumps(told, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    from mentis.codec.forms import to_object
    from mentis.values.value import Value

    return to_object(value) if isinstance(value, Value) else str(value)
