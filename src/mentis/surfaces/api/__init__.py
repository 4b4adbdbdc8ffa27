"""Everything the commands do, over HTTP."""
