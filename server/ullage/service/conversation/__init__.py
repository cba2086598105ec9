"""Open conversations: the workspace that holds them, their state, and the publishing of changes."""
