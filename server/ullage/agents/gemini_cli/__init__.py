"""What Ullage knows about Gemini CLI."""
