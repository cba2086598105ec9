"""MCP servers that a client offers for its sessions, started and used by means of the official SDK."""
