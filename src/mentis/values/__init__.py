"""Values: what travels between rooms."""
