"""A request as JSON: read, checked, and nothing in it lost on the way."""

from __future__ import annotations

from mentis.values.request import PromptRequest

from .forms import from_json
from .request_check import check_request


def read_request(data: bytes | str) -> PromptRequest:
    """Read a request that came from outside; one that cannot be sent is refused here."""
    return check_request(from_json(PromptRequest, data))
