"""The tools that a model may call in a prompt turn."""
