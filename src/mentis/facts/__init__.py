"""Facts: what is known, as of a date, about models and their APIs."""
