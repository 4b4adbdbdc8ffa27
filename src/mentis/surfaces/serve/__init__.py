"""An agent behind any client: the protocols of models over HTTP."""
