"""App: the agent, and the wiring that knows every part."""
