"""Home: opens what a home holds: stores, keys, secret, routes, persona."""
