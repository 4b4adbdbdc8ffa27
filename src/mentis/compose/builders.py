"""One prompt at a time: each method builds one of the prompts a conversation is made of.

They choose by `order` alone; only `compose` moves what changes often behind what lasts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from mentis.values.block import Category
from mentis.values.given import GivenText
from mentis.values.persona_draft import DraftKind

from .assembler import (
    NO_VARIABLES,
    BuilderBase,
    Variables,
    built_messages,
    given_variables,
)
from .built import BuiltMessages, BuiltText, PlanStep, StepPlan, SummaryPrompt
from .fate import Fate, choose_in_groups
from .input_ir import InputIr
from .placeholders import Filling
from .purposes import (
    ALONE,
    ALONE_MESSAGES,
    APPEND,
    FIRST_ASSISTANT,
    INJECTIONS,
    MESSAGE_STEP,
    PREFILL,
    PREFILL_STEP,
    SYSTEM,
)

# What asks the primary of a tick for its window; the state of the record is last, as it changes.
_TICK_WINDOW = (
    "status_window",
    "status_conduct",
    "cortex_window",
    "cortex_window_tools",
    "status_state",
)


@dataclass(frozen=True, slots=True)
class Builder(BuilderBase):
    """The builders. A block is told when its conditions hold, and `skipped` names the others.

    ```python
    builder = Builder(library, persona, profile, now)
    print(builder.build_system_prompt("default", {"cortex_memory": "..."}).text)
    ```
    """

    def build_system_prompt(
        self,
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
        category_filter: Category | None = None,
    ) -> BuiltText:
        """Without what is appended; summary, autofill and cortex blocks only by their category."""
        return self._build(SYSTEM, variant, runtime_vars, category_filter)

    def get_system_prompt_append(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        return self._build(APPEND, variant, runtime_vars)

    def build_prefill(
        self,
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
        category_filter: Category | None = None,
    ) -> BuiltText:
        """How the answer begins; summary and autofill blocks only by their category."""
        return self._build(PREFILL, variant, runtime_vars, category_filter)

    def get_first_assistant_content(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        return self._build(FIRST_ASSISTANT, variant, runtime_vars)

    def get_chat_message_sequence(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> StepPlan:
        """Where the first answer, dialogue, history and prefill stand, by order.

        Injected dialogue has steps of its own, so that it cannot be lost when no block opens
        the conversation.
        """
        considered: dict[str, Fate] = {}
        for purpose in (MESSAGE_STEP, PREFILL_STEP, INJECTIONS):
            judge = self._judge(purpose, variant, runtime_vars)
            for block in self._concerned(purpose):
                fate = judge.consider(block)
                if block.id not in considered or fate.trace.included:
                    considered[block.id] = fate
        inside = (block.id for block in self.library.blocks if block.id in considered)
        fates = choose_in_groups(tuple(considered[block_id] for block_id in inside))
        blocks = [fate.block for fate in fates if fate.trace.included]
        return StepPlan(
            tuple(PlanStep(block.id, block.position, block.order) for block in blocks),
            tuple(fate.trace for fate in fates if not fate.trace.included),
        )

    def get_dialog_injections(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltMessages:
        """The messages of every injected dialogue, one after another, with their values in."""
        judge = self._judge(INJECTIONS, variant, runtime_vars)
        return built_messages(judge.decide_all(self._concerned(INJECTIONS)), judge.occasion)

    def get_consent_dialog(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltMessages | None:
        """The injected dialogue, or None when there is none."""
        found = self.get_dialog_injections(variant, runtime_vars)
        return found if found.messages else None

    def resolve_prompt(
        self,
        block_id: str,
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
    ) -> BuiltText | None:
        """One block's text whatever its conditions say, or None if there is no such block.

        What would have kept it out is told in `skipped`. A multi-turn block has no text.
        """
        block = self.library.block(block_id)
        if block is None:
            return None
        if block.type == "text":
            return self._told(block, variant, runtime_vars)
        return self._named(block_id, variant, runtime_vars)

    def resolve_prompt_by_id(
        self,
        block_id: str,
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
    ) -> BuiltText:
        """As `resolve_prompt`, but an unknown id is an error."""
        self._block(block_id)
        return self.resolve_prompt(block_id, variant, runtime_vars) or BuiltText()

    def get_current_values(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> dict[str, Filling | None]:
        """What every registered placeholder stands for now, and those that are given; None for
        one that only an occasion gives.
        """
        given = given_variables(runtime_vars)
        values = self._judge(ALONE, variant, given).values
        return {key: values.get(key) for key in (*self.library.placeholders, *given)}

    def resolve_messages(
        self,
        block_id: str,
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
    ) -> BuiltMessages:
        """One multi-turn block's messages whatever its conditions say."""
        judge = self._judge(ALONE_MESSAGES, variant, runtime_vars)
        fate = judge.tell(self._block(block_id))
        if fate.block.type == "text":
            fate = replace(fate, texts=())
        return built_messages((fate,), judge.occasion)

    def build_summary(
        self,
        chat_text: str,
        max_words: int | None = None,
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
    ) -> SummaryPrompt:
        """All that asks for a summary of a talk; the word limit is registered with its key."""
        limit = self.library.placeholders.get("max_words")
        words = limit.default if max_words is None and limit else max_words
        given = {**given_variables(runtime_vars), "chat_text": chat_text, "max_words": words}
        return SummaryPrompt(
            system=self.build_system_prompt(variant, given, "summary"),
            user=self._named("summary_user_prompt", variant, given),
            prefill=self.build_prefill(variant, given, "summary"),
        )

    def build_afterthought_inner_dialogue(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        """What makes the persona think about whether to write again."""
        return self._named("afterthought_inner_dialogue", variant, runtime_vars)

    def build_afterthought_followup(
        self, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        """What makes it write again, after `inner_dialogue` and `elapsed_time`."""
        return self._named("afterthought_followup", variant, runtime_vars)

    def build_beat(
        self, kind: str, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        """The occasion of a beat of that kind; nothing where the owner has switched it off."""
        return self._named(f"beat_{kind}", variant, runtime_vars)

    def build_correction(
        self, block_id: str, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        """What asks for a reply again; nothing where the owner has switched the block off."""
        return self._named(block_id, variant, runtime_vars)

    def build_cortex_stage(
        self, block_id: str, variant: str = "default", runtime_vars: Variables = NO_VARIABLES
    ) -> BuiltText:
        """The system prompt of one stage of a tick; nothing where the owner has switched it off.
        With `status_window` given, what asks for the window comes after it.
        """
        given = {**given_variables(runtime_vars), block_id: "on"}
        stage = self._named(block_id, variant, given)
        if "status_window" not in given or not stage.told:
            return stage
        return self._several((block_id, *_TICK_WINDOW), variant, given)

    def build_cortex_input(self, ir: InputIr, variant: str = "default") -> BuiltText:
        """The message of the primary: the sections of a tick, and what is asked for."""
        given = {one.name: GivenText(getattr(ir, one.name)) for one in fields(ir)}
        return self._named("cortex_primary_input", variant, given)

    def build_spec_autofill_prompt(
        self,
        spec_type: DraftKind,
        input: str,  # noqa: A002  # the name of the key it fills
        variant: str = "default",
        runtime_vars: Variables = NO_VARIABLES,
    ) -> BuiltText:
        """What asks for a field of a persona, made out of a few words."""
        block = self._block(f"spec_autofill_{spec_type}")
        return self._named(block.id, variant, {**given_variables(runtime_vars), "input": input})
