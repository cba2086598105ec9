"""What is known of coding agents: their tool calls, their transcripts, what they do behind the proxy."""
