"""The versions of the Agent Client Protocol that the proxy reads: what differs between them, and nothing else."""
