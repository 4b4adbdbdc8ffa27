"""Local engines behind ports: the embedded model, its weights, a token counter, an embedder."""
