"""Real agents behind the proxy: where they are, what they talk to, and what of the proxy's work holds for each."""
