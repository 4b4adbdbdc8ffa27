"""`mentis persona new`: asks for the fields of a persona at a terminal, takes options elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mentis.errors import MentisError, UsageError

from .options import home_option, route_option
from .output import say, show_error
from .report import Note, Report, json_wanted, prints_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mentis.prompts.persona_fields import PersonaField
    from mentis.values.persona_draft import DraftKind, PersonaDraft

_DRAFTED = "*"  # before words that the model makes a field of


@click.command(epilog='For example: mentis persona new bob --set greeting="Ahoy." --set age=61')
@click.argument("persona_id", metavar="ID")
@click.option("--name", metavar="TEXT", help="What it is called; by default its id.")
@click.option("--from", "source", metavar="ID", help="Which persona to copy.  [default: ada]")
@click.option("--blank", is_flag=True, help="Copy none: begin with its name alone.")
@click.option("--set", "given", multiple=True, metavar="FIELD=TEXT", help="Fill a field.")
@click.option(
    "--autofill", "wishes", multiple=True, metavar="FIELD=WORDS", help="Let the model fill it."
)
@route_option
@home_option
@prints_report
def new(  # one parameter an option
    persona_id: str,
    *,
    name: str | None,
    source: str | None,
    blank: bool,
    given: Sequence[str],
    wishes: Sequence[str],
    route: str,
) -> Report:
    """Create a persona; at a terminal you are asked for its fields, and Enter skips one.

    Begin an answer with * and a few words, and the model drafts the field; you accept the draft or
    not. Elsewhere, and with --from, --blank, --set or --autofill, nothing is asked: a copy is made,
    and what you set takes the place of what was copied. Fields are those of persona.toml: type,
    age, gender, language, languages, background, traits, knowledge, expression, scenarios,
    greeting, dialogue. A field that can have several values is set several times, as "name:
    description"; dialogue as "said => answered".
    """
    if blank and source:
        raise UsageError("--blank copies nobody", hint="leave --from out, or --blank")
    asks = not (blank or source or given or wishes or json_wanted()) and sys.stdin.isatty()
    if asks:
        said, drafted = _asked(persona_id, name)
    else:
        said, drafted = [_parted(one) for one in given], [_parted(one) for one in wishes]
        source = None if blank else source or "ada"
    # Whether a model drafts such a field is known before anything is written.
    kinds: list[tuple[DraftKind, str]] = [(_kind(field), wish) for field, wish in drafted]
    path = _create(persona_id, name, source, said)
    taken = _drafts(persona_id, kinds, route, confirm=asks)
    return Report(
        {"id": persona_id, "path": path, "drafts": [one.kind for one in taken]},
        (Note(f"Made {path}"), Note(f"talk to it: mentis chat --persona {persona_id}")),
    )


def _create(
    persona_id: str, name: str | None, source: str | None, said: Iterable[tuple[str, str]]
) -> str:
    from mentis.prompts.persona_fields import typed_fields

    from .persona import open_personas

    fields = typed_fields(said)
    called = str(fields.pop("name", "") or name or persona_id.capitalize())
    with open_personas() as personas:
        return str(personas.create(persona_id, name=called, source=source or "", fields=fields))


def _asked(
    persona_id: str, name: str | None
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What was typed for each field, and the wishes that a model is to make one of."""
    from mentis.prompts.persona_fields import FIELDS

    from .persona import open_personas

    with open_personas() as personas:
        personas.check_free(persona_id)
    say(f"A new persona, {persona_id}. Enter skips a question or ends a list, Ctrl-C gives up.")
    say(f"Where one ends with {_DRAFTED}, type {_DRAFTED} and a few words: the model drafts it.")
    said: list[tuple[str, str]] = []
    wishes: list[tuple[str, str]] = []
    for field in FIELDS:
        if not field.question or (field.name == "name" and name):
            continue
        for text in _answers(field):
            if field.draft and text.startswith(_DRAFTED):
                wishes.append((field.name, text.removeprefix(_DRAFTED).strip()))
            else:
                said.append((field.name, text))
    return said, wishes


def _answers(field: PersonaField) -> Iterable[str]:
    """What is typed for a field; one that may come again until nothing is."""
    from mentis.prompts.persona_fields import typed_value

    say(f"\n{field.question}{f' {_DRAFTED}' if field.draft else ''}")
    while text := _line():
        try:
            if not (field.draft and text.startswith(_DRAFTED)):
                typed_value(field, text)
        except UsageError as error:
            say(f"{error.message}: {error.hint}")
            continue
        yield text
        if not field.again:
            return


def _line() -> str:
    typed: object = click.prompt(">", default="", show_default=False, prompt_suffix=" ", err=True)
    return str(typed).strip()


def _drafts(
    persona_id: str, wishes: Iterable[tuple[DraftKind, str]], route: str, *, confirm: bool
) -> list[PersonaDraft]:
    """Those that were made, and accepted where somebody is asked."""
    from mentis.prompts.persona_file import draft_text

    from .persona import drafted_field, open_personas

    taken: list[PersonaDraft] = []
    for kind, wish in wishes:
        say(f"\nthe model drafts {kind}: {wish}")
        try:
            draft = drafted_field(kind, wish, persona_id, route)
        except MentisError as error:
            show_error(error)
            say(f'try again: mentis persona autofill {kind} "{wish}" --persona {persona_id}')
            continue
        if confirm:
            say(draft_text(draft))
            if not click.confirm("put it into persona.toml?", default=True, err=True):
                continue
        with open_personas() as personas:
            personas.accept_draft(persona_id, draft)
        taken.append(draft)
    return taken


def _parted(given: str) -> tuple[str, str]:
    name, mark, text = given.partition("=")
    if not mark or not text.strip():
        raise UsageError(f"{given!r} is no FIELD=TEXT", hint='such as greeting="Hello."')
    return name.strip(), text


def _kind(name: str) -> DraftKind:
    from mentis.prompts.persona_fields import FIELDS, field_named

    field = field_named(name)
    if field.draft is None:
        known = ", ".join(one.name for one in FIELDS if one.draft)
        raise UsageError(f"no model drafts the field {name}", hint=f"those it does: {known}")
    return field.draft
