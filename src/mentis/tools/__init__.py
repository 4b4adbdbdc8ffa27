"""Tools: what an agent can do: registry, toolbox, approvals, servers."""
