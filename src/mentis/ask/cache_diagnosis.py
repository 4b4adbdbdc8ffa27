"""The provider's word on its cache beside our own plan: what it says, and where the two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.codec.forms import to_object
from mentis.render.cuts import PrefixCut
from mentis.values.caching import CacheVerdict
from mentis.values.rendering import Rendering
from mentis.values.reply import CacheDiagnosis, Reply

_BROKEN = ("error", "cut_off", "interrupted")
# Which regions of our plan a provider's reason is about.
_REGIONS: Mapping[str, tuple[str, ...]] = {
    "tools_changed": ("tools",),
    "system_changed": ("stable", "session"),
    "messages_changed": ("history",),
    "input_changed": ("stable", "session", "history"),
}


@dataclass(frozen=True, slots=True)
class ProviderWord:
    """What the provider said of its cache, in the terms of a reconciliation."""

    diagnosis: CacheDiagnosis | None = None
    reasons: tuple[str, ...] = ()
    disagreement: str = ""

    def entry_fields(self) -> dict[str, object]:
        return {} if self.diagnosis is None else {"diagnosis": to_object(self.diagnosis)}


def hear_provider(
    reply: Reply | None,
    rendering: Rendering,
    verdict: CacheVerdict,
    *,
    lost: Sequence[PrefixCut] | None,
) -> ProviderWord:
    """`reply` None: it was not asked. `lost` None: we have nothing to compare the prompt with."""
    said = None if reply is None else diagnosis_of(reply, rendering)
    if said is None:
        return ProviderWord()
    reason = diagnosis_text(said, verdict)
    other = "" if lost is None else disagreement_of(said, lost)
    return ProviderWord(said, (reason,) if reason else (), other)


def diagnosis_of(reply: Reply, rendering: Rendering) -> CacheDiagnosis | None:
    """What the provider said. Anthropic says nothing at all where a comparison found no change."""
    if reply.diagnosis is not None or reply.stop in _BROKEN:
        return reply.diagnosis
    asked = rendering.payload.get("diagnostics")
    compared = isinstance(asked, Mapping) and cast("Mapping[str, object]", asked).get(
        "previous_message_id"
    )
    return CacheDiagnosis("same") if compared else None


def diagnosis_text(said: CacheDiagnosis, verdict: CacheVerdict) -> str:
    """As one of the reasons; empty where it explains nothing."""
    match said.state:
        case "changed":
            return f"the provider says: {said.reason}, {said.missed} tokens missed"
        case "same" if verdict == "less":
            return "the provider found no change: its cache had ended, or was never there"
        case "same":
            return ""
        case "pending":
            return "the provider had not compared it yet"
        case "unknown":
            return f"the provider could not compare it: {said.reason or 'no reason given'}"


def disagreement_of(said: CacheDiagnosis, lost: Sequence[PrefixCut]) -> str:
    """Where our own comparison with the prompt before found something else: `lost` are the
    boundaries that no longer held. Empty where both say the same, or the provider says nothing.
    """
    if said.state in ("pending", "unknown"):
        return ""
    ours = [cut.region for cut in lost]
    if said.state == "same":
        if not ours:
            return ""
        return f"our plan lost its boundary after {ours[0]}, and the provider found no change"
    if not ours:
        return f"the provider says {said.reason}, and our plan lost no boundary"
    if ours[0] in _REGIONS.get(said.reason, (ours[0],)):
        return ""
    return f"the provider says {said.reason}, and our plan lost its boundary after {ours[0]}"
