"""Render: a request becomes one provider's exact payload."""
