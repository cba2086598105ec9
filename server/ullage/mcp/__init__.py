"""The Model Context Protocol server: a model looks up the messages of its own conversation, and how full its context
is."""
