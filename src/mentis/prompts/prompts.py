"""The prompt library of one home: look at it, change it, see what a change does, go back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Self, TypeVar, cast

from mentis.compose.builders import Builder
from mentis.compose.built import BuiltMessages, BuiltText
from mentis.compose.compose import Composition, compose
from mentis.compose.history import add
from mentis.disk.bounded import read_bounded
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import BadInput, LibraryError, MentisError
from mentis.home.closing import DatabaseHolder
from mentis.home.database import open_database
from mentis.home.learned_facts import LearnedFacts
from mentis.home.parts import Parts
from mentis.home.persona import open_memory, read_persona, read_profile
from mentis.home.prompts import open_shelf
from mentis.home.server import open_revisions
from mentis.home.system import SystemClock
from mentis.library.archive import Limits, plan_import, read_archive, read_folder
from mentis.library.archive.plan import ImportPlan
from mentis.library.archive.plan import Mode as ImportMode
from mentis.library.block_layer import shipped_content
from mentis.library.edit import Edit, Editor
from mentis.library.load import LoadedLibrary
from mentis.library.overlay import merge_blocks
from mentis.library.search import PLACEHOLDER, usages
from mentis.library.shelf import Shelf
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.files.secret import read_secret
from mentis.stores.sqlite.database import Database
from mentis.values.block import Block, Category, Mode, OldMode, Variant
from mentis.values.json import JsonObject
from mentis.values.keywords import LoreTrace
from mentis.values.library import Library
from mentis.values.part import TextPart
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.route import Route
from mentis.values.trace import TokenCount
from mentis.values.turn import Turn

from .effects import EditEffect, WordingInForce, effect_of, overruled_here, wording_in_force
from .kinds import MODES, PARTS, BuiltPart, RequestKind, build_part, part_kind
from .placeholders import PlaceholderUse, placeholder_use

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
_SAMPLE = Stimulus("Hello!")
_RECALLED = RecalledContext(_SAMPLE)
_COUNTER = EstimatingCounter()
_ROOMY = 1_000_000  # a preview shows the whole prompt, whatever the route could take


class Prompts(DatabaseHolder):
    """One home's prompts, opened with `Prompts.open(path)`; use it as a context manager.

    ```python
    with Prompts.open("my-home") as prompts:
        edit, effects = prompts.change(lambda editor: editor.toggle("emotion"))
        print(effects[0].tokens_before.tokens, effects[0].tokens_after.tokens)
        prompts.editor.undo("emotion")
    ```
    """

    def __init__(
        self,
        home: Home,
        database: Database,
        parts: Parts,
        *,
        route: str,
        shelf: Shelf | None = None,
        author: str = "",
    ) -> None:
        super().__init__(database)
        self._home = home
        self._settings = load_settings(home.path, parts.variables)
        self._clock = parts.clock or SystemClock()
        self._secret = _same(parts.secret or read_secret(home) or b"")
        self._counter = _COUNTER
        self._learned = LearnedFacts(home.path)
        self.route = self._learned.taught(self._settings.route(route))
        self.shelf = shelf or open_shelf(home, self._settings)
        self.editor = Editor(
            self.shelf,
            open_revisions(database),
            self._clock,
            busy_seconds=self._settings.model.store.busy_seconds,
            author=author,
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        route: str = "default",
        parts: Parts | None = None,
        shelf: Shelf | None = None,
        author: str = "",
    ) -> Self:
        """The prompts of the home at `path`, as `route` would be told them.

        Whoever opens them often keeps the `shelf` of the first time: it reads only what changed.
        `author` stands beside every revision that is saved.
        """
        home = find_home(Path(path))
        parts = parts or Parts()
        settings = load_settings(home.path, parts.variables)
        database = open_database(home, settings, parts.variables, salts=parts.salts)
        return cls(home, database, parts, route=route, shelf=shelf, author=author)

    @property
    def loaded_library(self) -> LoadedLibrary:
        """The library as it is now, both layers it came from, and what is wrong with them."""
        return self.shelf.current()

    def block(self, block_id: str) -> Block:
        """One block, or an error that knows what you may have meant."""
        library = self.loaded_library.library
        if block := library.block(block_id):
            return block
        if block_id in self.loaded_library.owner.prompts:
            raise LibraryError(
                f"block {block_id!r} is there, but something is wrong with it",
                hint="`mentis prompts check` names the file and the place",
                block=block_id,
            )
        close = get_close_matches(block_id, [each.id for each in library.blocks], n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`mentis prompts list` shows them all"
        raise LibraryError(f"there is no block {block_id!r}", hint=hint, block=block_id)

    def overridden_fields(self) -> dict[str, tuple[str, ...]]:
        """The fields of shipped blocks that the owner changed, by block."""
        loaded = self.loaded_library
        merged = merge_blocks(loaded.shipped, loaded.owner)
        return {
            block_id: block.overridden for block_id, block in merged.items() if block.overridden
        }

    def builder(
        self, *, persona: str | None = None, mode: Mode = "chat", library: Library | None = None
    ) -> Builder:
        """The builders of single prompts, for one persona, now."""
        teller = self._teller(self._pick(persona))
        return Builder(
            library or self.loaded_library.library,
            persona=teller.persona,
            profile=teller.profile,
            now=self._clock.now(),
            counter=self._counter,
            mode=mode,
            policies=self._settings.policies,
            secret=self._secret,
        )

    def resolve(
        self,
        block_id: str,
        *,
        persona: str | None = None,
        variant: str | None = None,
        mode: Mode = "chat",
        runtime_vars: Mapping[str, object] | None = None,
        wording: Variant | None = None,
    ) -> BuiltText | BuiltMessages:
        """One block with its values, whatever its conditions say; `skipped` says what they do.

        With a `wording`, as if it were the only one of the block. Nothing is written.
        """
        block, library = self.block(block_id), None
        if wording is not None:
            drafted = replace(block, variants={"default": wording}, owned=())
            known = self.loaded_library.library
            blocks = tuple(drafted if one is block else one for one in known.blocks)
            library = replace(known, revision="", blocks=blocks)
        builder = self.builder(persona=persona, mode=mode, library=library)
        given = {**self._remembered(persona), **(runtime_vars or {})}
        return _resolve(builder, block, variant or self.route.variant, given)

    def resolve_blocks(
        self,
        block_ids: Iterable[str],
        *,
        persona: str | None = None,
        variant: str | None = None,
        mode: Mode = "chat",
        runtime_vars: Mapping[str, object] | None = None,
    ) -> dict[str, BuiltText | BuiltMessages]:
        """These blocks with their values, by their ids: what they stand for is looked up once."""
        builder, chosen = self.builder(persona=persona, mode=mode), variant or self.route.variant
        given = {**self._remembered(persona), **(runtime_vars or {})}
        return {one: _resolve(builder, self.block(one), chosen, given) for one in block_ids}

    def count(self, made: BuiltText | BuiltMessages) -> TokenCount:
        """What a prompt would cost, all of its texts."""
        texts = [made.text] if isinstance(made, BuiltText) else [m.text for m in made.messages]
        return add(*(self._counter.count(text) for text in texts))

    def resolve_category(
        self,
        category: Category,
        *,
        persona: str | None = None,
        variant: str | None = None,
        mode: Mode = "chat",
        runtime_vars: Mapping[str, object] | None = None,
    ) -> dict[str, BuiltText | BuiltMessages]:
        """Every block of a category with its values, by its id."""
        ids = [one.id for one in self.loaded_library.library.blocks if one.category == category]
        return self.resolve_blocks(
            ids, persona=persona, variant=variant, mode=mode, runtime_vars=runtime_vars
        )

    def part(
        self,
        name: str,
        *,
        persona: str | None = None,
        variant: str | None = None,
        mode: Mode = "chat",
        runtime_vars: Mapping[str, object] | None = None,
    ) -> BuiltPart:
        """Another prompt than the system prompt: one of `PARTS`, such as `summary`."""
        given = {**self._remembered(persona), **(runtime_vars or {})}
        builder = self.builder(persona=persona, mode=mode)
        return build_part(builder, name, variant or self.route.variant, given)

    def kinds(
        self, *, persona: str | None = None, variant: str | None = None
    ) -> tuple[RequestKind, ...]:
        """Every kind of request side by side: the four modes of a turn, then the parts."""
        chosen, builder = variant or self.route.variant, self.builder(persona=persona)
        given = self._remembered(persona)
        modes = (
            _mode_kind(mode, self.preview(persona=persona, variant=chosen, mode=mode))
            for mode in MODES
        )
        parts = (
            part_kind(name, builder, build_part(builder, name, chosen, given)) for name in PARTS
        )
        return (*modes, *parts)

    def placeholders(
        self, *, persona: str | None = None, runtime_vars: Mapping[str, object] | None = None
    ) -> tuple[PlaceholderUse, ...]:
        """Every placeholder with what it stands for now and which blocks use it."""
        library, owner = self.loaded_library.library, self.loaded_library.owner
        given = {**self._remembered(persona), **(runtime_vars or {})}
        values = self.builder(persona=persona).get_current_values(self.route.variant, given)
        used = usages(library).by_key
        return tuple(
            placeholder_use(
                key, library.placeholders.get(key), values.get(key), used.get(key, ()),
                own=key in owner.placeholders,
            )
            for key in sorted({*library.placeholders, *used, *given})
        )  # fmt: skip

    def unknown_placeholders(self, text: str) -> tuple[str, ...]:
        """Keys in a text that nothing registers: they are told as they stand."""
        known = self.loaded_library.library.placeholders
        return tuple(dict.fromkeys(k for k in PLACEHOLDER.findall(text) if k not in known))

    def _remembered(self, persona: str | None) -> Mapping[str, object]:
        return self._teller(self._pick(persona)).remembered

    def preview(
        self,
        *,
        persona: str | None = None,
        variant: str | None = None,
        mode: Mode | OldMode = "chat",
        runtime_vars: Mapping[str, object] | None = None,
    ) -> Composition:
        """The prompt as it would be told now, with the fate of every block. Nothing is sent."""
        teller = self._teller(self._pick(persona))
        given = {**teller.remembered, **(runtime_vars or {})}
        return self._compose(
            self.loaded_library.library, teller, variant=variant, mode=mode, given=given
        )

    def try_lore(
        self, message: str, *, before: Sequence[str] = (), persona: str | None = None
    ) -> tuple[LoreTrace, ...]:
        """Which entries a message would bring up, or nearly, after these earlier messages: both
        sides in turn, the last one an answer. Nothing is sent, and nothing is written.
        """
        first = len(before) % 2
        history = tuple(
            Turn("assistant" if (number + first) % 2 else "user", (TextPart(text),))
            for number, text in enumerate(before)
        )
        made = self._compose(
            self.loaded_library.library,
            self._teller(self._pick(persona)),
            recalled=RecalledContext(Stimulus(message)),
            history=history,
        )
        return made.trace.lore

    def change(
        self, do: Callable[[Editor], T], *, persona: str | None = None
    ) -> tuple[T, tuple[EditEffect, ...]]:
        """Make an edit, and say what it did to the prompt of this persona, or of each of them.

        A persona whose prompt cannot be told has no effect in the answer; the edit counts.
        """
        before = self.loaded_library.library
        tellers = list(self._tellers(persona))
        result = do(self.editor)
        after = self.loaded_library.library
        edits = [edit for edit in _several(result) if isinstance(edit, Edit)]
        effects = (self._effect(before, after, teller, edits) for teller in tellers)
        return result, tuple(effect for effect in effects if effect)

    def plan_import(
        self, source: str | Path, mode: ImportMode = "merge", *, force: bool = False
    ) -> ImportPlan:
        """What importing a zip or a folder would do; `import_set` does it."""
        path = Path(source)
        archive = read_folder(path) if path.is_dir() else read_archive(_bytes_of(path))
        return plan_import(self.loaded_library, archive, mode, force=force)

    def import_set(
        self, plan: ImportPlan, *, words: str = "imported", force: bool = False
    ) -> tuple[Edit, ...]:
        """Make a planned import true; `editor.undo_write` takes it back as a whole."""
        return self.editor.write(
            plan.blocks, placeholders=plan.placeholders, words=words, force=force
        )

    def wordings_in_force(
        self, block_id: str, *, persona: str | None = None
    ) -> tuple[WordingInForce, ...]:
        """Which wording of a block is told to each persona, or to this one, on each route."""
        block, routes = self.block(block_id), self._routes()
        return tuple(
            wording_in_force(block, teller.persona, route)
            for teller in self._tellers(persona)
            for route in routes
        )

    def overruling(self, block_id: str, wording: str) -> tuple[WordingInForce, ...]:
        """Where another wording is told in the place of this one, which would serve there too."""
        block, routes = self.block(block_id), self._routes()
        return tuple(
            wording_in_force(block, teller.persona, route)
            for teller in self._tellers(None)
            for route in routes
            if overruled_here(block, wording, teller.persona, route)
        )

    def _routes(self) -> tuple[Route, ...]:
        """Every route of the settings, with what was learned of it."""
        return tuple(map(self._learned.taught, self._settings.every_route()))

    def wording_told(self, block_id: str, *, persona: str | None = None) -> WordingInForce:
        """Which wording of a block is told to one persona on the route this was opened for."""
        teller = self._teller(self._pick(persona))
        return wording_in_force(self.block(block_id), teller.persona, self.route)

    def shipped_wording(self, block_id: str, variant: str) -> JsonObject:
        """A wording as it is shipped, whatever the owner made of it."""
        self.block(block_id)
        wordings = shipped_content(block_id, self.loaded_library.shipped).get("variants")
        known: JsonObject = cast("JsonObject", wordings) if isinstance(wordings, dict) else {}
        found = known.get(variant)
        if not isinstance(found, dict):
            hint = f"shipped are: {', '.join(known)}" if known else "it is a block of your own"
            message = f"no wording {variant!r} of {block_id!r} is shipped"
            raise LibraryError(message, hint=hint, block=block_id)
        return cast("JsonObject", found)

    def _effect(
        self, before: Library, after: Library, teller: _Teller, edits: Sequence[Edit]
    ) -> EditEffect | None:
        try:
            old, new = (self._compose(library, teller) for library in (before, after))
        except MentisError:
            return None
        return effect_of(teller.persona.id, old, new, edits)

    def _tellers(self, persona: str | None) -> Iterator[_Teller]:
        chosen = self._home.personas() if persona is None else (self._pick(persona),)
        for persona_id in chosen:
            try:
                yield self._teller(persona_id)
            except MentisError:
                if persona is not None:
                    raise

    def _pick(self, persona: str | None) -> str:
        return self._home.pick_persona(persona, self._settings.model.persona)

    def _teller(self, persona_id: str) -> _Teller:
        """Who the prompt is told for, and what it would remember in its next turn."""
        who = read_persona(self._home, persona_id)
        remembered: Mapping[str, object] = {}
        if self._settings.model.features.persona_memory:
            memory = open_memory(
                self._home, who, self._database, settings=self._settings, clock=self._clock
            )
            remembered = memory.remember().values
        return _Teller(_same(who), _same(read_profile(self._home)), remembered)

    def _compose(
        self,
        library: Library,
        teller: _Teller,
        *,
        variant: str | None = None,
        mode: Mode | OldMode = "chat",
        given: Mapping[str, object] | None = None,
        recalled: RecalledContext = _RECALLED,
        history: tuple[Turn, ...] = (),
    ) -> Composition:
        return compose(
            library,
            persona=teller.persona,
            profile=teller.profile,
            recalled=recalled,
            history=history,
            now=self._clock.now(),
            variant=variant or self.route.variant,
            mode=mode,
            runtime_vars=teller.remembered if given is None else given,
            policies=self._settings.policies,
            counter=self._counter,
            context_tokens=_ROOMY,
            reserve_tokens=0,
            secret=self._secret,
        )


@dataclass(frozen=True, slots=True)
class _Teller:
    persona: Persona
    profile: Profile
    remembered: Mapping[str, object]


def _same(one: H) -> H:
    """The first that was equal to it. Composing knows what it did before by the very objects it had
    then, and here they are read again each time the prompts are opened.
    """
    return cast("H", _first(one))


@lru_cache(maxsize=64)
def _first(one: Hashable) -> Hashable:
    return one


def _bytes_of(path: Path) -> bytes:
    try:
        return read_bounded(path, Limits().archive_bytes)
    except OSError as error:
        hint = "name a zip or a folder that is there"
        raise BadInput(f"{path}: cannot be read: {error.strerror}", hint=hint) from error


def _resolve(
    builder: Builder, block: Block, variant: str, given: Mapping[str, object]
) -> BuiltText | BuiltMessages:
    build = builder.resolve_prompt_by_id if block.type == "text" else builder.resolve_messages
    return build(block.id, variant, given)


def _several(result: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", result) if isinstance(result, tuple) else (result,)


def _mode_kind(mode: Mode, composed: Composition) -> RequestKind:
    told = [trace for trace in composed.trace.blocks if trace.included]
    total = add(*(trace.tokens for trace in told))
    return RequestKind(mode, tuple(trace.block for trace in told), total)
