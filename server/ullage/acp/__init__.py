"""The Agent Client Protocol door: JSON-RPC with one message per line."""
