"""Recorder: calls of other people's agents, on their way to a model."""
