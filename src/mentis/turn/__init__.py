"""Turn: the order of the stages, once, and what a turn begins and ends with."""
