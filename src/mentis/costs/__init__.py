"""Bills and explanations, from the record alone."""
