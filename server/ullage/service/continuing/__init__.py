"""New sessions for agents to resume: which context they have, what it will count, and their file."""
