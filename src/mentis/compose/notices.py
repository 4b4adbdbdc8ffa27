"""The words a renderer needs: the library's, in the language spoken, all in one mapping."""

from __future__ import annotations

from collections.abc import Mapping

from .computed import FALLBACK_LANGUAGE, Facts

_TOPICS = ("notice_", "reason_", "kind_")


def notices_of(facts: Facts) -> Mapping[str, str]:
    """English where the language has no word for it."""
    told: dict[str, str] = {}
    for language in (FALLBACK_LANGUAGE, facts.language):
        for topic, words in facts.words.get(language, {}).items():
            if words and topic.startswith(_TOPICS):
                told[topic] = " ".join(words)
    return told
