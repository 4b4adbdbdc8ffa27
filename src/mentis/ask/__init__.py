"""Ask: one question to a model, render to reply, with fallback, budget and caches."""
