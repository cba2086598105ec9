"""Open conversations: the workspace, their state, and who is told of changes."""
