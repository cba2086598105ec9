"""What Ullage knows about Claude Code."""
