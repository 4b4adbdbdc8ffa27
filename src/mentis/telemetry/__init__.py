"""Telemetry: spans, for whoever traces the program with OpenTelemetry."""
