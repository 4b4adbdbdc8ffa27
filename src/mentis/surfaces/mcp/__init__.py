"""The ledger as an MCP server."""
