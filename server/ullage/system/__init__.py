"""The machine around Ullage: child processes that a user configured, byte streams, and a project's files."""
