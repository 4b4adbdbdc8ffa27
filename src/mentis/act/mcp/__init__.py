"""MCP servers as sources of acts."""
