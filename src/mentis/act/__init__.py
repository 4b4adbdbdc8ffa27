"""Act: what the agent wants done is judged and done."""
