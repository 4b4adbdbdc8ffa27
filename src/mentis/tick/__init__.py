"""The tick: senses, capabilities and state in; acts, a new state and a report out."""
