"""Surfaces: where people and programs meet Mentis."""
