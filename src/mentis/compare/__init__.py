"""Two prompt sets, texts of blocks, routes or models, over the same messages."""
