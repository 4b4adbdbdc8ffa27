"""A window on a home in the browser: pages beside the doors of `serve`."""
