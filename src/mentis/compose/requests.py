"""Whole requests, one method for each mode; `compose` does the work.

```python
requests = RequestBuilder(library, persona, profile, now, counter=counter)
composed = requests.build_prompt_request(RecalledContext(Stimulus("Hello")), history=turns)
```
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from mentis.codec.request_check import check_request
from mentis.errors import BadInput, ComposeError
from mentis.ports.token_counter import TokenCounter
from mentis.values.block import Mode, OldMode, mode_named
from mentis.values.library import Library
from mentis.values.part import MediaPart
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.request import ReplyTo, RuntimeContext, ToolChoice
from mentis.values.span import Span
from mentis.values.surroundings import NOWHERE, Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .assembler import NO_VARIABLES, Variables
from .compat import as_json_prompt
from .compose import Composition, compose
from .computed import SHIPPED, ComputedPlaceholder
from .history import count
from .modes import allowed_tools
from .purposes import KEEP, Policies
from .scene import PLAIN
from .transcript import Transcript, read_transcript


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Works for one persona and one profile, at one time, for one size of context."""

    library: Library
    persona: Persona
    profile: Profile
    now: datetime
    counter: TokenCounter = field(kw_only=True)
    variant: str = field(default="default", kw_only=True)
    context_tokens: int = field(default=8192, kw_only=True)
    reserve_tokens: int = field(default=512, kw_only=True)
    runtime_vars: Variables = field(default_factory=lambda: NO_VARIABLES, kw_only=True)
    policies: Policies = field(default=KEEP, kw_only=True)
    computed: Mapping[str, ComputedPlaceholder] = field(
        default_factory=lambda: SHIPPED, kw_only=True
    )
    secret: bytes = field(default=b"", kw_only=True, repr=False)

    def build_prompt_request(  # noqa: PLR0913  # each input has its own name
        self,
        recalled: RecalledContext,
        *,
        history: Iterable[Turn | str] = (),
        mode: Mode | OldMode = "chat",
        surroundings: Surroundings = NOWHERE,
        runtime_ctx: RuntimeContext = PLAIN,
        attachments: tuple[MediaPart, ...] = (),
        reply_to: ReplyTo | None = None,
        allowed_actions: Collection[str] | None = None,
        tool_choice: ToolChoice | None = None,
    ) -> Composition:
        """A message of a conversation, or the occasion of a beat.

        History comes as turns, or as lines of a chat log. A line that is none, a tool that is not
        allowed and whatever the mode does not get are among the cuts of the trace.
        """
        mode = mode_named(mode)
        if mode == "chat" and runtime_ctx.beat_type:
            raise ComposeError(
                f"beat_type is {runtime_ctx.beat_type!r}, but this is a chat",
                hint='pass mode="beat", or leave beat_type empty',
            )
        admitted = allowed_tools(recalled.tools, allowed_actions, self.counter)
        turns, unread = self._turns(history)
        composed = compose(
            self.library,
            persona=self.persona,
            profile=self.profile,
            recalled=replace(recalled, tools=admitted.tools),
            history=turns,
            now=self.now,
            variant=self.variant,
            mode=mode,
            runtime_vars=self.runtime_vars,
            policies=self.policies,
            computed=self.computed,
            counter=self.counter,
            context_tokens=self.context_tokens,
            reserve_tokens=self.reserve_tokens,
            surroundings=surroundings,
            runtime_ctx=runtime_ctx,
            attachments=attachments,
            reply_to=self._worded(reply_to),
            secret=self.secret,
        )
        if tool_choice is not None:
            composed = replace(composed, request=replace(composed.request, tool_choice=tool_choice))
        check_request(composed.request)
        cuts = (*admitted.cuts, *unread, *composed.trace.cuts)
        return replace(composed, trace=replace(composed.trace, cuts=cuts))

    def build_delivery_request(
        self,
        action_type: str,
        action_outputs: Sequence[object],
        *,
        tools: tuple[ToolDeclaration, ...] = (),
        runtime_ctx: RuntimeContext = PLAIN,
    ) -> Composition:
        """What an action brought, to be told to the person: no history, `message_` tools only."""
        if not action_type.strip():
            raise ComposeError("the action has no name", hint="pass the type of the action")
        brought = Stimulus(outputs_text(action_outputs), author=action_type, trust=Trust.UNTRUSTED)
        recalled = RecalledContext(brought, tools)
        others = {tool.name for tool in tools} - {action_type}  # it has run, and runs only once
        return self.build_prompt_request(
            recalled, mode="delivery", runtime_ctx=runtime_ctx, allowed_actions=others
        )

    def build_live_prompt_request(
        self,
        recalled: RecalledContext,
        *,
        history: Iterable[Turn | str] = (),
        surroundings: Surroundings = NOWHERE,
        attachments: tuple[MediaPart, ...] = (),
        runtime_ctx: RuntimeContext = PLAIN,
    ) -> Composition:
        """What a spoken conversation starts with: everything in one text, no turns."""
        return self.build_prompt_request(
            recalled,
            mode="live",
            history=history,
            surroundings=surroundings,
            attachments=attachments,
            runtime_ctx=runtime_ctx,
        )

    def build_live_system_instruction(
        self,
        *,
        history: Iterable[Turn | str] = (),
        surroundings: Surroundings = NOWHERE,
        attachments: tuple[MediaPart, ...] = (),
    ) -> tuple[Span, ...]:
        """The one text of a spoken conversation alone."""
        composed = self.build_live_prompt_request(
            RecalledContext(Stimulus("")),
            history=history,
            surroundings=surroundings,
            attachments=attachments,
        )
        return composed.request.system_instruction

    def build_json_prompt(  # noqa: PLR0913  # what the new one takes
        self,
        recalled: RecalledContext,
        *,
        history: Iterable[Turn | str] = (),
        mode: Mode | OldMode = "chat",
        surroundings: Surroundings = NOWHERE,
        runtime_ctx: RuntimeContext = PLAIN,
        attachments: tuple[MediaPart, ...] = (),
        reply_to: ReplyTo | None = None,
        allowed_actions: Collection[str] | None = None,
        tool_choice: ToolChoice | None = None,
    ) -> dict[str, object]:
        """Deprecated: the origin's dict around a typed request. Use `build_prompt_request`."""
        message = "build_json_prompt is deprecated; use build_prompt_request"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        composed = self.build_prompt_request(
            recalled,
            history=history,
            mode=mode,
            surroundings=surroundings,
            runtime_ctx=runtime_ctx,
            attachments=attachments,
            reply_to=reply_to,
            allowed_actions=allowed_actions,
            tool_choice=tool_choice,
        )
        return as_json_prompt(composed.request)

    def _turns(self, history: Iterable[Turn | str]) -> tuple[tuple[Turn, ...], list[Cut]]:
        """Turns as they are, lines read; what could not be read is a cut."""
        items = tuple(history)
        if all(isinstance(item, Turn) for item in items):
            return cast("tuple[Turn, ...]", items), []
        turns: list[Turn] = []
        cuts: list[Cut] = []
        for number, item in enumerate(items, start=1):
            if isinstance(item, Turn):
                turns.append(item)
                continue
            read = self._read(item)
            turns.extend(read.turns)
            tokens = count(item, self.counter).tokens
            cuts.extend(Cut(f"history line {number}", tokens, one.reason) for one in read.unread)
        return tuple(turns), cuts

    def _read(self, line: str) -> Transcript:
        names = (self.persona.name, self.persona.id)
        return read_transcript((line,), names, owner=self.profile.name)

    def _worded(self, reply_to: ReplyTo | None) -> ReplyTo | None:
        """A picture or a sound was answered: the model is told that there were no words."""
        if reply_to is None or reply_to.text.strip():
            return reply_to
        language = self.persona.language.strip().casefold()
        spoken = self.library.words.get(language, {}).get("label_no_text", ())
        english = self.library.words.get("english", {}).get("label_no_text", ())
        return replace(reply_to, text=" ".join(spoken or english))


def outputs_text(action_outputs: Sequence[object]) -> str:
    """The message of a delivery: what came, as JSON."""
    try:
        return json.dumps(
            {"action_outputs": list(action_outputs)}, ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(
            f"what the action brought has no JSON form: {error}",
            hint="pass texts, numbers, lists and dicts of them",
        ) from error
