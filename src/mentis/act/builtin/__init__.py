"""Built-in acts: what an agent can do without anybody adding a tool."""
