"""Real agents with the proxy: where they are, which provider they use, and which of the proxy's functions work for
each."""
