"""Quotes a model's own words when it is asked again: as data that nothing inside can get out of."""

from __future__ import annotations

from collections.abc import Mapping

from mentis.values.marks import sectionless

from .input_ir import flat, line

Values = Mapping[str, str | tuple[str, ...]]
# Whole texts of others; the rest are lists, a hint, and the forms of actions that are declared.
_TEXTS = ("original_message", "previous_reply")
_LINES = ("failures", "already_done")


def as_data(values: Values) -> dict[str, object]:
    """The values of a correction, of a turn or a tick. What the model or a person wrote may repeat
    text from outside: it comes back as one line of JSON, and what is listed as lines of their own,
    in which nothing opens or closes a section or the tags around it.
    """
    told: dict[str, object] = dict(values)
    for name in _TEXTS:
        told[name] = sectionless(line(values[name])).replace("</", "<\\/")
    for name in _LINES:
        told[name] = tuple([sectionless(flat(one)) for one in values[name]])
    told["decoder_hint"] = sectionless(flat(str(values["decoder_hint"])))
    return told
