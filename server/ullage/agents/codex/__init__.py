"""What Ullage knows about Codex."""
