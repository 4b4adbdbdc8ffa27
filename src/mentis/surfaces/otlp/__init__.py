"""Otlp: spans of other people's agents, received over OTLP/HTTP and recorded."""
