"""The settings of conversations, and of what the agent thinks between two messages."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mentis.values.request import HistoryScope

from .section import SettingsSection


class ConversationSettings(SettingsSection):
    """What is told of conversations, and what becomes of one that is longer than the context."""

    scope: Annotated[
        HistoryScope,
        Field(
            description="Whose past a message of yours is told: this conversation's (`local`), with"
            " recaps of other recent ones (`recent`), or that of all as one (`unified`)."
        ),
    ] = "local"
    recaps: Annotated[
        int, Field(ge=0, le=50, description="With `recent`: how many other conversations.")
    ] = 5
    diary: Annotated[
        int,
        Field(ge=0, le=50, description="How many thoughts of beats come back in conversations."),
    ] = 5
    history_tokens: Annotated[
        int,
        Field(
            ge=0,
            description="The most tokens that are told of a conversation, in steps: what is told"
            " begins at the same message until there is more, and then about half of it goes at"
            " once, so that the provider's cache holds in between. 0: as much as has room. Every"
            " turn is charged what it is told, if only a tenth from a cache; what is older is"
            " recalled, or summed up with `conversations.summary`.",
        ),
    ] = 32_000
    summary: Annotated[
        Literal["off", "auto"],
        Field(
            description="Whether the model sums up older turns once they are no longer told"
            " (`auto`); what is not told is named in either case."
        ),
    ] = "off"
    recent_turns: Annotated[
        int, Field(ge=2, le=1000, description="How many of the newest turns no summary stands for.")
    ] = 12
    summary_words: Annotated[int, Field(ge=20, le=5000, description="Longest summary.")] = 300
    summary_tokens: Annotated[
        int, Field(ge=16, description="The same in tokens; at most a quarter of the context.")
    ] = 800
    receipt: Annotated[
        bool,
        Field(
            description="Whether `mentis chat` ends an answer with a line that names its entry, its"
            " tokens and why it stopped."
        ),
    ] = True
    title_tokens: Annotated[
        int, Field(ge=8, le=500, description="Most tokens for the title of a session.")
    ] = 50


class AfterthoughtSettings(SettingsSection):
    """Thinking about whether to write once more. `features.afterthoughts` switches it on."""

    mode: Annotated[
        Literal["off", "rare", "medium", "frequent"],
        Field(
            description="After which messages it may: every third (`rare`), every second"
            " (`medium`), each one (`frequent`), or none (`off`)."
        ),
    ] = "medium"
    decision_tokens: Annotated[
        int, Field(ge=16, description="Most tokens for the thought and the decision.")
    ] = 1500
    followup_tokens: Annotated[
        int, Field(ge=16, description="Most tokens for the message that may follow.")
    ] = 200
