"""Ask: one question to a model: render, call, settle; fallback, correction, budget."""
