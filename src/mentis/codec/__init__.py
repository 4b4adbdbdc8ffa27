"""Values to JSON and back, with schemas, and places in the files they came from."""

from .forms import from_json, to_json

__all__ = ["from_json", "to_json"]
