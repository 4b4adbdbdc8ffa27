"""A stimulus in, what comes to mind for it out."""
