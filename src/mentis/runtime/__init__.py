"""Runtime: the order of the stages, settings and wiring."""
