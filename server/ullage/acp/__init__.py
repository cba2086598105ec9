"""The Agent Client Protocol door."""
