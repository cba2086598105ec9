"""What Ullage knows about coding agents: their tool calls, transcript formats and behaviour behind the proxy."""
